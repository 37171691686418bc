"""The public interface as users type it. Type checkers read this file; nobody runs it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO, assert_type

import pandas

import kmnb
from kmnb.core.outcome import Outcome
from kmnb.core.slice import Slice
from kmnb.ops.handle import Artifact
from kmnb.ops.workspace import Workspace


def connecting() -> Workspace:
    """A workspace is made by connect, with or without an address and names."""
    kmnb.connect()
    ws = kmnb.connect("nats://127.0.0.1:4222", namespace="shop", crew="ops", thread="t1", agent="kube")
    assert_type(ws, Workspace)
    return ws


def storing(ws: Workspace) -> None:
    """Results are spilled, put, listed and deleted."""
    spill = ws.spill("text", tool="kubectl", media_type="text/plain")
    assert_type(spill.message, dict[str, Any])
    assert_type(spill.artifact, Artifact | None)
    art = ws.put(b"bytes", tool="kubectl")
    assert_type(art, Artifact)
    assert_type(ws.get(art.key), Artifact)
    assert_type(ws.get(art.envelope()), Artifact)
    for each in ws.list():
        assert_type(each, Artifact)
    ws.delete(art)
    ws.delete(art.key)


def talking(ws: Workspace) -> None:
    """Results and outcomes are published; a discussion is read with its handles."""
    ws.publish(ws.spill("text", tool="kubectl"), text="all pods")
    ws.publish(ws.run("print(1)"))
    for message in ws.discussion("t1"):
        assert_type(message.text, str)
        for art in message.artifacts:
            assert_type(art, Artifact)


def naming(ws: Workspace) -> None:
    """Named artifacts have versions."""
    art = ws.save("report.csv", "a,b\n1,2\n", media_type="text/csv", metadata={"by": "me"})
    assert_type(art, Artifact)
    assert_type(ws.load("report.csv", version=0), Artifact)
    assert_type(ws.versions("report.csv"), list[int])
    assert_type(ws.append("report.csv", "3,4\n"), Artifact)
    assert_type(ws.filenames(), list[str])
    ws.remove("report.csv")


def projecting(ws: Workspace, art: Artifact) -> None:
    """What reaches a model is JSON; a resolved text is a str, a resolved stream an iterator."""
    assert_type(ws.project(art, "reference"), dict[str, Any] | None)
    text: str = ws.resolve("«artifact_content:report.csv»")
    pieces: Iterator[str] = ws.resolve(iter([text]), stage="late")
    assert_type([tool.__name__ for tool in kmnb.agent_tools(ws)], list[str])
    assert_type("".join(pieces), str)


def knowing(art: Artifact) -> None:
    """What a handle knows costs no call; what it does not know is None."""
    assert_type(art.key, str)
    assert_type(art.uri, str)
    assert_type(art.size, int | None)
    assert_type(art.rows, int | None)
    assert_type(art.media_type, str | None)
    assert_type(art.digest, str | None)
    assert_type(art.version, int | None)
    assert_type(art.preview, str | None)
    assert_type(art.envelope(), dict[str, Any])


def sipping(art: Artifact) -> None:
    """Every sip gives a Slice."""
    assert_type(art.head(), Slice)
    assert_type(art.head(5), Slice)
    assert_type(art.tail(lines=5, max_bytes=1000), Slice)
    assert_type(art.grep("error", max=10, context=2, ignore_case=True), Slice)
    assert_type(art.count(), Slice)
    assert_type(art.lines(start=100, limit=10), Slice)
    assert_type(art.select(["name", "age"], where="age > 3", limit=10), Slice)
    assert_type(art.jq(".items[].name"), Slice)
    assert_type(art.jmespath("items[].name"), Slice)
    assert_type(art.schema(), Slice)
    assert_type(art.stats(), Slice)
    assert_type(art.read(0, 100), bytes)


def answering(answer: Slice) -> None:
    """A Slice tells what it holds and what it lacks."""
    assert_type(answer.values, list[Any])
    assert_type(answer.text, str)
    assert_type(answer.complete, bool)
    assert_type(answer.total, int | None)
    assert_type(answer.cursor, str | None)
    assert_type(answer.fetched_bytes, int)
    assert_type(answer.to_pandas(), pandas.DataFrame)


def computing(ws: Workspace, art: Artifact) -> None:
    """A program's end is an Outcome, whatever it was."""
    out = ws.run("print(1)", language="python", artifacts=[art], timeout_seconds=5)
    assert_type(out, Outcome)
    assert_type(out.stdout, str)
    assert_type(out.exit_code, int)
    assert_type(out.timed_out, bool)
    ws.validate("print(", language="python")
    ws.verify(out.receipt)
    with ws.turn([art.envelope()]):
        ws.run("print(1)")


def collecting(ws: Workspace, art: Artifact) -> None:
    """Threads open and close; the sweep reports; holds delay it; what is kept stays."""
    ws.open_thread("t2")
    art.hold("still needed")
    art.release()
    assert_type(art.keep("pods.json"), Artifact)
    ws.close_thread("t2")
    ws.sweep(dry_run=True)


async def awaiting(art: Artifact) -> None:
    """Every call that moves data has a twin to await."""
    ws = await kmnb.connect_async("memory://", thread="t1")
    assert_type(ws, Workspace)
    store = await kmnb.open_store_async("memory://")
    await store.put_async("a/b/c/d/e-0", b"x")
    assert_type(await art.head_async(5), Slice)
    assert_type(await ws.get_async("a/b/c/d/e-0"), Artifact)
    async for each in ws.list_async():
        assert_type(each, Artifact)


def storing_bytes() -> None:
    """A store moves bytes only."""
    store = kmnb.open_store("memory://")
    store.put("a/b/c/d/e-0", b"x", create_only=True)
    assert_type(store.get_range("a/b/c/d/e-0", 0, 1), bytes)
    assert_type(store.stream("a/b/c/d/e-0"), Iterator[bytes])
    store.delete("a/b/c/d/e-0")


def opening(art: Artifact) -> BinaryIO:
    """An artifact can be read like a file, copied to one, and turned into a frame."""
    art.download("pods.json")
    art.materialise("artifacts")
    assert_type(art.to_pandas(["name"], max_bytes=1_000_000), pandas.DataFrame)
    return art.open()


def trusting(out: Outcome) -> bool:
    """Numbers in a text are checked against receipts."""
    checked = kmnb.contract.check("There are 9 pods.", [out.receipt], strict=True)
    for number in checked.numbers:
        assert_type(number.text, str)
    return checked.ok


def isolating() -> None:
    """The sandbox works without a store."""
    assert_type(kmnb.sandbox.run("print(1)", timeout_seconds=5), Outcome)
    assert_type(kmnb.sandbox.validate("print(1)", language="python").valid, bool)
    assert_type(kmnb.sandbox.doctor().level, int)


def failing(ws: Workspace) -> str:
    """Errors are the builtin ones too."""
    try:
        ws.get("a/b/c/d/e-9")
    except FileNotFoundError as error:
        return str(error)
    except kmnb.KmnbError as error:
        return error.code
    return ""
