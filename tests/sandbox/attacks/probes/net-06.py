def t(label, fn):
    try:
        r = fn()
    except BaseException as e:
        print("HELD", label, type(e).__name__, e)
    else:
        print("ESCAPED", label, repr(r)[:120])


import socket


def f(way):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    return s.sendto(b"x", "{{UNIXDGRAM}}") if way else s.sendmsg([b"x"], [], 0, "{{UNIXDGRAM}}")


t("sendto", lambda: f(1))
t("sendmsg", lambda: f(0))
