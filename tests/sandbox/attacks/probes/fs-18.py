import os, time

if os.fork() == 0:
    try:
        os.setsid()
    except OSError:
        pass
    end = time.time() + 8
    i = 0
    while time.time() < end:
        i += 1
        try:
            os.makedirs("again/%d" % (i % 50), exist_ok=True)
            open("again/%d/f%d" % (i % 50, i), "w").close()
        except OSError:
            pass
    os._exit(0)
time.sleep(0.3)
print("HELD")
