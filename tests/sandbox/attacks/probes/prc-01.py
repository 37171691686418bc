def t(label, fn):
    try:
        r = fn()
    except BaseException as e:
        print("HELD", label, type(e).__name__, e)
    else:
        print("ESCAPED", label, repr(r)[:120])


t("environ of server", lambda: open("/proc/{{SERVER}}/environ", "rb").read(200))
