import os

file = os.open("big", os.O_CREAT | os.O_RDWR)
for _ in range(16):
    os.write(file, b"x" * (1 << 20))
reading, writing = os.pipe()
escaped = []
for name in ("splice", "sendfile"):
    try:
        if name == "splice":
            os.splice(file, writing, 1, offset_src=0)
        else:
            os.sendfile(writing, file, 0, 1)
        escaped.append(name)
    except OSError:
        pass
print("ESCAPED a byte in a pipe keeps a large page: " + ", ".join(escaped) if escaped else "HELD")
