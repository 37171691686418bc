import ctypes

libc = ctypes.CDLL(None, use_errno=True)
libc.shmat.restype = ctypes.c_void_p
i = libc.shmget(0x6B6D6E62, 4096, 0o1600)
if i < 0:
    print("HELD shmget errno", ctypes.get_errno())
else:
    p = libc.shmat(i, None, 0)
    ctypes.memmove(p, b"TOKEN-{{MARK}}", 18)
    print("made one")
