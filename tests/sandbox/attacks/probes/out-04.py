import os

os.write(1, b"HELD \xff\xfe\x80 caf\xc3\xa9 \xed\xa0\x80 end\n")
os.write(2, bytes(range(256)))
