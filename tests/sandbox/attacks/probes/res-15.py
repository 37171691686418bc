import ctypes, os, socket, time

ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)
for i in range(3):
    try:
        fd = os.open("f%d" % i, os.O_CREAT | os.O_RDWR)
        os.unlink("f%d" % i)
        for _ in range(30):
            os.write(fd, b"x" * (1 << 20))
    except OSError as e:
        print("HELD", e, flush=True)
        raise SystemExit
time.sleep(1)
print("ESCAPED 90 MiB of files without a name in a process that hides")
