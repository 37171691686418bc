import os, sys, time


def daemon():
    if os.fork() == 0:
        try:
            os.setsid()
        except OSError:
            pass
        if os.fork() == 0:
            null = os.open("/dev/null", os.O_RDWR)
            for fd in (0, 1, 2):
                os.dup2(null, fd)
            end = time.time() + 15
            while time.time() < end:
                time.sleep(0.05)
        os._exit(0)


daemon()
os.wait()
print("HELD if no process is left")
