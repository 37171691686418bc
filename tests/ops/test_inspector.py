"""Large content is looked at in a process of its own: the same is found, and no trouble of it reaches a put."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import signal
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

import kmnb
from kmnb._bridge import run
from kmnb.core.bounds import MIB
from kmnb.errors import StoreError
from kmnb.formats._inspect import Inspector, inspect
from kmnb.ops import _inspector, _inspector_main
from kmnb.ops._inspector import InspectorProcess, prepare_process
from kmnb.ops.workspace import Workspace
from tests.children import python

SIZE = 5 * MIB // 2
LOG = b"".join(b"%08d INFO request served\n" % number for number in range(SIZE // 29))
PODS = [{"name": f"pod-{number}", "phase": "Running"} for number in range(50_000)]
CONTENTS: dict[str, bytes] = {
    "log": LOG,
    "CSV": b"id,node\n" + b"".join(b'%d,"node\n%d"\n' % (number, number % 17) for number in range(150_000)),
    "NDJSON": b"".join(json.dumps(pod).encode() + b"\n" for pod in PODS) + b"not JSON\n",
    "JSON": json.dumps({"items": PODS}).encode(),
    "damaged JSON": json.dumps({"items": PODS}).encode()[:-5],
    "nested": b"[" * SIZE,
    "gzip": gzip.compress(os.urandom(SIZE).hex().encode()),
    "binary": bytes(range(256)) * (SIZE // 256),
    "one line": b"x" * SIZE,
}


@pytest.fixture
def ws(monkeypatch: pytest.MonkeyPatch) -> Iterator[Workspace]:
    """A workspace in memory that hands over small content too."""
    monkeypatch.setattr(_inspector, "FROM_BYTES", MIB)
    with kmnb.connect("memory://", thread="t", agent="a", config={"sweep_on_connect": False}) as workspace:
        yield workspace


async def _ready() -> InspectorProcess:
    prepare_process()
    process = _inspector._present
    assert process is not None
    await asyncio.wait_for(asyncio.shield(process._starting), 30)
    assert process.is_ready
    return process


@pytest.fixture
def process(ws: Workspace) -> InspectorProcess:
    """The process, ready."""
    if not _inspector._is_possible():
        pytest.skip("no second core, or no shared memory without a name")
    return run(_ready())


def facts(art: Any) -> dict[str, str]:
    _, info = run(art.locate())
    return {str(name): value for name, value in info.attributes.items()}


@pytest.mark.parametrize("kind", CONTENTS)
def test_the_process_finds_what_a_look_here_finds(kind: str, ws: Workspace, process: InspectorProcess) -> None:
    content = CONTENTS[kind]
    before = process._sent
    found = facts(ws.put(content, tool="x"))
    assert process._sent - before == -(-len(content) // MIB)
    expected = inspect(content).attributes()
    assert {name: found.get(name) for name in expected} == expected
    assert not process.is_busy


def test_small_content_and_streams_do_not_go_there(ws: Workspace, process: InspectorProcess) -> None:
    before = process._sent
    assert facts(ws.put(b"a,b\n1,2\n", tool="x"))["rows"] == "1"
    assert facts(ws.put(iter([LOG]), tool="x"))["lines"] == str(LOG.count(b"\n"))
    assert process._sent == before


def test_a_path_goes_there(ws: Workspace, process: InspectorProcess, tmp_path: Any) -> None:
    (tmp_path / "app.log").write_bytes(LOG)
    before = process._sent
    assert facts(ws.put(tmp_path / "app.log", tool="x"))["lines"] == str(LOG.count(b"\n"))
    assert process._sent == before + 3


def test_puts_at_the_same_time_share_it_not(ws: Workspace, process: InspectorProcess) -> None:
    async def both() -> list[Any]:
        return await asyncio.gather(*(ws.put_async(CONTENTS["CSV"], tool="x") for _ in range(3)))

    assert {facts(art)["rows"] for art in run(both())} == {"150000"}
    assert not process.is_busy


@pytest.mark.parametrize(("number", "reason"), [(signal.SIGKILL, "ended"), (signal.SIGSTOP, "longer than")])
def test_a_process_that_ends_or_hangs_costs_what_it_would_have_found(
    number: signal.Signals, reason: str, ws: Workspace, process: InspectorProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert process._process is not None
    monkeypatch.setattr(_inspector, "STEP_SECONDS", 0.2)
    os.kill(process._process.pid, number)
    art = ws.put(CONTENTS["CSV"], tool="x")
    found = facts(art)
    assert b"".join(art.stream()) == CONTENTS["CSV"]
    assert found["content-type"] == "text/csv"
    assert reason in found["preview"]
    assert not {"rows", "lines", "index"} & set(found)
    assert process.is_over
    monkeypatch.undo()
    monkeypatch.setattr(_inspector, "FROM_BYTES", MIB)
    assert art.count().values == [150_000]
    assert run(_ready()) is not process
    assert facts(ws.put(CONTENTS["CSV"], tool="x"))["rows"] == "150000"


def test_a_put_that_fails_does_not_leave_the_process_busy(
    ws: Workspace, process: InspectorProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    area = ws.context.backend.discussions

    async def failing(key: str, source: AsyncIterator[bytes], **_: Any) -> None:
        await anext(source)
        await source.aclose()  # type: ignore[attr-defined]
        raise StoreError(f"artifact {key!r}", "no room")

    with monkeypatch.context() as patch:
        patch.setattr(type(area), "put", lambda _, key, source, **more: failing(key, source, **more))
        with pytest.raises(StoreError):
            ws.put(LOG, tool="x")
    assert process.is_over
    assert run(_ready()) is not process


def test_content_that_makes_the_look_fail_is_described_by_its_beginning(
    ws: Workspace, process: InspectorProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refused() -> dict[str, str]:
        raise _inspector.InspectorLost("MemoryError: ")

    monkeypatch.setattr(process, "finish", refused)
    found = facts(ws.put(LOG, tool="x"))
    assert "MemoryError" in found["preview"]
    assert "lines" not in found


@pytest.mark.parametrize("step", ["feed", "attributes"])
def test_the_other_end_tells_what_went_wrong(step: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise MemoryError("too much")

    monkeypatch.setattr(Inspector, step, fail)
    look = _inspector_main._Look(None, None)
    look.feed(b"a")
    look.feed(b"b")
    assert look.finish() == b"MemoryError: too much"
    assert look.trouble


ENDS = """
import kmnb, time
from kmnb._bridge import run
from kmnb.ops import _inspector
import asyncio
with kmnb.connect("memory://", thread="t", agent="a", config={"sweep_on_connect": False}) as ws:
    ws.put(b"a line\\n" * 1_000_000, tool="x")
    async def ready():
        await asyncio.wait_for(asyncio.shield(_inspector._present._starting), 30)
    %s
    print(_inspector._present._process.pid if _inspector._present._process else 0)
"""


@pytest.mark.parametrize("wait", ["run(ready())", "pass"])
def test_it_ends_with_the_interpreter(wait: str) -> None:
    if not _inspector._is_possible():
        pytest.skip("no second core, or no shared memory without a name")
    answer = python("-c", ENDS % wait)
    assert answer.clean, answer
    number = int(answer.out)
    assert number == 0 or not _runs(number)


def _runs(number: int) -> bool:
    try:
        with open(f"/proc/{number}/cmdline") as command:
            return "_inspector_main" in command.read()
    except FileNotFoundError:
        return False


def test_a_look_that_is_left_tells_no_totals() -> None:
    inspector = Inspector()
    inspector.feed(LOG[: 1 << 16])
    inspector.leave(10**9, StoreError("the content", "was not looked at"))
    left = inspector.finish()
    assert (left.size, left.lines, left.rows, left.index) == (10**9, None, None, None)
    assert "1,000,000,000 bytes" in left.preview
    assert "was not looked at" in left.preview


FORKS = """
import os, warnings
import asyncio, kmnb
from kmnb._bridge import run
from kmnb.ops import _inspector
warnings.simplefilter("ignore", DeprecationWarning)
content = b"a line\\n" * 1_000_000

def lines(store):
    with kmnb.connect(store, thread="t", agent="a", config={"sweep_on_connect": False}) as ws:
        art = ws.put(content, tool="x")
        return run(art.locate())[1].attributes["lines"]

async def ready():
    await asyncio.wait_for(asyncio.shield(_inspector._present._starting), 30)

assert lines("memory://") == "1000000"
run(ready())
child = os.fork()
if child == 0:
    try:
        good = _inspector._present is None and lines("memory://") == "1000000"
    finally:
        os._exit(0 if good else 1)
assert os.waitpid(child, 0)[1] == 0
before = _inspector._present._sent
assert lines("memory://") == "1000000"
assert _inspector._present._sent == before + 7
"""


def test_after_a_fork_each_has_its_own() -> None:
    if not _inspector._is_possible():
        pytest.skip("no second core, or no shared memory without a name")
    answer = python("-c", FORKS)
    assert answer.clean, answer
