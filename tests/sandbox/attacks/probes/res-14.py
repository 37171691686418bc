import os, socket, time

# As much as the kernel takes into the buffers of socket pairs, in twelve processes.
for _ in range(11):
    if os.fork() == 0:
        break
pairs, written = [], 0
try:
    while written < 400 << 20:
        pair = socket.socketpair()
        pairs.append(pair)
        for end in pair:
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 22)
            end.setblocking(False)
            try:
                while True:
                    written += end.send(b"x" * 32_000)
            except BlockingIOError:
                pass
except OSError:
    pass
time.sleep(2)
print(f"ESCAPED with {written >> 20} MiB" if written > 100 << 20 else "HELD", flush=True)
