def t(label, fn):
    try:
        r = fn()
    except BaseException as e:
        print("HELD", label, type(e).__name__, e)
    else:
        print("ESCAPED", label, repr(r)[:120])


import os, stat

allowed = {"null", "zero", "full", "random", "urandom", "tty", "ptmx", "stdin", "stdout", "stderr", "fd"}
bad = []
for d, ds, fs in os.walk("/dev"):
    for n in fs:
        p = os.path.join(d, n)
        try:
            st = os.stat(p)
        except OSError:
            continue
        if (stat.S_ISCHR(st.st_mode) or stat.S_ISBLK(st.st_mode)) and n not in allowed and "/pts" not in p:
            try:
                os.close(os.open(p, os.O_RDONLY | os.O_NONBLOCK))
                bad.append(p)
            except OSError:
                pass
print("ESCAPED devices %s" % bad if bad else "HELD")
t("mknod char", lambda: os.mknod("dev", 0o600 | stat.S_IFCHR, os.makedev(1, 5)))
t("mknod block", lambda: os.mknod("blk", 0o600 | stat.S_IFBLK, os.makedev(254, 0)))
