import os, sys

for k in ("PYTHONPATH", "PYTHONSTARTUP", "PYTHONHOME", "PYTHONINSPECT", "LD_PRELOAD", "LD_LIBRARY_PATH"):
    if os.environ.get(k):
        print("ESCAPED", k, os.environ[k])
print("ESCAPED path" if any("{{SITE}}" in p for p in sys.path) else "HELD")
