def t(label, fn):
    try:
        r = fn()
    except BaseException as e:
        print("HELD", label, type(e).__name__, e)
    else:
        print("ESCAPED", label, repr(r)[:120])


import os

A = "{{ARTIFACTS}}"


def quiet(f):
    try:
        f()
    except OSError:
        pass


t("write", lambda: open(A + "/data.csv", "a").write("x"))
t("r+", lambda: open(A + "/data.csv", "r+"))
t("create", lambda: open(A + "/new", "w"))
t("unlink", lambda: os.unlink(A + "/data.csv"))
t("rename", lambda: os.rename(A + "/data.csv", A + "/d2"))
t("mkdir", lambda: os.mkdir(A + "/dir"))
quiet(lambda: os.chmod(A + "/data.csv", 0o600))
quiet(lambda: os.utime(A + "/data.csv", (1, 1)))
fd = os.open(A + "/data.csv", os.O_RDONLY)
quiet(lambda: os.fchmod(fd, 0o600))
quiet(lambda: os.utime(fd, (1, 1)))
t("ftruncate", lambda: os.ftruncate(fd, 0))
