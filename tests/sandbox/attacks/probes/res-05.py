import os

fds = []
try:
    b = b"x" * (8 << 20)
    for i in range(200):
        fd = os.open("u%d" % i, os.O_CREAT | os.O_RDWR)
        os.unlink("u%d" % i)
        fds.append(fd)
        os.write(fd, b)
    import time

    time.sleep(1)
    print("ESCAPED 1.6 GiB unlinked")
except OSError as e:
    print("HELD at", len(fds) * 8, "MiB", e)
