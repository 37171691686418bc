import os, signal, time

time.sleep(0.8)
TOKEN = b"TOK" + b"EN-{{MARK}}"

import os, glob

hits = []
for d in (
    "/tmp",
    "/var/tmp",
    "/dev/shm",
    "/run",
    os.environ.get("HOME", "."),
    os.path.dirname(os.getcwd()),
    os.path.dirname(os.path.dirname(os.getcwd())),
    "{{TMPBASE}}",
    "{{ARTIFACTS}}",
):
    if os.path.realpath(d) in ("/", "/usr", "/proc", "/home", "/root"):
        continue
    for r, ds, fs in os.walk(d):
        for f in fs[:300]:
            try:
                with open(os.path.join(r, f), "rb") as h:
                    if TOKEN in h.read(4096):
                        hits.append(os.path.join(r, f))
            except OSError:
                pass
        if r.count("/") > 6:
            ds[:] = []
        ds[:] = ds[:200]

for h in hits:
    print("ESCAPED read", h)
me = os.getpid()
seen = 0
for p in range(max(2, me - 60), me + 60):
    if p in (me, os.getppid()):
        continue
    try:
        os.kill(p, 0)
        print("ESCAPED could signal", p)
    except OSError:
        pass
    try:
        open("/proc/%d/environ" % p).read(1)
        print("ESCAPED environ of", p)
    except OSError:
        pass
print("HELD", seen)
