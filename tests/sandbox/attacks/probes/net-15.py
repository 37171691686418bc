import ctypes, mmap, os, signal, sys

pid = os.fork()
if pid == 0:
    # mov eax,0x167 (socket); mov ebx,2; mov ecx,1; xor edx,edx; int 0x80; ret
    code = b"\x53\xb8\x67\x01\x00\x00\xbb\x02\x00\x00\x00\xb9\x01\x00\x00\x00\x31\xd2\xcd\x80\x5b\xc3"
    try:
        m = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    except OSError:
        os._exit(50)
    m.write(code)
    fn = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(m)))
    os._exit(100 if fn() >= 0 else 51)
st = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
print("ESCAPED a socket by a 32-bit call" if st == 100 else "HELD (child status %d)" % st)
