import time

time.sleep(1)
print("HELD quiet")
