import ctypes, os

libc = ctypes.CDLL(None, use_errno=True)
for name, flag in (("user", 0x10000000), ("user+net", 0x50000000), ("mount", 0x20000), ("pid", 0x20000000)):
    pid = os.fork()
    if pid == 0:
        os._exit(100 if libc.unshare(flag) == 0 else 51)
    print(("ESCAPED unshare " if os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 100 else "HELD ") + name)
r = libc.syscall(56, 0x10000000 | 17, 0, 0, 0, 0)
if r == 0:
    os._exit(0)
if r > 0:
    os.waitpid(r, 0)
print("ESCAPED clone(NEWUSER)" if r > 0 else "HELD clone errno %d" % ctypes.get_errno())
