"""Files and S3 against obstore's own calls and a plain file copy."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import obstore
import pytest
from obstore.store import LocalStore, S3Store

from kmnb.storage import Store, open_store
from kmnb.testing import scratch
from tests.bench.measure import in_turn, sized

MIB = 1024 * 1024
LARGE = sized(64) * MIB


@pytest.fixture(scope="module")
def data() -> bytes:
    return os.urandom(LARGE)


@pytest.fixture
def file_store(tmp_path: Path) -> Iterator[Store]:
    with open_store(f"file://{tmp_path}/kmnb") as store:
        yield store


def digest(windows: Any) -> None:
    sha = hashlib.sha256()
    for window in windows:
        sha.update(window)


def drain(windows: Any) -> None:
    for _ in windows:
        pass


def test_files_against_a_plain_copy_and_obstore(figure: Any, file_store: Store, tmp_path: Path, data: bytes) -> None:
    (tmp_path / "peer").mkdir()
    peer, path = LocalStore(tmp_path / "peer"), tmp_path / "plain"

    def plain_write() -> None:
        """What durable and checked costs at least: sha256, write, fsync, rename, fsync of the folder."""
        hashlib.sha256(data)
        with open(f"{path}.new", "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.rename(f"{path}.new", path)
        folder = os.open(tmp_path, os.O_RDONLY)
        os.fsync(folder)
        os.close(folder)

    def plain_read() -> None:
        digest = hashlib.sha256()
        with open(path, "rb") as file:
            while block := file.read(MIB):
                digest.update(block)

    ours, plain, theirs = in_turn(
        {
            "kmnb": lambda: file_store.put("large", data),
            "plain": plain_write,
            "obstore": lambda: obstore.put(peer, "large", data),
        }
    ).values()
    text = f"plain, with sha256 and fsync {LARGE / MIB / plain:.0f}, obstore without {LARGE / MIB / theirs:.0f} MiB/s"
    figure("file: write 64 MiB", LARGE / MIB / ours, "MiB/s", budget="0.9 × plain", peer=text)
    ours, plain, theirs = in_turn(
        {
            "kmnb": lambda: drain(file_store.stream("large")),
            "plain": plain_read,
            "obstore": lambda: drain(obstore.get(peer, "large").stream(min_chunk_size=MIB)),
        }
    ).values()
    text = f"plain read with sha256 {LARGE / MIB / plain:.0f}, obstore unchecked {LARGE / MIB / theirs:.0f} MiB/s"
    figure("file: read 64 MiB, checked", LARGE / MIB / ours, "MiB/s", budget="0.9 × plain", peer=text)
    ours, theirs = in_turn(
        {
            "kmnb": lambda: file_store.get_range("large", 500_000, 504_096),
            "obstore": lambda: obstore.get_range(peer, "large", start=500_000, end=504_096),
        },
        rounds=300,
    ).values()
    figure("file: 4 KiB range", 1000 * ours, "ms", budget="obstore + 0.3", peer=f"obstore {1000 * theirs:.3f} ms")
    ours, theirs = in_turn(
        {"kmnb": lambda: file_store.head("large"), "obstore": lambda: obstore.head(peer, "large")}, rounds=300
    ).values()
    figure("file: head", 1000 * ours, "ms", budget="obstore + 0.3", peer=f"obstore {1000 * theirs:.3f} ms")


def test_small_durable_files(figure: Any, file_store: Store, tmp_path: Path) -> None:
    def plain() -> None:
        with open(tmp_path / "small.new", "wb") as file:
            file.write(b"x" * 1000)
            file.flush()
            os.fsync(file.fileno())
        os.rename(tmp_path / "small.new", tmp_path / "small")
        folder = os.open(tmp_path, os.O_RDONLY)
        os.fsync(folder)
        os.close(folder)

    ours, theirs = in_turn({"kmnb": lambda: file_store.put("small", b"x" * 1000), "plain": plain}, rounds=200).values()
    figure("file: write 1 kB durably", 1000 * ours, "ms", budget="plain + 0.3", peer=f"plain {1000 * theirs:.2f} ms")


def test_s3_against_obstore(figure: Any, data: bytes) -> None:
    with scratch("s3") as place, open_store(place.url) as store:
        endpoint = place.url.partition("endpoint=")[2]
        peer = S3Store("kmnb-scratch", endpoint=endpoint, client_options={"allow_http": True})
        number = iter(range(100))
        ours, theirs = in_turn(
            {
                "kmnb": lambda: store.put(f"large/{next(number)}", data, create_only=True),
                "obstore": lambda: obstore.put(peer, f"peer/large/{next(number)}", data),
            }
        ).values()
        speed = f"obstore {LARGE / MIB / theirs:.0f} MiB/s"
        figure("S3 (moto): write 64 MiB", LARGE / MIB / ours, "MiB/s", budget="0.9 × obstore", peer=speed)
        ours, theirs, checked = in_turn(
            {
                "kmnb": lambda: drain(store.stream("large/0")),
                "obstore": lambda: drain(obstore.get(peer, "peer/large/1").stream(min_chunk_size=MIB)),
                "checked": lambda: digest(obstore.get(peer, "peer/large/1").stream(min_chunk_size=MIB)),
            }
        ).values()
        speed = f"obstore {LARGE / MIB / theirs:.0f}, with sha256 {LARGE / MIB / checked:.0f} MiB/s"
        figure("S3 (moto): read 64 MiB, checked", LARGE / MIB / ours, "MiB/s", budget="0.9 × obstore", peer=speed)
        store.put("small", b"x" * 10_000)
        obstore.put(peer, "peer/small", b"x" * 10_000)
        info = store.head("small")
        area: Any = store._backend.discussions
        from kmnb._bridge import run

        calls = {
            "head": (lambda: store.head("small"), lambda: obstore.head(peer, "peer/small")),
            "4 KiB range, facts known": (
                lambda: run(area.get_range("small", 100, 4196, info=info)),
                lambda: obstore.get_range(peer, "peer/small", start=100, end=4196),
            ),
            "create 1 kB": (
                lambda: store.put(f"n/{time.perf_counter_ns()}", b"x" * 1000, create_only=True),
                lambda: obstore.put(peer, f"p/{time.perf_counter_ns()}", b"x" * 1000, mode="create"),
            ),
        }
        for name, (mine, peers) in calls.items():
            ours, theirs = in_turn({"kmnb": mine, "obstore": peers}, rounds=100).values()
            text = f"obstore {1000 * theirs:.2f} ms"
            figure(f"S3 (moto): {name}", 1000 * ours, "ms", budget="obstore + 0.3", peer=text)
