import ctypes, os

libc = ctypes.CDLL(None, use_errno=True)
cwd = os.getcwd().encode()


def s(label, r):
    e = ctypes.get_errno()
    print(("HELD " if r != 0 and e in (1, 13, 38) else "ESCAPED ") + "%s r=%d errno=%d" % (label, r, e))


s("mount", libc.mount(b"none", cwd, None, 1 << 18, None))  # MS_PRIVATE of what is no mount point: EINVAL when permitted
s("umount", libc.umount2(cwd, 0))
s("pivot_root", libc.syscall(155 if os.uname().machine == "x86_64" else 41, cwd, cwd))
s("setns", libc.setns(-1, 0x10000000))
s("chroot", libc.chroot(cwd))
