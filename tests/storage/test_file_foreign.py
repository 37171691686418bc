"""What others leave in a file store: odd names, things that are no files, files of other keys, files of older forms."""

from __future__ import annotations

import asyncio
import errno
import os
import shutil
import socket
import struct
import subprocess
import tempfile
import zlib
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from kmnb._bridge import run
from kmnb.core.addresses import NamedAddress
from kmnb.core.bounds import KEY_MAX_BYTES
from kmnb.errors import AlreadyExists, DigestMismatch, StoreError
from kmnb.storage import Store, open_backend, open_store
from kmnb.storage.backends import _file_format
from kmnb.storage.backends._file_paths import object_path
from kmnb.testing._contract_base import content
from tests.children import python

SIZE = 200_000


def file_of(root: Path, key: str) -> Path:
    return root / "discussions" / object_path(key)


def reads(store: Store, key: str) -> list[Callable[[], Any]]:
    return [lambda: store.head(key), lambda: store.get_range(key, 0, 5), lambda: list(store.stream(key))]


def make_socket(path: Path) -> None:
    here = os.getcwd()
    os.chdir(path.parent)  # the path of a socket is short
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.chdir(here)


def make_device(path: Path) -> None:
    try:
        os.mknod(path, 0o600 | 0o020000, os.makedev(5, 0))
    except PermissionError:
        path.symlink_to("/dev/tty")


THINGS: dict[str, Callable[[Path], Any]] = {
    "a folder": lambda path: path.mkdir(),
    "a full folder": lambda path: (path / "x@").mkdir(parents=True),
    "a pipe": os.mkfifo,
    "a socket": make_socket,
    "a device": make_device,
    "a link to a device": lambda path: path.symlink_to("/dev/zero"),
    "a link to itself": lambda path: path.symlink_to(path.name),
    "a link to nothing": lambda path: path.symlink_to("nothing"),
    "a link to a folder": lambda path: path.symlink_to("."),
}


@pytest.mark.parametrize("kind", THINGS)
def test_what_is_no_file_ends_no_listing_and_no_call_waits_for_it(store: Store, root: Path, kind: str) -> None:
    store.put("a", b"1")
    store.put("z", b"26")
    THINGS[kind](file_of(root, "o"))
    listed = [(info.key, info.size) for info in store.list()]
    # A link to nothing is like a file that is not there.
    assert listed == [("a", 1), *([] if kind == "a link to nothing" else [("o", None)]), ("z", 2)]
    for verb in reads(store, "o"):
        with pytest.raises((StoreError, FileNotFoundError), match="'o'"):
            verb()
    with pytest.raises(AlreadyExists):
        store.put("o", b"1", create_only=True)
    if "folder" in kind and "link" not in kind:
        for verb in (lambda: store.put("o", b"1"), lambda: store.delete("o")):
            with pytest.raises(StoreError, match="remove it there"):
                verb()
    else:
        store.delete("o")
        store.put("o", b"new")
        assert b"".join(store.stream("o")) == b"new"


@pytest.mark.parametrize("kind", THINGS)
def test_what_is_no_file_is_a_damaged_record(root: Path, kind: str) -> None:
    backend = run(open_backend(f"file://{root}"))
    run(backend.records.put("a", b"1", expected=None))
    THINGS[kind](root / "records" / object_path("o"))

    async def listed() -> dict[str, bytes]:
        return {record.key: record.value async for record in backend.records.list()}

    assert run(listed())["a"] == b"1"
    with pytest.raises((StoreError, FileNotFoundError), match="'o'"):
        run(backend.records.get("o"))


def test_a_record_of_any_size_is_read_in_bounded_memory(root: Path) -> None:
    backend = run(open_backend(f"file://{root}"))
    with (root / "records" / object_path("huge")).open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(DigestMismatch):
        run(backend.records.get("huge"))


@pytest.mark.parametrize("kind", ["a pipe", "a socket", "a device", "a link to itself", "a folder"])
def test_a_store_opens_beside_odd_things_that_are_staged(store: Store, root: Path, kind: str) -> None:
    path = root / "staging" / "odd"
    THINGS[kind](path)
    os.utime(path, (1, 1), follow_symlinks=False)
    assert run(open_backend(f"file://{root}")).url == store.url
    assert os.path.lexists(path)


NAMES = (
    "=ff@", "=c3@", "=2e@", "=2e=2e@", "=00@", "=0a@", "=5c@", "a=2fb@", "=2f@", "=61@", "a=2eb@", "=ff", "=2e",
    "=2e=2e", "a" * 81 + "@", "+a@", "b" * 79, "=ed=a0=80@",
)  # fmt: skip
"""Names that mean no key, or a key whose file has another name."""


def test_names_that_mean_no_key_are_passed_over(store: Store, root: Path) -> None:
    store.put("a/b", b"1")
    top = root / "discussions"
    for name in NAMES:
        if name.endswith("@"):
            shutil.copy(file_of(root, "a/b"), top / name)
        else:
            (top / name).mkdir()
            shutil.copy(file_of(root, "a/b"), top / name / "x@")
            shutil.copy(file_of(root, "a/b"), top / name / "+x@")
    (top / os.fsdecode(b"\xff@")).write_bytes(b"foreign")
    found = [info.key for info in store.list()]
    assert found == ["a/b", "b" * 79 + "/x"]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(some.lists(some.text("+=@.-_a2ef0/c3b", min_size=1, max_size=12), max_size=8))
def test_a_listing_gives_keys_that_lead_to_what_it_saw(tmp_path_factory: Any, paths: list[str]) -> None:
    root = tmp_path_factory.mktemp("walk")
    with open_store(f"file://{root}") as store:
        for path in paths:
            place = Path(os.path.normpath(f"{root}/discussions/./{path}"))
            if str(place).startswith(f"{root}/discussions/") and not any(up.is_file() for up in place.parents):
                place.parent.mkdir(parents=True, exist_ok=True)
                if not place.exists():
                    place.write_bytes(b"foreign")
        keys = [info.key for info in store.list()]
        assert keys == sorted(set(keys), key=str.encode)
        assert all(os.path.lexists(file_of(root, key)) for key in keys)


def test_folders_that_are_too_deep_or_lead_back_end_no_listing(store: Store, root: Path) -> None:
    store.put("a/b", b"1")
    top = root / "discussions"
    (top / "loop").symlink_to(".")
    (top / "a" / "up").symlink_to("..")
    (top / "self").symlink_to("self")
    handle = os.open(top, os.O_RDONLY)
    for _ in range(KEY_MAX_BYTES):
        os.mkdir("d", dir_fd=handle)
        below = os.open("d", os.O_RDONLY, dir_fd=handle)
        os.close(handle)
        handle = below
    os.close(handle)
    assert [info.key for info in store.list()] == ["a/b"]
    subprocess.run(["rm", "-rf", str(top / "d")], check=True)


def test_a_file_that_may_not_be_read_is_listed_beside_the_others() -> None:
    program = """
import importlib.metadata, os, sys
from kmnb.storage import open_store
from kmnb.storage.backends import file
if os.getuid() == 0:
    os.setgid(65534), os.setuid(65534)
with open_store("file://" + sys.argv[1] + "/store") as store:
    for key in ("a", "b", "c"):
        store.put(key, b"1")
    os.chmod(sys.argv[1] + "/store/discussions/b@", 0)
    print([(info.key, info.size) for info in store.list()])
    try:
        store.head("b")
    except Exception as error:
        print(type(error).__name__)
"""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o777)
        answer = python("-c", program, folder)
    assert answer.out == "[('a', 1), ('b', None), ('c', 1)]\nStoreDenied\n", answer


@pytest.mark.parametrize("how", ["copied", "renamed", "linked"])
def test_a_file_under_another_key_is_no_object_of_that_key(store: Store, root: Path, how: str) -> None:
    data = content(SIZE)
    store.put("a/one", data)
    other = file_of(root, "b/two")
    other.parent.mkdir()
    {"copied": shutil.copy, "renamed": os.rename, "linked": os.link}[how](file_of(root, "a/one"), other)
    for verb in reads(store, "b/two"):
        with pytest.raises(DigestMismatch, match="'b/two': its file is that of another key"):
            verb()
    assert ("b/two", None) in [(info.key, info.size) for info in store.list()]
    store.delete("b/two")
    if how != "renamed":
        assert b"".join(store.stream("a/one")) == data
        assert [info.key for info in store.list()] == ["a/one"]
    store.put("b/two", b"2")
    assert b"".join(store.stream("b/two")) == b"2"


@pytest.mark.parametrize("text", ["[]", '{"a": 7}', "[" * 100_000, "7" * 5000, '{"a": "\\ud800"}'], ids=lambda t: t[:9])
def test_attributes_that_are_none_are_told(store: Store, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """A file that another program made may have every checksum right."""
    with monkeypatch.context() as made:
        made.setattr(_file_format, "json", SimpleNamespace(dumps=lambda *_, **__: text))
        store.put("o", b"1")
    if "ud800" in text:
        assert store.head("o").attributes == {"a": "?"}
    else:
        with pytest.raises(DigestMismatch, match="its attributes cannot be read"):
            store.head("o")
    assert store.get_range("o", 0, 1) == b"1"


def test_a_store_that_is_moved_as_a_whole_stays_readable(store: Store, root: Path, tmp_path: Path) -> None:
    store.put("a/one", content(SIZE), attributes={"rows": "7"})
    shutil.copytree(root, tmp_path / "moved")
    with open_store(f"file://{tmp_path}/moved") as moved:
        assert b"".join(moved.stream("a/one")) == content(SIZE)
        assert moved.head("a/one").attributes == {"rows": "7"}


def as_first_form(raw: bytes) -> bytes:
    """Give a file as it was written before the footer told of the key."""
    packed = raw[-_file_format.FOOTER_BYTES : -4][: struct.calcsize("<8sQIIQ16s32sI")]
    packed = b"kmnbobj1" + packed[8:]
    return raw[: -_file_format.FOOTER_BYTES] + packed + struct.pack("<I", zlib.crc32(packed))


def test_a_socket_is_no_file_where_the_system_says_that_it_cannot_be_opened(
    store: Store, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As macOS says it."""
    store.put("a/b", b"1")
    make_socket(file_of(root, "a/c"))
    real = os.open

    def open_(path: str, flags: int, *more: int) -> int:
        if str(path).endswith("c@"):
            raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP), path)
        return real(path, flags, *more)

    monkeypatch.setattr(os, "open", open_)
    assert [(info.key, info.size) for info in store.list()] == [("a/b", 1), ("a/c", None)]
    with pytest.raises(DigestMismatch, match="no file lies at its place"):
        store.head("a/c")


@pytest.mark.parametrize("size", [0, 3, SIZE])
def test_a_file_of_the_first_form_stays_readable(store: Store, root: Path, size: int) -> None:
    data = content(size)
    put = store.put("a/old", data, attributes={"rows": "7"})
    path = file_of(root, "a/old")
    old = as_first_form(path.read_bytes())
    assert len(old) == path.stat().st_size - 8
    path.write_bytes(old)
    head = store.head("a/old")
    assert (head.size, head.digest, head.identity, head.attributes) == (size, put.digest, put.identity, {"rows": "7"})
    assert b"".join(store.stream("a/old")) == data
    assert store.get_range("a/old", 1, 5) == data[1:5]
    assert [(info.key, info.size) for info in store.list()] == [("a/old", size)]
    raw = bytearray(old)
    raw[-20] ^= 1
    path.write_bytes(raw)
    with pytest.raises(DigestMismatch):
        store.head("a/old")


@pytest.mark.parametrize("layout", ["agent-mesh", "adk"])
def test_a_pipe_in_the_place_of_a_peers_version_is_not_waited_for(root: Path, layout: str) -> None:
    backend = run(open_backend(f"file://{root}", layout=layout))
    key = NamedAddress.of("r.csv", app="app", user="u", session="s").version_key(0)
    run(backend.named.put(key, b"bytes of the version"))
    (path,) = [path for path in root.rglob("*") if path.is_file() and path.read_bytes() == b"bytes of the version"]
    path.unlink()
    os.mkfifo(path)

    async def ask() -> None:
        assert key not in [info.key async for info in backend.named.list()]
        for verb in (backend.named.head(key), backend.named.get_range(key, 0, 5)):
            with pytest.raises(StoreError, match="no file lies at its place"):
                await asyncio.wait_for(verb, 10)

    run(ask())


@pytest.mark.parametrize("layout", ["agent-mesh", "adk"])
def test_a_disk_without_room_is_told_by_a_peers_layout_and_nothing_stays(root: Path, layout: str) -> None:
    """Large versions are staged block by block, small ones at once; neither leaves its staged file held."""
    program = """
import os, resource, signal, sys
from kmnb._bridge import run
from kmnb.core.addresses import NamedAddress
from kmnb.errors import StoreError
from kmnb.storage import open_backend
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
backend = run(open_backend("file://" + sys.argv[1], layout=sys.argv[2]))
address = NamedAddress.of("r.csv", app="app", user="u", session="s")
run(backend.named.put(address.version_key(0), b"x" * 500, create_only=True))
held = len(os.listdir("/proc/self/fd"))
for most, data in ((9_000_000, [b"x" * 1_000_000] * 10), (4_000, b"x" * 5_000)):
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))
    try:
        run(backend.named.put(address.version_key(1), data, create_only=True))
    except StoreError as error:
        assert "does not take a file of that size" in str(error), error
        assert "r.csv" in str(error), error
    else:
        raise AssertionError("it fitted")
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
assert len(os.listdir("/proc/self/fd")) == held
assert os.listdir(os.path.join(sys.argv[1], ".kmnb", "staging")) == []
run(backend.named.put(address.version_key(1), b"y", create_only=True))
async def keys():
    return [info.key async for info in backend.named.list()]
assert run(keys()) == [address.version_key(number) for number in (0, 1)]
print("well")
"""
    answer = python("-c", program, str(root), layout)
    assert (answer.clean, answer.out) == (True, "well\n"), answer


def test_what_a_killed_deletion_left_keeps_no_version_of_the_kit(root: Path) -> None:
    backend = run(open_backend(f"file://{root}", layout="adk"))
    key = NamedAddress.of("r.csv", app="app", user="u", session="s").version_key(0)
    run(backend.named.put(key, b"bytes of the version"))
    (version,) = root.rglob("versions/0")
    (version.parent / ".0.removed" / "rest").mkdir(parents=True)
    run(backend.named.delete(key))
    assert list(root.rglob("versions")) == []
