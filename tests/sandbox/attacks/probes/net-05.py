def t(label, fn):
    try:
        r = fn()
    except BaseException as e:
        print("HELD", label, type(e).__name__, e)
    else:
        print("ESCAPED", label, repr(r)[:120])


import socket


def f():
    s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    s.settimeout(3)
    s.connect("\0{{ABSTRACT}}")
    return "connected"


t("abstract socket", f)
