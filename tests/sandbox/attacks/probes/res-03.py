import os

n = 0
try:
    with open("big", "wb", 0) as f:
        b = b"x" * (1 << 20)
        while n < 1024:
            f.write(b)
            n += 1
    print("ESCAPED 1 GiB in a file")
except OSError as e:
    print("HELD at", n, "MiB", e)
