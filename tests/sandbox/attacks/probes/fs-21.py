import ctypes, os

libc = ctypes.CDLL(None, use_errno=True)
escaped = []
queue = libc.inotify_init1(0)
for path in ("{{HOSTDIR}}", "{{SECRETFILE}}", "{{HOME}}", "{{TMPBASE}}"):
    if queue >= 0 and libc.inotify_add_watch(queue, os.fsencode(path), 0xFFF) >= 0:
        escaped.append("told of " + path)
    try:
        escaped.append("attributes of %s: %s" % (path, os.listxattr(path)))
    except OSError:
        pass
print("ESCAPED " + ", ".join(escaped) if escaped else "HELD")
