import glob, os

found = []
for pat in (
    "{{HOME}}/.local/share/jupyter/runtime/*.json",
    os.path.expanduser("~/.local/share/jupyter/runtime/*.json"),
    "/root/.local/share/jupyter/runtime/*.json",
    "/home/*/.local/share/jupyter/runtime/*.json",
    "/run/user/*/jupyter/*.json",
):
    for p in glob.glob(pat):
        try:
            found.append((p, len(open(p).read())))
        except OSError:
            pass
print("ESCAPED %s" % found if found else "HELD")
