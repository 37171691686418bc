import ctypes, os, time

libc = ctypes.CDLL(None, use_errno=True)
r = libc.syscall(56, 0x8000 | 17, 0, 0, 0, 0)
if r == 0:
    null = os.open("/dev/null", os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    try:
        os.setsid()
    except OSError:
        pass
    end = time.time() + 12
    while time.time() < end:
        time.sleep(0.05)
    os._exit(0)
print("HELD", r, ctypes.get_errno())
