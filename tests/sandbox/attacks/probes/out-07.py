import sys

sys.stdout.write("x" + "\U0001f600" * 60000)
