def t(label, fn):
    try:
        r = fn()
    except BaseException as e:
        print("HELD", label, type(e).__name__, e)
    else:
        print("ESCAPED", label, repr(r)[:120])


import os, sys

for p in (os.__file__, os.path.realpath(sys.executable), "/etc/passwd", "/bin/sh"):
    t(p, lambda: os.open(p, os.O_WRONLY | os.O_APPEND))
for d in (os.path.dirname(os.__file__), "/usr/bin", "/usr/local/lib", "/etc", "/"):
    t("new file in " + d, lambda: os.open(d, os.O_TMPFILE | os.O_WRONLY))  # a file without a name leaves nothing
