"""File stores: what the contract cannot know about files and folders."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kmnb._bridge import run
from kmnb.errors import ArtifactNotFound, BadRequest, DigestMismatch, StoreDenied, StoreError, StoreUnavailable
from kmnb.storage import Store, open_backend, open_store
from kmnb.storage.backends import _file_disk
from kmnb.storage.backends._file_format import BLOCK_BYTES, FOOTER_BYTES
from kmnb.storage.backends._file_paths import folder_path, object_path, read_name
from kmnb.testing._contract_base import content
from tests.children import ROOT, python

SIZE = 3 * BLOCK_BYTES + 100


def stored_file(root: Path, name: str = "*@") -> Path:
    found = list((root / "discussions").rglob(name))
    assert len(found) == 1
    return found[0]


PLACES = {
    "first byte": 0,
    "middle": BLOCK_BYTES + 5,
    "last byte": SIZE - 1,
    "checksums": SIZE + 3,
    "attributes": SIZE + 4 * 4 + 5,
    "footer": SIZE + 4 * 4 + len('{"rows":"7"}') + 10,
    "footer's checksum": SIZE + 4 * 4 + len('{"rows":"7"}') + FOOTER_BYTES - 1,
}


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
def test_a_flipped_byte_is_never_handed_out(store: Store, root: Path, place: int) -> None:
    data = content(SIZE)
    store.put("a/b", data, attributes={"rows": "7"})
    path = stored_file(root)
    raw = bytearray(path.read_bytes())
    raw[place] ^= 1
    path.write_bytes(raw)
    verbs: list[Callable[[], Any]] = [lambda: b"".join(store.stream("a/b")), lambda: store.get_range("a/b", 0, SIZE)]
    verbs.append(lambda: store.head("a/b"))
    errors = []
    for verb in verbs:
        try:
            found = verb()
        except DigestMismatch as error:
            errors.append(str(error))
        else:
            assert found == data or dict(found.attributes) == {"rows": "7"}
    assert errors
    assert all("a/b" in error for error in errors)
    assert [info.key for info in store.list()] == ["a/b"]
    store.delete("a/b")
    assert list(store.list()) == []


def test_a_range_is_checked_by_the_blocks_that_it_touches(store: Store, root: Path) -> None:
    data = content(SIZE)
    store.put("x", data)
    path = stored_file(root)
    raw = bytearray(path.read_bytes())
    raw[BLOCK_BYTES + 5] ^= 1
    path.write_bytes(raw)
    assert store.get_range("x", 0, BLOCK_BYTES) == data[:BLOCK_BYTES]
    assert store.get_range("x", 2 * BLOCK_BYTES, SIZE) == data[2 * BLOCK_BYTES :]
    for start, end in ((BLOCK_BYTES, BLOCK_BYTES + 1), (BLOCK_BYTES - 1, BLOCK_BYTES + 1), (0, SIZE)):
        with pytest.raises(DigestMismatch):
            store.get_range("x", start, end)


@pytest.mark.parametrize("change", ["cut", "cut to nothing", "grown", "cut in the middle", "half of it gone"])
def test_a_file_of_another_length_is_refused(store: Store, root: Path, change: str) -> None:
    store.put("x", content(SIZE))
    path = stored_file(root)
    raw = path.read_bytes()
    path.write_bytes(
        {
            "cut": raw[:-1],
            "cut to nothing": b"",
            "grown": raw + b"\0",
            "cut in the middle": raw[:100] + raw[101:],
            "half of it gone": raw[: SIZE // 2],
        }[change]
    )
    for verb in (lambda: list(store.stream("x")), lambda: store.get_range("x", 0, 1), lambda: store.head("x")):
        with pytest.raises(DigestMismatch, match="x"):
            verb()
    assert [(info.key, info.size) for info in store.list()] == [("x", None)]
    store.put("x", b"again")
    assert b"".join(store.stream("x")) == b"again"


def test_a_damaged_record_is_told(root: Path) -> None:
    backend = run(open_backend(f"file://{root}"))
    run(backend.records.put("r", b"value", expected=None))
    path = next((root / "records").rglob("*@"))
    path.write_bytes(path.read_bytes()[:-1] + b"X")
    with pytest.raises(DigestMismatch, match="'r'"):
        run(backend.records.get("r"))
    run(backend.records.delete("r"))
    run(backend.records.put("r", b"new", expected=None))


def test_files_of_others_in_the_tree_are_ignored(store: Store, root: Path) -> None:
    store.put("a/b", b"1")
    folder = root / "discussions" / "a"
    for name in (".DS_Store", "notes.txt", "B@", "=4@", "x@y", "+@", "b@~"):
        (folder / name).write_bytes(b"foreign")
    (folder / "Folder").mkdir()
    assert [info.key for info in store.list()] == ["a/b"]


def test_what_a_killed_writer_left_is_collected_by_the_next_one(root: Path) -> None:
    program = """
import os, signal, sys
from kmnb.storage import open_store
def source():
    yield b"x" * 3_000_000
    os.kill(os.getpid(), signal.SIGKILL)
open_store(sys.argv[1]).put("a/b", source())
"""
    assert python("-c", program, f"file://{root}").code == -9
    (left,) = (root / "staging").iterdir()
    with open_store(f"file://{root}") as store:
        assert left.exists(), "it may belong to a writer that has not locked it yet"
        assert list(store.list()) == []
        os.utime(left, (time.time() - 3600, time.time() - 3600))
    with open_store(f"file://{root}") as store:
        assert not left.exists()
        assert list(store.list()) == []


def test_the_file_of_a_living_writer_is_not_collected(store: Store, root: Path) -> None:
    seen = []

    def source() -> Iterator[bytes]:
        yield content(2_000_000)
        (staged,) = (root / "staging").iterdir()
        os.utime(staged, (0, 0))
        seen.append(_file_disk.collect_leftovers(str(root / "staging")))
        with open_store(f"file://{root}"):
            yield b"2"

    store.put("x", source())
    assert seen == [[]]
    assert store.head("x").size == 2_000_001
    assert list((root / "staging").iterdir()) == []


def test_a_writer_and_a_deleter_do_not_lose_each_others_folders(store: Store) -> None:
    failures: list[BaseException] = []

    def turn(name: str) -> None:
        try:
            for number in range(150):
                store.put(f"deep/er/{name}", str(number).encode(), create_only=True)
                assert store.get_range(f"deep/er/{name}", 0, 9) == str(number).encode()
                store.delete(f"deep/er/{name}")
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=turn, args=(name,)) for name in ("a", "b", "a/c")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert failures == []
    assert list(store.list()) == []


def test_emptied_folders_are_removed(store: Store, root: Path) -> None:
    store.put("a/b/c", b"1")
    store.delete("a/b/c")
    assert list((root / "discussions").iterdir()) == []


def test_a_store_whose_folder_went_away_starts_anew(store: Store, root: Path) -> None:
    store.put("a", b"1")
    subprocess.run(["rm", "-rf", str(root)], check=True)
    with pytest.raises(ArtifactNotFound):
        store.head("a")
    assert list(store.list()) == []
    store.put("a", b"2")
    assert b"".join(store.stream("a")) == b"2"


def test_records_of_a_store_whose_folder_went_away_start_anew_and_describe_says_so(root: Path) -> None:
    backend = run(open_backend(f"file://{root}"))
    run(backend.records.put("r", b"1", expected=None))
    shutil.rmtree(root)
    with pytest.raises(StoreUnavailable, match="its folder is gone"):
        run(backend.describe())
    run(backend.records.delete("r"))
    run(backend.records.put("r", b"2", expected=None))
    assert run(backend.records.get("r")).value == b"2"


@pytest.mark.parametrize("seconds", [10**14, -(10**11), 2**63 - 1])
def test_a_file_of_a_year_that_no_date_tells_ends_no_listing(
    store: Store, root: Path, monkeypatch: pytest.MonkeyPatch, seconds: int
) -> None:
    """Not every file system keeps such times, so they are told as if it did."""
    store.put("a/b", b"1")
    (root / "discussions" / "a" / "c@").write_bytes(b"foreign")
    real = os.lstat

    def lstat(path: str) -> os.stat_result:
        if not str(path).endswith("c@"):
            return real(path)
        found = list(real(path))
        return os.stat_result((*found[:8], seconds, *found[9:]))

    monkeypatch.setattr(os, "lstat", lstat)
    found = {info.key: info for info in store.list()}
    assert list(found) == ["a/b", "a/c"]
    assert found["a/c"].created_at.year == (9998 if seconds > 0 else 2)


FULL_DISK = """
import sys
from kmnb.errors import StoreError
from kmnb.storage import open_store
with open_store("file://" + sys.argv[1]) as store:
    store.put("kept", b"k" * 1_000_000)
    for size in (20_000_000, 8_000_000):
        try:
            store.put("large", iter([b"x" * 1_000_000] * (size // 1_000_000)))
        except StoreError as error:
            assert "disk is full" in str(error), error
            assert "large" in str(error)
        else:
            raise AssertionError("it fitted")
    assert [info.key for info in store.list()] == ["kept"]
    assert b"".join(store.stream("kept")) == b"k" * 1_000_000
    store.put("small", b"s" * 1000)
    store.delete("kept")
    store.put("larger", b"x" * 5_000_000, create_only=True)
    assert sum(len(block) for block in store.stream("larger")) == 5_000_000
print("well")
"""


def test_a_full_disk_is_told_and_loses_nothing(tmp_path: Path) -> None:
    """On a file system of 8 MiB, in a mount namespace of its own."""
    mounted = f'mount -t tmpfs -o size=8m tmpfs {tmp_path} && exec "$@"'
    command = ["unshare", "--map-root-user", "--mount", "sh", "-c", mounted, "sh"]
    done = subprocess.run(
        [*command, sys.executable, "-c", FULL_DISK, str(tmp_path / "store")],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
    )
    assert (done.stdout, done.returncode) == ("well\n", 0), done.stderr


def test_a_file_that_is_too_large_is_told_and_loses_nothing(root: Path) -> None:
    program = """
import resource, signal, sys
from kmnb.errors import StoreError
from kmnb.storage import open_store
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (2_000_000, 2_000_000))
with open_store(sys.argv[1]) as store:
    try:
        store.put("large", b"x" * 3_000_000)
    except StoreError as error:
        print(error)
    store.put("small", b"x" * 1000)
    print([info.key for info in store.list()])
"""
    answer = python("-c", program, f"file://{root}")
    assert answer.clean, answer
    assert "does not take a file of that size" in answer.out
    assert answer.out.endswith("['small']\n")
    assert list((root / "staging").iterdir()) == []


@pytest.mark.parametrize("number", [errno.EPERM, errno.ENOSYS, errno.EOPNOTSUPP])
def test_a_file_system_without_hard_links_is_told(
    store: Store, root: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """By a hard link a name is taken once only; nothing else does that everywhere."""

    def link(source: str, target: str) -> None:
        raise OSError(number, os.strerror(number), source, None, target)

    monkeypatch.setattr(os, "link", link)
    with pytest.raises(StoreError, match="'a/b': the file system there has no hard links"):
        store.put("a/b", b"1", create_only=True)
    assert list((root / "staging").iterdir()) == []
    store.put("a/b", b"2")
    assert store.get_range("a/b", 0, 9) == b"2"


def test_a_folder_without_permission_is_denied() -> None:
    program = """
import importlib.metadata, os, sys
from kmnb.storage import open_store
from kmnb.storage.backends import file
if os.getuid() == 0:
    os.setgid(65534), os.setuid(65534)
try:
    open_store("file://" + sys.argv[1])
except Exception as error:
    print(type(error).__name__, error)
"""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o555)
        answer = python("-c", program, f"{folder}/store")
        os.chmod(folder, 0o755)
    assert answer.out.startswith("StoreDenied"), answer
    assert "permission denied" in answer.out


def test_a_lock_that_is_never_let_go_does_not_hang_a_writer(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_file_disk, "LOCK_SECONDS", 0.2)
    backend = run(open_backend(f"file://{root}"))
    run(backend.records.put("r", b"1", expected=None))
    (lock,) = (root / "locks").iterdir()
    with open(lock, "rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(StoreUnavailable, match="lock"):
            run(backend.records.put("r", b"2", expected=None))
    assert run(backend.records.get("r")).value == b"1"


@pytest.mark.parametrize("url", ["file://relative/path", "file://", "file:///", "file:/x", "file:///a%00b", "/plain"])
def test_a_url_that_names_no_absolute_path_is_refused(url: str) -> None:
    with pytest.raises(BadRequest):
        open_store(url)


def test_a_path_that_is_no_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x")
    with pytest.raises(StoreUnavailable, match="not a folder"):
        open_store(f"file://{tmp_path}/file")
    with pytest.raises(StoreError, match="not a folder"):
        open_store(f"file://{tmp_path}/file/below")
    assert (tmp_path / "file").read_bytes() == b"x"


def test_a_url_may_be_percent_encoded(tmp_path: Path) -> None:
    with open_store(f"file://localhost{tmp_path}/a%20b%25") as store:
        store.put("x", b"1")
    assert stored_file(tmp_path / "a b%")


def test_describe_tells_room_and_files_under_way(root: Path) -> None:
    backend = run(open_backend(f"file://{root}"))
    facts = run(backend.describe())
    assert facts["free_bytes"] > 0
    assert facts["under_way"] == 0
    assert run(backend.collect()) == []


SEGMENTS = st.text(
    st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="/\\"), min_size=1, max_size=200
).filter(lambda text: text not in (".", "..") and len(text.encode()) <= 500)
KEYS = st.lists(SEGMENTS, min_size=1, max_size=2).map("/".join)


def decoded(path: str) -> str:
    return b"".join(read_name(part) or b"?" for part in path.split("/")).decode().removeprefix("/")


@given(KEYS)
def test_a_path_gives_its_key_back_and_fits_every_file_system(key: str) -> None:
    path = object_path(key)
    assert decoded(path) == key
    parts = path.split("/")
    assert all(len(part) <= 255 and part not in (".", "..") and part.isascii() for part in parts)
    assert path == path.lower()
    assert not any(part.startswith(".") for part in parts)
    assert path.startswith(folder_path(key))


@given(KEYS, KEYS)
def test_two_keys_never_share_a_path(one: str, other: str) -> None:
    assert (object_path(one) == object_path(other)) == (one == other)
    assert object_path(one) != folder_path(other)


@given(st.lists(KEYS, min_size=1, max_size=6, unique=True))
def test_a_walk_is_in_order_of_bytes(keys: list[str]) -> None:
    from kmnb.storage.backends._file_paths import sort_key

    def steps(key: str) -> list[tuple[bytes, bool]]:
        return [sort_key(part, read_name(part) or b"") for part in object_path(key).split("/")]

    assert sorted(keys, key=steps) == sorted(keys, key=str.encode)


def test_a_store_below_a_very_long_path_says_so(tmp_path: Path) -> None:
    deep = tmp_path
    for _ in range(12):
        deep = deep / ("d" * 240)
    with open_store(f"file://{deep}") as store:
        store.put("short", b"1")
        with pytest.raises((BadRequest, StoreDenied), match="too long"):
            store.put("É" * 512, b"1")
        assert [info.key for info in store.list()] == ["short"]


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="there is no file system of the kernel here")
def test_a_folder_that_cannot_be_made_is_denied() -> None:
    with pytest.raises(StoreDenied, match="no folder can be made there"):
        open_store("file:///proc/kmnb/store")
