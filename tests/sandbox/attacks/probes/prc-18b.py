import ctypes

libc = ctypes.CDLL(None, use_errno=True)
libc.shmat.restype = ctypes.c_void_p
i = libc.shmget(0x6B6D6E62, 4096, 0o600)
if i < 0:
    print("HELD none there")
else:
    p = libc.shmat(i, None, 0)
    print("ESCAPED found", ctypes.string_at(p, 18))
    libc.shmctl(i, 0, None)
