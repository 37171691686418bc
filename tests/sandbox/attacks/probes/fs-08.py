import os


def quiet(f):
    try:
        f()
    except OSError:
        pass


quiet(lambda: os.chmod("{{SECRETFILE}}", 0o777))
quiet(lambda: os.chmod("{{HOSTDIR}}/keep", 0o000))
quiet(lambda: os.utime("{{SECRETFILE}}", (1, 1)))
quiet(lambda: os.utime("{{HOSTDIR}}/keep/inner.txt"))
quiet(lambda: os.chown("{{SECRETFILE}}", 12345, 12345))
quiet(lambda: os.setxattr("{{SECRETFILE}}", "user.kmnb", b"x"))
print("HELD if nothing changed (checked outside)")
