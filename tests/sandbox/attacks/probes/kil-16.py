import os, signal

p = os.getppid()
try:
    os.kill(p, signal.SIGKILL)
    print("signal to", p, "was sent")
except OSError as e:
    print("HELD", e)
