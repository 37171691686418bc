"""NATS at the sizes that issues name: two gigabytes in and out, and the whole contract on other servers."""

from __future__ import annotations

import asyncio
import hashlib
import os
import random
import subprocess
import sys
from collections.abc import Iterator

import pytest

from kmnb._bridge import run
from kmnb.storage import open_backend
from kmnb.testing import Scratch, StoreContract
from kmnb.testing import _nats as places
from tests.children import ROOT

MIB = 1024 * 1024
SIZE = 2048 * MIB
EXTRA = 64 * MIB

TRANSFER = """
import asyncio, hashlib, random, sys
from pathlib import Path
from kmnb.storage import open_backend
url, verb, size = sys.argv[1], sys.argv[2], int(sys.argv[3])
block = random.Random(1).randbytes(1024 * 1024)

def peak():
    # Not ru_maxrss, which a child takes over from the process that started it.
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024

async def main():
    backend = await open_backend(url)
    area = backend.discussions
    await area.put("warm", block * 4)
    assert b"".join([window async for window in area.stream("warm")]) == block * 4
    before, digest = peak(), hashlib.sha256()
    if verb == "put":
        seen, blocks = [], (bytes(bytearray(block)) for _ in range(size // len(block)))  # each anew
        info = await area.put("large", blocks, progress=lambda done, _: seen.append(done))
        assert info.size == size == seen[-1]
        print(info.digest)
    else:
        async for window in area.stream("large"):
            assert len(window) <= 1024 * 1024
            digest.update(window)
        print("sha256:" + digest.hexdigest())
    print(peak() - before)
    await backend.close()

asyncio.run(main())
"""


def transfer(url: str, verb: str) -> tuple[str, int]:
    done = subprocess.run(
        [sys.executable, "-c", TRANSFER, url, verb, str(SIZE)],
        stdout=subprocess.PIPE,
        text=True,
        timeout=900,
        check=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    digest, extra = done.stdout.split()
    return digest, int(extra)


def test_two_gigabytes_go_in_and_out_in_little_memory() -> None:
    block, expected = random.Random(1).randbytes(MIB), hashlib.sha256()
    for _ in range(SIZE // MIB):
        expected.update(block)
    with places.start() as place:
        written, put_extra = transfer(place.url, "put")
        read, get_extra = transfer(place.url, "get")
    print(f"extra memory for 2 GiB: {put_extra / MIB:.0f} MiB in, {get_extra / MIB:.0f} MiB out")
    assert written == read == f"sha256:{expected.hexdigest()}"
    assert 0 < put_extra < EXTRA
    assert 0 < get_extra < EXTRA


def test_a_hundred_thousand_objects_are_usable() -> None:
    async def story() -> None:
        backend = await open_backend(place.url)
        area = backend.discussions

        async def some(worker: int) -> None:
            for number in range(worker, 100_000, 50):
                await area.put(f"ns/crew/t{number // 100}/a/tool-{number % 100}", b"%d" % number)

        await asyncio.gather(*(some(worker) for worker in range(50)))
        assert len([info async for info in area.list()]) == 100_000
        found = [info.key async for info in area.list("ns/crew/t7")]
        assert found == sorted(f"ns/crew/t7/a/tool-{number}" for number in range(100))
        await area.delete(found[0])
        assert len([info async for info in area.list("ns/crew/t7")]) == 99
        await backend.close()

    with places.start() as place:
        run(story())


class TestOldServer(StoreContract):
    """The whole contract on a server from before batched direct gets."""

    scheme = "nats"
    machine_examples = 10

    @pytest.fixture(scope="class")
    @classmethod
    def place(cls) -> Iterator[Scratch]:
        """An old server."""
        with places.start_old() as running:
            yield running


class TestCluster(StoreContract):
    """The whole contract on three servers that replicate."""

    scheme = "nats"
    many = 500
    machine_examples = 5

    @pytest.fixture(scope="class")
    @classmethod
    def place(cls) -> Iterator[Scratch]:
        """Three servers."""
        with places.start_cluster() as running:
            yield running
