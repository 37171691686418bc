import ctypes, fcntl, os

libc = ctypes.CDLL(None, use_errno=True)
escaped = []
# Processes that are not of this run. In a namespace of its own there are none but its first one.
inside = os.getppid() == 1
for pid in range(10 if inside else 1, 400):
    if pid != os.getpid() and libc.syscall(ctypes.c_long(434), ctypes.c_long(pid), ctypes.c_long(0)) >= 0:
        escaped.append(f"pidfd of {pid}")
        break
for path in ("/usr/bin/env", os.__file__):
    file = os.open(path, os.O_RDONLY)
    for kind in (fcntl.F_RDLCK, fcntl.F_WRLCK):
        try:
            fcntl.fcntl(file, fcntl.F_SETLEASE, kind)
            escaped.append(f"lease on {path}")
        except OSError:
            pass
folder = os.open(os.path.dirname(os.__file__), os.O_RDONLY)
try:
    fcntl.fcntl(folder, fcntl.F_NOTIFY, fcntl.DN_ACCESS)
    escaped.append("told of what others read")
except OSError:
    pass
print("ESCAPED " + ", ".join(escaped) if escaped else "HELD")
