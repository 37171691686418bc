import ctypes, os

libc = ctypes.CDLL(None, use_errno=True)
buf = ctypes.create_string_buffer(120)
fd = libc.syscall(425, 8, buf)
print("ESCAPED io_uring fd %d" % fd if fd >= 0 else "HELD errno %d" % ctypes.get_errno())
