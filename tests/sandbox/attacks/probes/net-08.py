def t(label, fn):
    try:
        r = fn()
    except BaseException as e:
        print("HELD", label, type(e).__name__, e)
    else:
        print("ESCAPED", label, repr(r)[:120])


import socket

t("raw icmp", lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP))
t("packet", lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)))


def ping():
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP)
    s.settimeout(2)
    s.sendto(b"\x08\0\0\0\0\0\0\0", ("127.0.0.1", 0))
    return s.recv(100)


t("icmp datagram", ping)
