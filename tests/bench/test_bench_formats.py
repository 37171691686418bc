"""What the pass over a result costs, by kind of content, beside the digest that every put computes anyway."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable

import pytest

from kmnb.core.records import Dialect
from kmnb.formats._inspect import Inspector
from kmnb.formats.csv import FORMAT

MIB = 1 << 20


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
