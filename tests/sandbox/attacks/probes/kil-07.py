import os, time

if os.fork() == 0:
    time.sleep(15)
    os._exit(0)
print("HELD done", flush=True)
