import os

b = b"e" * 65536
for i in range(40000):
    os.write(2, b)
