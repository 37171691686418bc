import os, time

open("{{HOSTDIR}}/ran-{{MARK}}", "w").write("x")
time.sleep(60)
