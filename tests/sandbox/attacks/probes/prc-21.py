import ctypes, resource, struct

libc = ctypes.CDLL(None, use_errno=True)
escaped = []
number = {"x86_64": 206, "aarch64": 0}[__import__("os").uname().machine]
if libc.syscall(ctypes.c_long(number), ctypes.c_long(1000), ctypes.byref(ctypes.c_ulong(0))) >= 0:
    escaped.append("asynchronous requests (io_setup)")
if libc.inotify_init1(0) >= 0:
    escaped.append("inotify instances")
rules = libc.syscall(ctypes.c_long(444), struct.pack("QQQ", 0, 3, 0), ctypes.c_ulong(16), ctypes.c_ulong(0))
if rules >= 0 and all(
    libc.syscall(ctypes.c_long(445), ctypes.c_long(rules), 2, struct.pack("QQ", 1, port), ctypes.c_ulong(0)) >= 0
    for port in range(1000)
):
    escaped.append("Landlock rules")
for name, most in (("SIGPENDING", 4096), ("RTPRIO", 0), ("NICE", 0), ("MEMLOCK", 0), ("MSGQUEUE", 0), ("CORE", 0)):
    if not 0 <= resource.getrlimit(getattr(resource, "RLIMIT_" + name))[1] <= most:
        escaped.append("limit " + name)
print("ESCAPED " + ", ".join(escaped) if escaped else "HELD")
