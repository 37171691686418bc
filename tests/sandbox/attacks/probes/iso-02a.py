import os, time

with open("mine", "w") as f:
    f.write("TOK" + "EN-{{MARK}}-{{N}}")
time.sleep(2.5)
print("HELD alive", open("mine").read()[-3:])
