import ctypes, os, struct

libc = ctypes.CDLL(None, use_errno=True)
print("ESCAPED no_new_privs is off" if libc.prctl(39, 0, 0, 0, 0) != 1 else "HELD nnp")
hdr = ctypes.create_string_buffer(struct.pack("Ii", 0x20080522, 0), 8)
dat = ctypes.create_string_buffer(24)
libc.syscall(125 if os.uname().machine == "x86_64" else 90, hdr, dat)
caps = struct.unpack("6I", dat.raw)
print("HELD caps" if not any(caps) else "ESCAPED capabilities %s" % (caps,))
print("uid", os.getuid())
