import os, stat

for fd in range(3, 1024):
    try:
        st = os.fstat(fd)
    except OSError:
        continue
    try:
        to = os.readlink("/proc/self/fd/%d" % fd)
    except OSError:
        to = "?"
    if not (stat.S_ISREG(st.st_mode) and to.endswith(("main.py", ".py", ".sh"))):
        print("ESCAPED descriptor %d -> %s mode %o" % (fd, to, st.st_mode))
print("HELD")
