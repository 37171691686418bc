"""Files and buckets at the sizes that issues name: gigabytes in bounded memory, a million keys."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kmnb.core.bounds import WINDOW_BYTES
from kmnb.storage import open_store
from kmnb.storage.backends._file_paths import object_path
from kmnb.testing import StoreContract, scratch
from tests.children import ROOT

MIB = 1024 * 1024
EXTRA = 64 * MIB

TRANSFER = """
import hashlib, random, sys
from pathlib import Path
from kmnb.storage import open_store
url, verb, size = sys.argv[1], sys.argv[2], int(sys.argv[3])
block = random.Random(1).randbytes(1024 * 1024)

def peak():
    # Not ru_maxrss, which a child takes over from the process that started it.
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024

with open_store(url) as store:
    store.put("warm", block)
    list(store.stream("warm"))
    before = peak()
    if verb == "put":
        seen = []
        source = (bytes(bytearray(block)) for _ in range(size // len(block)))  # each anew
        info = store.put("large", source, create_only=True, progress=lambda done, _: seen.append(done))
        assert info.size == size == seen[-1]
        print(info.digest)
    else:
        digest = hashlib.sha256()
        for window in store.stream("large"):
            assert len(window) <= len(block)
            digest.update(window)
        print("sha256:" + digest.hexdigest())
    print(peak() - before)
"""


def transfer(url: str, verb: str, size: int) -> tuple[str, int]:
    done = subprocess.run(
        [sys.executable, "-c", TRANSFER, url, verb, str(size)],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=1800,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    digest, extra = done.stdout.split()
    return digest, int(extra)


@pytest.mark.parametrize(
    ("scheme", "size"), [("file", 2048 * MIB), ("az", 2048 * MIB), ("s3", 512 * MIB), ("gs", 256 * MIB)]
)
def test_gigabytes_go_in_and_out_in_bounded_memory(scheme: str, size: int) -> None:
    """The client's memory is measured; the emulators of S3 and GCS keep objects in theirs, so they get less."""
    with scratch(scheme) as place:
        stored, put_extra = transfer(place.url, "put", size)
        read, get_extra = transfer(place.url, "get", size)
        print(f"\n{scheme} {size // MIB} MiB: {put_extra / MIB:.0f} MiB extra in, {get_extra / MIB:.0f} MiB extra out")
        assert stored == read
        assert 0 < put_extra < EXTRA
        assert 0 < get_extra < EXTRA
        with open_store(place.url) as store:
            assert store.head("large").size == size
            assert [info.size for info in store.list("large")] == [size]
            assert len(store.get_range("large", size - 10, size + 10)) == 10
            assert len(next(iter(store.stream("large")))) <= WINDOW_BYTES


THREADS = 10_000
PER_THREAD = 100
LINKS = 60_000
"""Names that a file system lets one file have."""


def fill(root: Path, threads: int) -> None:
    """Put names of a few real objects everywhere, which is quick and looks the same to a listing."""
    template = b""
    area = root / "discussions"
    for number in range(threads * PER_THREAD):
        thread, seq = divmod(number, PER_THREAD)
        path = area / object_path(f"ns/crew/t{thread}/agent/tool-{seq}")
        if number % LINKS == 0:
            with open_store(f"file://{root}") as store:
                store.put(f"ns/crew/t{thread}/agent/tool-{seq}", b"line\n")
            template = bytes(path)
            continue
        if seq == 0 or number % LINKS == 1:
            path.parent.mkdir(parents=True, exist_ok=True)
        os.link(template, path)


@pytest.mark.parametrize("threads", [THREADS // 10, THREADS])
def test_one_thread_among_a_million_is_listed_at_once(tmp_path: Path, threads: int) -> None:
    fill(tmp_path, threads)
    with open_store(f"file://{tmp_path}") as store:
        since = time.monotonic()
        keys = [info.key for info in store.list("ns/crew/t7")]
        thread_seconds = time.monotonic() - since
        assert keys == sorted(f"ns/crew/t7/agent/tool-{seq}" for seq in range(PER_THREAD))
        since = time.monotonic()
        count = sum(1 for _ in store.list("ns/crew"))
        all_seconds = time.monotonic() - since
    print(f"\n{threads * PER_THREAD} objects: one thread {thread_seconds * 1000:.0f} ms, all {all_seconds:.1f} s")
    assert count == threads * PER_THREAD
    assert thread_seconds < 1


class TestLongRandomWalks:
    """The state machine with many more steps than in the normal suite."""

    class TestFile(StoreContract):
        scheme = "file"
        machine_examples = 60
        machine_steps = 50
        kills = 100

    class TestS3(StoreContract):
        scheme = "s3"
        machine_examples = 20

    class TestGoogle(StoreContract):
        scheme = "gs"
        machine_examples = 20

    class TestAzure(StoreContract):
        scheme = "az"
        machine_examples = 20
