n = 0
try:
    b = b"x" * (4 << 20)
    for i in range(400):
        with open("f%d" % i, "wb") as f:
            f.write(b)
        n += 1
    print("ESCAPED 1.6 GiB in files")
except OSError as e:
    print("HELD at", n * 4, "MiB", e)
