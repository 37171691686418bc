import re

print("HELD start", flush=True)
re.match(r"(a+)+$", "a" * 40 + "b")
