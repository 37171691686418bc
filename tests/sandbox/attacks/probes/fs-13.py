import os, pathlib, shutil, subprocess, tempfile

p = pathlib.Path("x.txt")
p.write_text("hello")
assert p.read_text() == "hello"
os.makedirs("a/b/c")
os.rename("a/b/c", "a/c")
shutil.copy("x.txt", "a/y.txt")
shutil.copytree("a", "z")
shutil.rmtree("z")
with tempfile.NamedTemporaryFile("w+") as f:
    f.write("t")
    f.seek(0)
    assert f.read() == "t"
with tempfile.TemporaryDirectory() as d:
    open(os.path.join(d, "q"), "w").close()
assert os.path.realpath(os.environ["HOME"]) == os.path.realpath(os.getcwd()), (os.environ["HOME"], os.getcwd())
print(subprocess.run(["sh", "-c", "cat x.txt; pwd"], capture_output=True, text=True).stdout)
print("WORKS", sorted(os.listdir(".")))
