import ctypes, os

libc = ctypes.CDLL(None, use_errno=True)
file = os.open("big", os.O_CREAT | os.O_RDWR)
libc.fallocate(file, 1, ctypes.c_long(0), ctypes.c_long(256 << 20))
taken = os.fstat(file).st_blocks * 512
os.ftruncate(file, 0)
print("ESCAPED %d bytes of a disk in one call" % taken if taken > 128 << 20 else "HELD")
os.posix_fallocate(file, 0, 100_000)
print("size", os.path.getsize("big"))
