import ctypes, os

pid = os.fork()
if pid == 0:
    libc = ctypes.CDLL(None, use_errno=True)
    r = libc.syscall(ctypes.c_long(0x40000000 | 41), 2, 1, 0)
    os._exit(100 if r >= 0 else 51)
st = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
print("ESCAPED a socket by an x32 call" if st == 100 else "HELD (child status %d)" % st)
