import getpass

for f in (input, getpass.getpass):
    try:
        f("? ")
        print("ESCAPED input")
    except BaseException as e:
        print("HELD", type(e).__name__)
