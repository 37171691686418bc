"""grep and queries on a file store, side by side with the commands and the libraries in the same run."""

from __future__ import annotations

import json
import resource
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import kmnb
from kmnb.ops.handle import Artifact
from kmnb.ops.workspace import Workspace

Figure = Callable[..., None]
MIB = 1 << 20
SIZES = (64 * MIB, 256 * MIB)
ROUNDS = 3
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


def best(work: Callable[[], Any]) -> float:
    """Shortest of some rounds, in seconds."""
    times = []
    for _ in range(ROUNDS):
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
    peers = {"stream": stream, "GNU grep": best(command("grep", "-E", pattern, str(path)))}
    if shutil.which("rg"):
        peers["ripgrep"] = best(command("rg", pattern, str(path)))
    shown = ", ".join(f"{name} {size / MIB / seconds:.0f} MB/s" for name, seconds in peers.items())
    figure(f"grep {pattern} in {size // MIB} MiB", size / MIB / mine, "MB/s", budget="0.7 × stream", peer=shown)
    figure(f"grep {pattern} in {size // MIB} MiB, against stream", stream / mine, "×", budget="≥ 0.7")


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
    art, path = records
    take = art.jmespath if theirs else art.jq
    own = best(lambda: take(mine, timeout_seconds=120))
    jq = best(command("jq", "-c", theirs or mine, str(path)))
    figure(f"{name}, {size // MIB} MiB, against the jq command", jq / own, "×", budget=budget, peer=f"{jq:.2f} s")


def test_queries_beside_the_libraries(records: tuple[Artifact, Path], size: int, figure: Figure) -> None:
    import duckdb
    import jmespath
    import pandas

    art, path = records
    own = best(lambda: art.jmespath("length(items[?status.phase == 'Failed'])"))
    document = json.loads(path.read_text())
    peers = {
        "json.loads and jmespath": best(
            lambda: jmespath.search("length(items[?status.phase == 'Failed'])", json.loads(path.read_text()))
        ),
        "jmespath on a parsed document": best(
            lambda: jmespath.search("length(items[?status.phase == 'Failed'])", document)
        ),
        "pandas": best(lambda: (pandas.json_normalize(document["items"])["status.phase"] == "Failed").sum()),
    }
    if size <= 64 * MIB:
        query = f"select count(*) from (select unnest(items) i from '{path}') where i.status.phase = 'Failed'"
        peers["DuckDB"] = best(lambda: duckdb.sql(query).fetchall())
    shown = ", ".join(f"{name} {seconds:.2f} s" for name, seconds in peers.items())
    figure(f"filter and count in {size // MIB} MiB", own, "s", peer=shown)


def test_memory_of_a_walk_is_flat(records: tuple[Artifact, Path], size: int, figure: Figure) -> None:
    art, _ = records
    art.jmespath("length(items[?status.phase == 'Failed'])")
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    figure(f"largest child so far, {size // MIB} MiB", peak, "MiB", budget="≤ 128 MiB over an interpreter")


@pytest.mark.parametrize("name", ["head", "tail", "lines", "count"])
def test_bytes_moved_by_questions_about_lines(log: tuple[Artifact, Path], size: int, name: str, figure: Figure) -> None:
    art, _ = log
    answer = art.lines(size // 128, 20) if name == "lines" else getattr(art, name)()
    figure(f"bytes moved by {name}, {size // MIB} MiB", answer.fetched_bytes / 1024, "KiB", budget="≤ 1,024 KiB")
    assert answer.fetched_bytes <= MIB
