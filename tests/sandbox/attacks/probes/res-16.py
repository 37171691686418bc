import os, shutil

with open(shutil.which("bash"), "rb") as file:
    program = file.read()
fd = os.open("hidden", os.O_CREAT | os.O_WRONLY, 0o100)
os.write(fd, program)
os.close(fd)
# Builtin commands alone: no other process has these descriptors. The parent removes the names.
code = r"""
printf -v block '%*s' 1048576 ''
for i in 11 12 13; do
    eval "exec $i>f$i"
    echo $i >&$OUT
    read -u $IN
    for j in {1..30}; do printf %s "$block" >&$i || exit 3; done
done
read -t 1 <>fifo
echo "ESCAPED 90 MiB of files without a name in a process that hides"
"""
os.mkfifo("fifo")
names, told = os.pipe()
answer, given = os.pipe()
for one in (told, answer):
    os.set_inheritable(one, True)
if os.fork() == 0:
    os.execve("./hidden", ["hidden", "-c", code], {"OUT": str(told), "IN": str(answer)})
os.close(told)
with open(names) as lines:
    for name in lines:
        os.unlink("f" + name.strip())
        os.write(given, b"\n")
print("HELD" if os.wait()[1] else "ended")
