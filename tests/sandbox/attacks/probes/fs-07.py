import os

os.mkdir("a")
os.symlink("{{HOSTDIR}}/keep", "a/keep")
os.symlink("{{HOSTDIR}}", "host")
os.symlink("{{HOME}}", ".cache")
print("HELD if the host folders are unchanged afterwards")
