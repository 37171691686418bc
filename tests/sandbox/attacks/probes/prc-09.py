import os

try:
    pids = [p for p in os.listdir("/proc") if p.isdigit()]
except OSError as e:
    print("HELD no /proc:", e)
else:
    print("ESCAPED sees the victim" if "{{VICTIM}}" in pids else "HELD %d processes" % len(pids))
