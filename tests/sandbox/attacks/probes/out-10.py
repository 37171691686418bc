for i in range(200000):
    print("row", i)
print("TOTAL 12345")
