import os

n = 0
try:
    while n < 20000:
        os.open("/dev/null", os.O_RDONLY)
        n += 1
    print("ESCAPED %d" % n)
except OSError as e:
    print("HELD at", n, e)
