def t(label, fn):
    try:
        r = fn()
    except BaseException as e:
        print("HELD", label, type(e).__name__, e)
    else:
        print("ESCAPED", label, repr(r)[:120])


import glob, importlib, site, sys, sysconfig

sys.path += [
    "{{SITE}}",
    *site.getsitepackages(),
    sysconfig.get_path("purelib"),
    *glob.glob("/usr/lib/python3/dist-packages"),
    *[p.replace("/bin", "/lib/python%d.%d/site-packages" % sys.version_info[:2]) for p in glob.glob("/*/v*/bin")],
]
t("marker", lambda: importlib.import_module("kmnb_marker_pkg").MARK)
