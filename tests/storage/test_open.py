"""Opening a store by its URL, and the public face of what was opened."""

from __future__ import annotations

import asyncio
import gc
import inspect
import json
import signal
import threading
import time
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kmnb._bridge import run
from kmnb.core.metadata import Capability
from kmnb.core.urls import public_url
from kmnb.errors import BadRequest, KeySyntaxError, StoreDenied, UnknownPlugin
from kmnb.storage import Store, open_backend, open_store
from kmnb.storage._keys import check_key, check_prefix, is_below
from kmnb.storage._protocols import Backend
from kmnb.storage._urls import split_url
from kmnb.testing import ScratchUnavailable, scratch
from tests.children import python


@pytest.mark.parametrize(
    ("url", "near"),
    [("s4://bucket/x", "s3"), ("fil:///x", "file"), ("memori://", "memory"), ("natss://h", "nats"), ("xyz://", "file")],
)
def test_a_scheme_with_a_typo_names_near_ones(url: str, near: str) -> None:
    with pytest.raises(UnknownPlugin, match=near):
        open_store(url)


@pytest.mark.parametrize(
    "url", ["", "memory", "/tmp/x", "://x", "file:", "memory://?x", "memory://x?a=1", 7, None, b"memory://"]
)
def test_what_is_no_url_is_refused(url: object) -> None:
    with pytest.raises(BadRequest):
        open_store(url)  # type: ignore[arg-type]


@pytest.mark.parametrize("url", ["file://{}/a#b", "file://{}/a#", "memory://a#b", "nats://127.0.0.1:1#?bucket=b"])
def test_a_url_with_a_fragment_is_refused_for_it_would_open_another_place(url: str, tmp_path: Path) -> None:
    with pytest.raises(BadRequest, match="Write # as %23"):
        open_store(url.format(tmp_path))
    assert list(tmp_path.iterdir()) == []
    with open_store(f"file://{tmp_path}/a%23b") as store:
        store.put("x", b"1")
    assert [path.name for path in tmp_path.iterdir()] == ["a#b"]


def test_a_plus_names_a_way_of_a_scheme() -> None:
    with pytest.raises(UnknownPlugin):
        open_store("memory+other://x")


SECRET = "hunter2"
URLS_WITH_SECRETS = (
    f"nats://user:{SECRET}@host:4222/bucket",
    f"nats://{SECRET}@host",
    f"s3://key:{SECRET}@bucket/p",
    f"nats://user:{SECRET}/x@host/b",
    f"nats://user:{SECRET}?x@host/b",
    f"nats://user:pass@{SECRET}@host/b",
    f"s3://bucket/p?password={SECRET}",
    f"s3://bucket/p#{SECRET}",
    f"user:{SECRET}@host",
    f"://user:{SECRET}@host",
    f"nats://u:{SECRET}#x@host",
    f"nats://{SECRET}#x@host",
    f"s3://{SECRET}#x@host/p",
)


@pytest.mark.parametrize("url", URLS_WITH_SECRETS)
def test_secrets_of_a_url_are_never_shown(url: str) -> None:
    assert SECRET not in public_url(url)
    try:
        told = str(split_url(url))
    except BadRequest as error:
        told = str(error)
    assert SECRET not in told


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("s3://bucket/a/b?region=x", "s3://bucket/a/b"),
        ("file:///a@b/c", "file:///a@b/c"),
        ("s3://bucket/a@b", "s3://bucket/a@b"),
        ("nats://host:4222/b", "nats://host:4222/b"),
        ("memory://", "memory://"),
    ],
)
def test_a_url_without_secrets_is_shown_as_it_is(url: str, shown: str) -> None:
    assert public_url(url) == shown
    assert str(split_url(url)) == shown


def test_every_verb_has_a_twin_with_the_same_parameters() -> None:
    for verb in ("put", "get_range", "stream", "list", "head", "delete", "close"):
        blocking, twin = getattr(Store, verb), getattr(Store, f"{verb}_async")
        assert inspect.signature(blocking) == inspect.signature(twin)
        assert blocking.__doc__
        assert blocking.__name__ == verb


def test_the_twins_work_on_any_loop() -> None:
    async def check() -> None:
        store = Store(await asyncio.to_thread(lambda: run(open_backend("memory://"))))
        async with store:
            info = await store.put_async("a/b", b"12345", create_only=True)
            assert info.size == 5
            assert await store.get_range_async("a/b", 1, 3) == b"23"
            assert [window async for window in store.stream_async("a/b")] == [b"12345"]
            assert [found.key async for found in store.list_async("a")] == ["a/b"]
            assert (await store.head_async("a/b")).digest == info.digest
            await store.delete_async("a/b")
            assert [found.key async for found in store.list_async()] == []

    asyncio.run(check())


def test_a_closed_store_may_be_closed_again(tmp_path: Path) -> None:
    with open_store(f"file://{tmp_path}/s") as store:
        store.put("x", b"1")
        store.close()
    store.close()
    with open_store(f"file://{tmp_path}/s") as again:
        assert [info.key for info in again.list()] == ["x"]


def test_a_store_that_is_read_only_refuses_every_write(tmp_path: Path) -> None:
    with open_store(f"file://{tmp_path}/s") as store:
        store.put("x", b"1")
    backend: Backend = run(open_backend(f"file://{tmp_path}/s", read_only=True))
    store = Store(backend)
    assert b"".join(store.stream("x")) == b"1"
    writes = (
        lambda: store.put("y", b"1"),
        lambda: store.delete("x"),
        lambda: run(backend.named.put("y", b"1")),
        lambda: run(backend.records.put("y", b"1", expected=None)),
        lambda: run(backend.records.delete("y")),
    )
    for write in writes:
        with pytest.raises(StoreDenied, match="reading only"):
            write()
    assert run(backend.collect()) == []
    assert [info.key for info in store.list()] == ["x"]


def test_a_put_is_interrupted_within_its_budget(tmp_path: Path) -> None:
    """Control-C in a blocking put: the caller has control soon, nothing is visible, no file is left."""
    program = """
import json, os, signal, sys, threading, time
from kmnb.storage import open_store
at = []
def press():
    at.append(time.monotonic())
    os.kill(os.getpid(), signal.SIGINT)
def source():
    for number in range(1000):
        if number == 20:
            threading.Timer(0.05, press).start()
        yield b"x" * 1_000_000
        time.sleep(0.001)
with open_store(sys.argv[1]) as store:
    try:
        store.put("x", source())
    except KeyboardInterrupt:
        after = time.monotonic() - at[0]
    print(json.dumps([after, [info.key for info in store.list()], os.listdir(sys.argv[2])]))
    store.put("x", b"1")
"""
    answer = python("-c", program, f"file://{tmp_path}/s", f"{tmp_path}/s/staging")
    assert answer.clean, answer
    after, keys, staged = json.loads(answer.out)
    assert after < 1, "the budget is 0.2 s; the rest is room for a busy machine"
    assert keys == staged == []


EXITS = {
    "after a put": "store.put('a', b'x' * 20_000_000)",
    "in a stream": "store.put('a', b'x' * 20_000_000); walk = iter(store.stream('a')); next(walk)",
    "in a listing": "[store.put(str(n), b'x') for n in range(20)]; walk = iter(store.list()); next(walk)",
    "with an open call in another thread": (
        "import contextlib, threading, time\n"
        "def work():\n"
        "    with contextlib.suppress(BaseException):\n"
        "        store.put('b', source())\n"
        "def source():\n"
        "    yield b'x' * 9_000_000\n"
        "    begun.set()\n"
        "    time.sleep(60)\n"
        "begun = threading.Event()\n"
        "threading.Thread(target=work, daemon=True).start()\n"
        "assert begun.wait(20)"
    ),
}


@pytest.mark.parametrize("scheme", ["memory", "file", "s3", "gs", "az"])
def test_an_interpreter_ends_cleanly_whatever_it_did_last(scheme: str) -> None:
    with scratch(scheme) as place:
        for name, last in EXITS.items():
            since = time.monotonic()
            answer = python("-c", f"from kmnb.storage import open_store\nstore = open_store({place.fresh()!r})\n{last}")
            assert answer.clean, (name, answer)
            assert time.monotonic() - since < 20, name


def test_opening_and_closing_leaves_no_thread_of_its_own(tmp_path: Path) -> None:
    def once() -> None:
        with open_store(f"file://{tmp_path}/s") as store:
            store.put("x", b"1")
            next(iter(store.stream("x")))

    once()
    before = threading.active_count()
    for _ in range(20):
        once()
    gc.collect()
    assert threading.active_count() <= before + 2


def test_a_forked_child_may_use_the_store(tmp_path: Path) -> None:
    program = """
import os, sys, warnings
warnings.simplefilter("ignore")
from kmnb.storage import open_store
store = open_store(sys.argv[1])
store.put("x", b"parent")
child = os.fork()
if not child:
    ok = b"".join(open_store(sys.argv[1]).stream("x")) == b"parent" and store.head("x").size == 6
    os._exit(0 if ok else 1)
assert os.waitpid(child, 0)[1] == 0
store.put("y", b"after")
"""
    answer = python("-c", program, f"file://{tmp_path}/s")
    assert answer.clean, answer


def test_unknown_services_say_so() -> None:
    with pytest.raises(ScratchUnavailable, match="carrier-pigeon"):
        scratch("carrier-pigeon")


def test_a_missing_program_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ScratchUnavailable, match="npm"):
        scratch("az")


def test_a_service_ends_with_the_process_that_started_it() -> None:
    program = """
import os, signal
from kmnb.testing import scratch
place = scratch("gs")
print(place.url.rpartition(":")[2], flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
    answer = python("-c", program)
    assert answer.code == -signal.SIGKILL
    import socket

    until = time.monotonic() + 15
    while time.monotonic() < until:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", int(answer.out))):
                return
        threading.Event().wait(0.05)
    raise AssertionError("the service still answers")


@settings(max_examples=60)
@given(st.text(max_size=40))
@example("a/b")
@example("a//b")
@example("\ud800")
def test_a_key_is_accepted_as_it_is_or_refused(text: str) -> None:
    try:
        assert check_key(text) == text
    except KeySyntaxError:
        return
    assert check_prefix(text) == text == check_prefix(f"{text}/")
    assert is_below(text, text)
    assert is_below(f"{text}/x", text)
    assert not is_below(f"{text}x", text)
    assert is_below(text, "")


def test_capabilities_are_asked_for_by_name(tmp_path: Path) -> None:
    with open_store("memory://") as memory, open_store(f"file://{tmp_path}/s") as file:
        assert Capability.CROSS_PROCESS not in memory.capabilities
        assert Capability.DURABLE not in memory.capabilities
        assert {Capability.CROSS_PROCESS, Capability.DURABLE, Capability.RANGE} == file.capabilities
        assert "durable" in file.capabilities
        assert memory.server_url is None
