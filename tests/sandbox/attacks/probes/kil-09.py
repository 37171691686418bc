import os, time

kids = 0
try:
    while kids < 400:
        if os.fork() == 0:
            time.sleep(10)
            os._exit(0)
        kids += 1
except OSError as e:
    print("HELD stopped at", kids, e, flush=True)
else:
    print("ESCAPED %d children" % kids, flush=True)
