import os

got = 0
keep = []
for i in range(100):
    try:
        fd = os.memfd_create("m%d" % i)
        os.write(fd, b"x" * (16 << 20))
        keep.append(fd)
        got += 16
    except OSError as e:
        print("memfd:", e)
        break
n = 0
for i in range(100):
    try:
        with open("/dev/shm/kmnb-{{MARK}}-%d" % i, "wb") as f:
            f.write(b"x" * (16 << 20))
        n += 16
    except OSError as e:
        print("shm:", e)
        break
for i in range(100):
    try:
        os.unlink("/dev/shm/kmnb-{{MARK}}-%d" % i)
    except OSError:
        break
print("ESCAPED %d MiB of memfd, %d MiB of shm" % (got, n) if got + n > 1024 else "HELD %d %d" % (got, n))
