def t(label, fn):
    try:
        r = fn()
    except BaseException as e:
        print("HELD", label, type(e).__name__, e)
    else:
        print("ESCAPED", label, repr(r)[:120])


import socket

t("connect", lambda: socket.create_connection(("::1", {{TCP6}}), 3))
