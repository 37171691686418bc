import mmap, os, time

# Four processes of 400 MiB each; no page stays in anybody's resident size.
for _ in range(3):
    if os.fork() == 0:
        break
size, step = 400 << 20, 1 << 20
shared = mmap.mmap(-1, size)
for at in range(0, size, step):
    shared[at : at + step] = b"x" * step
    shared.madvise(mmap.MADV_DONTNEED, at, step)
time.sleep(2)
print("ESCAPED with 400 MiB", flush=True)
