import os, signal

try:
    os.kill(-1, signal.SIGWINCH)
    print("HELD if the victim noticed nothing (checked outside)")
except OSError as e:
    print("HELD", e)
