import asyncio, base64, collections, concurrent.futures, csv, datetime, decimal, difflib, fractions, hashlib, heapq, io, itertools
import json, math, os, pathlib, random, re, sqlite3, statistics, string, subprocess, tempfile, textwrap, threading, uuid, zipfile, zlib


async def a():
    await asyncio.sleep(0.01)
    return sum(await asyncio.gather(*[asyncio.sleep(0, i) for i in range(5)]))


assert asyncio.run(a()) == 10
with concurrent.futures.ThreadPoolExecutor(4) as ex:
    assert sum(ex.map(lambda x: x * x, range(10))) == 285
db = sqlite3.connect(":memory:")
db.execute("create table t(a)")
db.executemany("insert into t values(?)", [(i,) for i in range(9)])
assert db.execute("select sum(a) from t").fetchone() == (36,)
with zipfile.ZipFile("z.zip", "w") as z:
    z.writestr("a", "b")
assert statistics.mean([1, 2, 3]) == 2 and len(uuid.uuid4().hex) == 32 and random.random() < 1 and os.urandom(4)
import zoneinfo

try:
    print(datetime.datetime(2026, 1, 1, tzinfo=zoneinfo.ZoneInfo("Europe/Berlin")).isoformat())
except zoneinfo.ZoneInfoNotFoundError:
    print("no tzdata")
print(subprocess.run(["echo", "sub"], capture_output=True, text=True).stdout.strip(), "HELD all")
