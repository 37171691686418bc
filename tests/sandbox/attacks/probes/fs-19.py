def t(label, fn):
    try:
        r = fn()
    except BaseException as e:
        print("HELD", label, type(e).__name__, e)
    else:
        print("ESCAPED", label, repr(r)[:120])


import os


def f():
    st = os.stat("{{SECRETFILE}}")
    return st.st_size


t("stat", f)
