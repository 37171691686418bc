def t(label, fn):
    try:
        r = fn()
    except BaseException as e:
        print("HELD", label, type(e).__name__, e)
    else:
        print("ESCAPED", label, repr(r)[:120])


import socket, subprocess, sys, threading

code = "import socket\ntry:\n socket.create_connection(('127.0.0.1', {{TCP4}}), 2); print('ESCAPED child')\nexcept OSError as e: print('HELD child', e)"
print(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout)
th = threading.Thread(target=lambda: t("thread", lambda: socket.create_connection(("127.0.0.1", {{TCP4}}), 2)))
th.start()
th.join()
