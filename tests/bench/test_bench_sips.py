"""grep and queries on a file store, side by side with the commands and the libraries in the same run.

``BENCH_MIB`` names other sizes: ``1,16,64,256,1024`` shows how things grow (some minutes a size from 256 on).
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import kmnb
from kmnb.ops._isolated import IsolatedRun
from kmnb.ops.handle import Artifact
from kmnb.ops.workspace import Workspace

Figure = Callable[..., None]
MIB = 1 << 20
SIZES = tuple(int(size) * MIB for size in os.environ.get("BENCH_MIB", "64").split(","))
ROUNDS, PEER_ROUNDS = 3, 2
PARSED_MAX_BYTES = 256 * MIB
"""Largest content that peers which hold a whole document are given: it takes some ten times as much memory."""
_FAILED = "length(items[?status.phase == 'Failed'])"
_JQ_FAILED = '[.items[] | select(.status.phase == "Failed")] | length'


@pytest.fixture(scope="module")
def ws(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    """A workspace on a file store."""
    with kmnb.connect(f"file://{tmp_path_factory.mktemp('store')}", config={"sweep_on_connect": False}) as workspace:
        yield workspace


@pytest.fixture(scope="module", params=SIZES, ids=[f"{size // MIB}MiB" for size in SIZES])
def size(request: pytest.FixtureRequest) -> int:
    """How large the content is."""
    return int(request.param)


@pytest.fixture(scope="module")
def log(size: int, ws: Workspace, tmp_path_factory: pytest.TempPathFactory) -> tuple[Artifact, Path]:
    """A log, stored and as a file."""
    path = tmp_path_factory.mktemp("log") / "app.log"
    with path.open("wb") as file:
        for number in range(size // 64):
            file.write(b"%010d INFO request served in 12 ms by worker of the pool 7\n" % number)
        file.write(b"the only NEEDLE in the log\n")
    return ws.put(path, tool="log"), path


@pytest.fixture(scope="module")
def records(size: int, ws: Workspace, tmp_path_factory: pytest.TempPathFactory) -> tuple[Artifact, Path]:
    """A list of nested records, stored and as a file."""
    path = tmp_path_factory.mktemp("json") / "pods.json"
    labels = {f"label-{number}": f"value-{number}" for number in range(20)}
    with path.open("w") as file:
        file.write('{"kind":"List","items":[')
        written, number = 0, 0
        while written < size:
            record = {
                "metadata": {"name": f"pod-{number}", "namespace": f"ns-{number % 7}", "labels": labels},
                "spec": {"containers": [{"name": "main", "image": "registry/app:1"}] * 2, "restarts": number % 5},
                "status": {"phase": "Running" if number % 3 else "Failed", "id": 9007199254740993 + number},
            }
            text = json.dumps(record, separators=(",", ":"))
            file.write(("," if number else "") + text)
            written, number = written + len(text) + 1, number + 1
        file.write("]}\n")
    return ws.put(path, tool="json"), path


def best(work: Callable[[], Any], rounds: int = ROUNDS) -> float:
    """Shortest of some rounds, in seconds."""
    times = []
    for _ in range(rounds):
        begun = time.perf_counter()
        work()
        times.append(time.perf_counter() - begun)
    return min(times)


def command(*words: str) -> Callable[[], Any]:
    """A command whose output nobody looks at."""
    return lambda: subprocess.run(words, stdout=subprocess.DEVNULL, check=False)


@pytest.mark.parametrize("pattern", ["NEEDLE", "NEE+DLE"])
def test_grep_beside_stream_and_the_commands(
    log: tuple[Artifact, Path], size: int, pattern: str, figure: Figure
) -> None:
    art, path = log
    mine = best(lambda: art.grep(pattern, count_all=True))
    stream = best(lambda: sum(len(block) for block in art.stream()))
    what = f"grep {pattern} in {size // MIB} MiB"
    peers = {"GNU grep": best(command("grep", "-E", pattern, str(path)))}
    if shutil.which("rg"):
        peers["ripgrep"] = best(command("rg", pattern, str(path)))
    if size <= PARSED_MAX_BYTES:
        compiled = re.compile(pattern.encode())
        peers["reading everything, then re"] = best(
            lambda: [line for line in b"".join(art.stream()).split(b"\n") if compiled.search(line)], PEER_ROUNDS
        )
    figure(what, size / MIB / mine, "MB/s", budget="0.7 × stream", peer=f"stream {size / MIB / stream:.0f} MB/s")
    figure(f"{what}, against stream", stream / mine, "×", budget="≥ 0.7")
    for name, seconds in peers.items():
        figure(f"{what}, against {name}", seconds / mine, "×", peer=f"{size / MIB / seconds:.0f} MB/s")


@pytest.mark.parametrize(
    ("name", "budget", "mine", "theirs"),
    [
        ("filter and count", "≥ 5", '[.items[] | select(.status.phase == "Failed")] | length', None),
        ("length", "≥ 5", ".items | length", None),
        ("sum", "≥ 5", "[.items[].spec.restarts] | add", None),
        ("group count", "≥ 5", ".items | group_by(.metadata.namespace) | map({n: length})", None),
        ("libjq on looked-at fields", "≥ 0.8", '[.items[] | .metadata.name | ltrimstr("x")] | length', None),
        ("libjq on whole records", "≥ 0.8", "[.items[] | tostring | length] | add", None),
        (
            "jmespath filter and count",
            "≥ 5",
            "length(items[?status.phase == 'Failed'])",
            '[.items[]|select(.status.phase=="Failed")]|length',
        ),
    ],
)
def test_queries_beside_the_jq_command(
    records: tuple[Artifact, Path], size: int, name: str, budget: str, mine: str, theirs: str | None, figure: Figure
) -> None:
    if size > PARSED_MAX_BYTES:
        pytest.skip("the jq command would hold the whole document")
    art, path = records
    take = art.jmespath if theirs else art.jq
    own = best(lambda: take(mine, timeout_seconds=120))
    jq = best(command("jq", "-c", theirs or mine, str(path)), PEER_ROUNDS)
    figure(f"{name}, {size // MIB} MiB, against the jq command", jq / own, "×", budget=budget, peer=f"{jq:.2f} s")


def test_queries_beside_the_libraries(records: tuple[Artifact, Path], size: int, figure: Figure) -> None:
    if size > PARSED_MAX_BYTES:
        pytest.skip("the peers would hold the whole document")
    import duckdb
    import jmespath
    import jq
    import pandas

    art, path = records
    own = best(lambda: art.jmespath(_FAILED))
    document = json.loads(path.read_text())
    program = jq.compile(_JQ_FAILED)
    query = f"select count(*) from (select unnest(items) i from read_json('{path}', maximum_object_size={2 * size}))"
    peers: dict[str, Callable[[], Any]] = {
        "reading everything, json.loads and jmespath": lambda: jmespath.search(
            _FAILED, json.loads(b"".join(art.stream()))
        ),
        "jmespath on a document that is parsed already": lambda: jmespath.search(_FAILED, document),
        "the jq package on the text": lambda: program.input_text(path.read_text()).first(),
        "pandas on a document that is parsed already": lambda: (
            pandas.json_normalize(document["items"])["status.phase"] == "Failed"
        ).sum(),
    }
    if size <= 64 * MIB:
        peers["DuckDB"] = lambda: duckdb.sql(f"{query} where i.status.phase = 'Failed'").fetchall()
    for name, work in peers.items():
        seconds = best(work, PEER_ROUNDS)
        what = f"filter and count in {size // MIB} MiB, against {name}"
        figure(what, seconds / own, "×", peer=f"{seconds:.2f} s, kmnb {own:.2f} s")


def test_a_table_beside_pandas_and_duckdb(size: int, ws: Workspace, tmp_path: Path, figure: Figure) -> None:
    import duckdb
    import pandas

    if size > PARSED_MAX_BYTES:
        pytest.skip("pandas would hold the whole table")
    path = tmp_path / "table.csv"
    with path.open("wb") as file:
        file.write(b"id,node,phase,n\n")
        for number in range(size // 32):
            file.write(
                b"%08d,node-%03d,%b,%d\n" % (number, number % 500, b"Failed" if number % 9 else b"Ok", number % 7)
            )
    art = ws.put(path, tool="csv")
    first = best(lambda: art.select(["id", "n"], limit=100))
    figure(f"select of the first 100 rows of a CSV of {size // MIB} MiB", 1000 * first, "ms")
    own = best(lambda: art.stats(["n"], where="phase = 'Ok'"), 1)
    peers: dict[str, Callable[[], Any]] = {
        "pandas": lambda: pandas.read_csv(path, dtype=str).query("phase == 'Ok'")["n"].astype(int).describe(),
        "DuckDB": lambda: duckdb.sql(
            f"select sum(n::int), min(n), max(n), count(distinct n) from read_csv('{path}', all_varchar=true) "
            "where phase = 'Ok'"
        ).fetchall(),
    }
    for name, work in peers.items():
        seconds = best(work, 1)
        what = f"statistics of a column with a condition, {size // MIB} MiB, against {name}"
        figure(what, seconds / own, "×", peer=f"{seconds:.2f} s, kmnb {own:.2f} s")


def test_a_page_deep_inside_moves_little(records: tuple[Artifact, Path], size: int, figure: Figure) -> None:
    art, _ = records
    place = art.count().values[0] * 9 // 10
    pages = {
        "jq": lambda: art.jq(f".items[{place}:{place + 20}]"),
        "jmespath": lambda: art.jmespath(f"items[{place}:{place + 20}]"),
    }
    for name, work in pages.items():
        seconds, moved = best(work), work().fetched_bytes
        what = f"{name}: 20 records at 90 % of a list of {size // MIB} MiB"
        figure(what, moved / MIB, "MiB moved", peer=f"{1000 * seconds:.0f} ms")


def test_memory_of_a_walk_is_flat(
    records: tuple[Artifact, Path], size: int, figure: Figure, monkeypatch: pytest.MonkeyPatch
) -> None:
    art, _ = records
    peaks: list[int] = []
    close = IsolatedRun.close

    async def closed(run: IsolatedRun) -> None:
        if run._process is not None:
            status = Path(f"/proc/{run._process.pid}/status").read_text()
            peaks.append(int(status.partition("VmHWM:")[2].split()[0]))
        await close(run)

    monkeypatch.setattr(IsolatedRun, "close", closed)
    art.jmespath(_FAILED, timeout_seconds=120)
    figure(f"memory of a walk over {size // MIB} MiB", max(peaks) / 1024, "MiB", budget="≤ 128 MiB over an interpreter")


@pytest.mark.parametrize("name", ["head", "tail", "lines", "count", "schema"])
def test_bytes_moved_by_questions_about_lines(log: tuple[Artifact, Path], size: int, name: str, figure: Figure) -> None:
    art, _ = log
    answer = art.lines(size // 128, 20) if name == "lines" else getattr(art, name)()
    figure(f"bytes moved by {name}, {size // MIB} MiB", answer.fetched_bytes / 1024, "KiB", budget="≤ 1,024 KiB")
    assert answer.fetched_bytes <= MIB
