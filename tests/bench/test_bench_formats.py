"""What the pass over a result costs, by kind of content, beside the digest that every put computes anyway."""

from __future__ import annotations

import hashlib
import io
import itertools
import json
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import nats
import pytest

import kmnb
from kmnb._bridge import run
from kmnb.core.records import Dialect
from kmnb.formats._inspect import Inspector
from kmnb.formats.csv import FORMAT
from kmnb.ops.workspace import Workspace
from kmnb.testing._nats import NatsServer
from tests.bench.measure import ROUNDS, in_turn_async, sized

MIB = 1 << 20
INSPECTED, SPILLED = 32 * MIB, 64 * MIB


def filled(row: Callable[[int], bytes], size: int) -> bytes:
    """Repeat numbered rows up to a size."""
    rows, length, number = [], 0, 0
    while length < size:
        rows.append(row(number))
        length += len(rows[-1])
        number += 1
    return b"".join(rows)


def pod(number: int) -> bytes:
    return json.dumps(
        {"metadata": {"name": f"pod-{number}", "namespace": "x"}, "status": {"phase": "Running"}}
    ).encode()


CONTENTS: dict[str, Callable[[int], bytes]] = {
    "log": lambda size: filled(
        lambda n: b"2026-06-01T00:00:%02dZ [INFO] auth - user=%d result=ok\n" % (n % 60, n), size
    ),
    "CSV": lambda size: b"id,node,n,phase\n" + filled(lambda n: b"%d,node-%d,%d,Running\n" % (n, n % 17, n * 7), size),
    "quoted CSV": lambda size: b"id,node,phase\n" + filled(lambda n: b'%d,"node, %d","Running"\n' % (n, n % 17), size),
    "NDJSON": lambda size: filled(lambda n: pod(n) + b"\n", size),
    "JSON list": lambda size: b'{"items":[' + filled(lambda n: pod(n) + b",", size)[:-1] + b"]}",
    "binary": lambda size: bytes(range(256)) * (size // 256),
}


def seconds(call: Callable[[], object]) -> float:
    """Processor time of a call, the better of two."""
    taken = []
    for _ in range(2):
        begun = time.process_time()
        call()
        taken.append(time.process_time() - begun)
    return min(taken)


def inspected(content: bytes) -> None:
    inspector = Inspector()
    for at in range(0, len(content), MIB):
        inspector.feed(content[at : at + MIB])
    inspector.finish()


@pytest.mark.parametrize("kind", CONTENTS)
def test_the_pass_over_a_result_beside_its_digest(kind: str, figure: Callable[..., None]) -> None:
    content = CONTENTS[kind](sized(INSPECTED))
    mine, digest = seconds(lambda: inspected(content)), seconds(lambda: hashlib.sha256(content))
    size = len(content) / MIB
    figure(f"inspection of {kind}", 1000 * mine / size, "ms/MiB", peer=f"sha256 {1000 * digest / size:.2f} ms/MiB")


@pytest.fixture(scope="module", params=["nats+embedded", "file"])
def ws(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    """A workspace on a NATS server with file storage, and one on a folder."""
    url = f"{request.param}://{tmp_path_factory.mktemp('store')}"
    with kmnb.connect(url, thread="t", agent="a", config={"sweep_on_connect": False}) as workspace:
        yield workspace


@pytest.mark.parametrize("kind", CONTENTS)
def test_a_spill_beside_a_bare_put(kind: str, ws: Workspace, figure: Callable[..., None]) -> None:
    """Both store the same bytes and compute their digest, taken in turn; medians, so that a busy machine meets both."""
    content, numbers, area = CONTENTS[kind](sized(SPILLED)), itertools.count(), ws.context.backend.discussions
    bare, spilled = [], []
    for turn in range(ROUNDS + 1):
        key = f"bare/{kind.replace(' ', '-')}/c/d/x-{next(numbers)}"
        begun = time.perf_counter()
        run(area.put(key, content))
        ended = time.perf_counter()
        run(area.delete(key))
        began = time.perf_counter()
        art = ws.put(content, tool="x")
        done = time.perf_counter()
        ws.delete(art.uri)
        # The first turn finds nothing ready: files to be made, a process to be started.
        if turn:
            bare.append(ended - begun)
            spilled.append(done - began)
    plain, size = statistics.median(bare), len(content) / MIB
    over = 100 * (statistics.median(spilled) / plain - 1)
    peer = f"bare put {1000 * plain / size:.2f} ms/MiB"
    where = ws.context.backend.url.partition(":")[0].partition("+")[0]
    figure(f"spill of {size:.0f} MiB of {kind} over a bare put, {where}", over, "%", budget="≤ 25 %", peer=peer)


@pytest.mark.parametrize("kind", CONTENTS)
def test_a_spill_beside_a_put_of_nats_py(kind: str, figure: Callable[..., None]) -> None:
    """The whole spill beside what a put costs without kmnb, in turn, at one server."""
    content, numbers = CONTENTS[kind](sized(SPILLED)), itertools.count()
    server = NatsServer()
    try:
        taken = run(_spills_beside_puts(server.url, content, numbers))
    finally:
        server.close()
    peer = f"nats-py put {1000 * taken['theirs'] / (len(content) / MIB):.2f} ms/MiB"
    over = 100 * (taken["ours"] / taken["theirs"] - 1)
    figure(f"spill of {len(content) / MIB:.0f} MiB of {kind} over a put by nats-py", over, "%", peer=peer)


async def _spills_beside_puts(url: str, content: bytes, numbers: Iterator[int]) -> dict[str, float]:
    settings = {"sweep_on_connect": False}
    async with await kmnb.connect_async(url, thread="t", agent="a", config=settings) as ws:
        connection = await nats.connect(url)
        area: Any = ws.context.backend.discussions
        bucket = await connection.jetstream().object_store(area.bucket.name)

        async def theirs() -> None:
            await bucket.put(f"bare/t/c/d/x-{next(numbers)}", io.BytesIO(content))

        try:
            return await in_turn_async({"ours": lambda: ws.put_async(content, tool="x"), "theirs": theirs})
        finally:
            await connection.close()


def test_cutting_rows_beside_pandas(figure: Callable[..., None]) -> None:
    import pandas as pd

    content = CONTENTS["CSV"](sized(INSPECTED))

    def cut() -> None:
        splitter = FORMAT.split(Dialect())
        for at in range(0, len(content), MIB):
            splitter.feed(content[at : at + MIB])
        splitter.finish()

    mine = seconds(cut)
    theirs = seconds(lambda: pd.read_csv(io.BytesIO(content), dtype=str))
    size = len(content) / MIB
    figure("CSV cut into rows", size / mine, "MiB/s", peer=f"pandas read_csv as text {size / theirs:.0f} MiB/s")
