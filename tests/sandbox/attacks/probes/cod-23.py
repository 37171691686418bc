import sys

sys.exit("HELD reason")
