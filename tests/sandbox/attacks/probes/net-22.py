def t(label, fn):
    try:
        r = fn()
    except BaseException as e:
        print("HELD", label, type(e).__name__, e)
    else:
        print("ESCAPED", label, repr(r)[:120])


import urllib.request

t("urlopen", lambda: urllib.request.urlopen("http://127.0.0.1:{{TCP4}}/{{MARK}}", timeout=3).read(1))
