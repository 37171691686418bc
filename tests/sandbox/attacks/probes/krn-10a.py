import os, threading, time


def noise():
    for i in range(100):
        time.sleep(0.05)
        print("LATE-{{MARK}}", flush=True)


threading.Thread(target=noise, daemon=True).start()
if os.fork() == 0:
    try:
        os.setsid()
    except OSError:
        pass
    time.sleep(15)
    os._exit(0)
print("HELD")
