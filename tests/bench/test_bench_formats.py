"""What the pass over a result costs, by kind of content, beside the digest that every put computes anyway."""

from __future__ import annotations

import hashlib
import itertools
import json
import time
from collections.abc import Callable, Iterator

import pytest

import kmnb
from kmnb._bridge import run
from kmnb.core.records import Dialect
from kmnb.formats._inspect import Inspector
from kmnb.formats.csv import FORMAT
from kmnb.ops.workspace import Workspace

MIB = 1 << 20
ROUNDS = 6


def filled(row: Callable[[int], bytes], size: int = 32 * MIB) -> bytes:
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


CONTENTS: dict[str, Callable[[], bytes]] = {
    "log": lambda: filled(lambda n: b"2026-06-01T00:00:%02dZ [INFO] auth - user=%d result=ok\n" % (n % 60, n)),
    "CSV": lambda: b"id,node,n,phase\n" + filled(lambda n: b"%d,node-%d,%d,Running\n" % (n, n % 17, n * 7)),
    "quoted CSV": lambda: b"id,node,phase\n" + filled(lambda n: b'%d,"node, %d","Running"\n' % (n, n % 17)),
    "NDJSON": lambda: filled(lambda n: pod(n) + b"\n"),
    "JSON list": lambda: b'{"items":[' + filled(lambda n: pod(n) + b",")[:-1] + b"]}",
    "binary": lambda: bytes(range(256)) * (32 * MIB // 256),
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
    content = CONTENTS[kind]()
    mine, digest = seconds(lambda: inspected(content)), seconds(lambda: hashlib.sha256(content))
    size = len(content) / MIB
    figure(f"inspection of {kind}", 1000 * mine / size, "ms/MiB", peer=f"sha256 {1000 * digest / size:.2f} ms/MiB")


@pytest.fixture(scope="module")
def ws(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    """A workspace on a NATS server."""
    url = f"nats+embedded://{tmp_path_factory.mktemp('nats')}"
    with kmnb.connect(url, thread="t", agent="a", config={"sweep_on_connect": False}) as workspace:
        yield workspace


@pytest.mark.parametrize("kind", CONTENTS)
def test_a_spill_beside_a_bare_put(kind: str, ws: Workspace, figure: Callable[..., None]) -> None:
    """Taken in turn, the best of some rounds each: what else the machine does meets both."""
    content, numbers, area = CONTENTS[kind](), itertools.count(), ws.context.backend.discussions
    bare, spilled = [], []
    for _ in range(ROUNDS):
        key = f"bare/{kind.replace(' ', '-')}/c/d/x-{next(numbers)}"
        begun = time.perf_counter()
        run(area.put(key, content))
        bare.append(time.perf_counter() - begun)
        run(area.delete(key))
        begun = time.perf_counter()
        art = ws.put(content, tool="x")
        spilled.append(time.perf_counter() - begun)
        ws.delete(art.uri)
    over, size = 100 * (min(spilled) / min(bare) - 1), len(content) / MIB
    peer = f"bare put {1000 * min(bare) / size:.2f} ms/MiB"
    figure(f"spill of {kind} over a bare NATS put", over, "%", budget="≤ 25 %", peer=peer)


def test_cutting_rows_beside_pandas(figure: Callable[..., None]) -> None:
    import io

    import pandas as pd

    content = CONTENTS["CSV"]()

    def cut() -> None:
        splitter = FORMAT.split(Dialect())
        for at in range(0, len(content), MIB):
            splitter.feed(content[at : at + MIB])
        splitter.finish()

    mine = seconds(cut)
    theirs = seconds(lambda: pd.read_csv(io.BytesIO(content), dtype=str))
    size = len(content) / MIB
    figure("CSV cut into rows", size / mine, "MiB/s", peer=f"pandas read_csv as text {size / theirs:.0f} MiB/s")
