"""What a notebook pays: imports, the first display of a million rows, bytes for twenty rows of a large Parquet file.

The peers are installed into a throw-away environment; one that cannot be is named with the reason.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy
import pyarrow
import pyarrow.parquet
import pytest

import kmnb
from kmnb._bridge import run
from kmnb.ops.rows import RowReader
from tests.bench.measure import QUICK, sized
from tests.bench.notebook_peers import Environment, counting_server

PEERS: dict[str, tuple[str, ...]] = {
    "quak": ("quak",),
    "itables": ("itables",),
    "jupysql": ("jupysql", "duckdb", "duckdb-engine"),
    "buckaroo": ("buckaroo",),
    **({} if QUICK else {"skrub": ("skrub",), "lonboard": ("lonboard",)}),
}
MODULES = {"kmnb": "kmnb", "jupysql": "sql.magic"}
ROUNDS = 3 if QUICK else 11
GROUPS = 18

IMPORT = """
import sys, time, json
if sys.argv[2] == "loaded":
    import ipykernel.ipkernel, ipykernel.zmqshell
before, begun = len(sys.modules), time.process_time()
__import__(sys.argv[1])
if sys.argv[1] == "kmnb" and sys.argv[2] == "connected":
    sys.modules["kmnb"].connect("memory://").close()
print(json.dumps([(time.process_time() - begun) * 1000, len(sys.modules) - before]))
"""

SETUP = "import pandas as pd\ndf = pd.read_parquet({path!r})"
STORED = (
    "from pathlib import Path\nimport kmnb\nws = kmnb.connect('memory://')\nart = ws.put(Path({path!r}), tool='frame')"
)
AS_CSV = """
import kmnb, pandas as pd
ws = kmnb.connect("memory://")
art = ws.put(pd.read_parquet({path!r}).to_csv(index=False), tool="frame", media_type="text/csv")
"""
WIDGET = """
w = art.preview_widget()
w._ipython_display_()
for n, (ask, arguments) in enumerate([("module", {}), ("rows", {"start": 0, "limit": 20})]):
    w._on_message(w, {"id": n, "ask": ask, "arguments": arguments}, [])
"""
DISPLAYS: dict[str, tuple[str, str, str]] = {
    "kmnb": ("%load_ext kmnb", STORED, "art"),
    "kmnb, as CSV": ("%load_ext kmnb", AS_CSV, "art"),
    "kmnb widget, its module and 20 rows": ("%load_ext kmnb", STORED, WIDGET),
    "pandas": ("import pandas", SETUP, "df"),
    "quak": ("%load_ext quak", SETUP, "df"),
    "itables": (
        "import itables\nitables.init_notebook_mode(all_interactive=True, connected=False)", SETUP, "df",
    ),
    "jupysql": ("%load_ext sql\n%sql duckdb://", SETUP, "%sql SELECT * FROM read_parquet('PATH')"),
    "buckaroo": ("import buckaroo", SETUP, "df"),
    "skrub": ("import skrub\nskrub.patch_display()", SETUP, "df"),
}  # fmt: skip
"""Load line, preparation and cell of each."""


@pytest.fixture(scope="module")
def peers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Environment]:
    made = Environment(tmp_path_factory.mktemp("peers"), PEERS)
    yield made
    made.remove()


def named(results: dict[str, str]) -> str:
    return ", ".join(f"{name} {result}" for name, result in results.items())


def test_imports(peers: Environment, figure: Any) -> None:
    """C.1: processor time, the least of some runs, and modules that a loaded kernel did not have."""
    for place in ("cold", "loaded"):
        taken: dict[str, list[tuple[float, int]]] = {}
        failed = dict(peers.missing)
        for _ in range(ROUNDS):
            for name in [name for name in ("kmnb", *PEERS) if name not in failed]:
                try:
                    milliseconds, modules = peers.run(IMPORT, MODULES.get(name, name), place)
                except AssertionError as error:
                    failed[name] = str(error)
                    continue
                taken.setdefault(name, []).append((milliseconds, modules))
        best = {name: min(runs) for name, runs in taken.items() if name not in failed}
        mine = best.pop("kmnb")
        where = "cold" if place == "cold" else "into a loaded ipykernel"
        told = {name: f"{one[0]:.0f}" for name, one in best.items()} | {
            name: f"({why})" for name, why in failed.items()
        }
        figure(f"import kmnb, {where}", mine[0], "ms", budget="40 ms" if place == "cold" else "10 ms", peer=named(told))
        if place == "cold":
            # Nothing of kmnb is loaded before it is used; what a first use costs is told too.
            first = min(peers.run(IMPORT, "kmnb", "connected")[0] for _ in range(ROUNDS))
            figure("import kmnb and open a store, cold", first, "ms", peer=named(told))
        if place == "loaded":
            more = named({name: str(one[1]) for name, one in best.items()})
            figure("modules that import kmnb adds there", mine[1], "modules", budget="15", peer=more)


def table_of(rows: int, columns: int = 10) -> pyarrow.Table:
    """Numbers, texts of few and of many values, and times."""
    random = numpy.random.default_rng(7)
    numbers = [random.random(rows) for _ in range(columns - 4)]
    texts = pyarrow.array([f"name-{n % 1000}" for n in range(rows)])
    whole = [random.integers(0, 10**9, rows), numpy.arange(rows), random.integers(0, 50, rows)]
    return pyarrow.table([*numbers, texts, *whole], names=[f"c{n}" for n in range(columns)])


def test_first_display(peers: Environment, tmp_path: Path, growth: Any, figure: Any) -> None:
    """C.2: a frame of a million rows and ten columns in a real kernel; bytes are those of the iopub channel."""
    rows = sized(1_000_000)
    path = str(tmp_path / "frame.parquet")
    pyarrow.parquet.write_table(table_of(rows), path)
    told: dict[str, dict[str, float | str]] = {}
    for name, (load, prepare, show) in DISPLAYS.items():
        if name in peers.missing or (name == "skrub" and QUICK):
            told[name] = {"load ms": peers.missing.get(name, "left out of a quick look")}
            continue
        try:
            with peers.kernel() as kernel:
                if not name.startswith("kmnb"):
                    kernel.run(prepare.format(path=path))
                loading = kernel.run(load)
                if name.startswith("kmnb"):
                    kernel.run(prepare.format(path=path))
                first, again = (kernel.run(show.replace("PATH", path)) for _ in range(2))
        except AssertionError as error:
            told[name] = {"load ms": f"failed: {error}"}
            continue
        if not first["shown"]:
            why = (first["printed"] or loading["printed"] or "nothing said").splitlines()[0][:120]
            told[name] = {"load ms": loading["ms"], "first ms": f"shows nothing: {why}"}
            continue
        told[name] = {
            "load ms": loading["ms"], "first ms": first["ms"], "again ms": again["ms"],
            "first KB": first["bytes"] / 1000, "again KB": again["bytes"] / 1000,
            "lines of HTML without scripts": float(first["lines"]),
        }  # fmt: skip
    growth(f"First display of {rows:,} rows of 10 columns", "tool", told)
    mine = told["kmnb"]
    for name in ("kmnb", "kmnb, as CSV"):
        assert told[name]["lines of HTML without scripts"]
        figure(f"static preview of {name}: sent", told[name]["first KB"], "KB", budget="16 KB")
    figure("%load_ext kmnb", mine["load ms"], "ms wall", budget="15 ms of processor")


READERS = {
    "polars scan_parquet(url).head(20)": "import polars\nshown = polars.scan_parquet(url).head(20).collect().height",
    "fsspec + pyarrow": (
        "import fsspec, pyarrow.parquet as p\nwith fsspec.open(url) as f:\n"
        "    shown = next(p.ParquetFile(f).iter_batches(20)).num_rows"
    ),
    "pyarrow, buffered, one column chunk at a time": (
        "import fsspec, pyarrow.parquet as p\nwith fsspec.open(url, cache_type='none') as f:\n"
        "    shown = next(p.ParquetFile(f, pre_buffer=False, buffer_size=16384).iter_batches(20)).num_rows"
    ),
}
"""Ways of the peers to twenty rows at an address."""


def test_bytes_of_twenty_rows_of_parquet(
    peers: Environment, tmp_path: Path, figure: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C.3: bytes, requests and time for the first 20 rows of 18 row groups of a million rows."""
    path, group = tmp_path / "large.parquet", table_of(sized(1_000_000))
    with pyarrow.parquet.ParquetWriter(path, group.schema) as writer:
        for _ in range(GROUPS):
            writer.write_table(group)
    size = path.stat().st_size
    with kmnb.connect(f"file://{tmp_path}/store", thread="bench") as workspace:
        artifact = workspace.put(path, tool="large")
        area, moved = workspace.context.backend.discussions, list[int]()
        inner = area.get_range

        async def counted(*arguments: Any, **options: Any) -> bytes:
            data: bytes = await inner(*arguments, **options)
            moved.append(len(data))
            return data

        monkeypatch.setattr(area, "get_range", counted)
        begun = time.perf_counter()
        page = run(RowReader(artifact).page(0, 20))
        mine = time.perf_counter() - begun
        assert len(page.rows) == 20
        rows_read, requests = sum(moved), len(moved)
        moved.clear()
        run(RowReader(artifact).statistics())
        footer = sum(moved)
    theirs: dict[str, str] = {}
    with counting_server(path) as (url, sent):
        for name, reader in READERS.items():
            sent.clear()
            program = f"import json, time\nurl = {url!r}\nbegun = time.perf_counter()\n{reader}\n"
            try:
                shown, seconds = peers.run(program + "print(json.dumps([shown, time.perf_counter() - begun]))")
            except AssertionError as error:
                theirs[name] = f"({error})"
                continue
            assert shown == 20
            theirs[name] = f"{sum(sent) / 1e6:.2f} MB in {len(sent)} requests, {seconds * 1000:.0f} ms"
    title = f"20 rows of {size / 1e6:,.0f} MB of Parquet"
    figure(
        f"{title}: read", rows_read / 1e6, "MB", budget="8 MB", peer="; ".join(f"{n} {t}" for n, t in theirs.items())
    )
    figure(f"{title}: requests", requests, "requests")
    figure(f"{title}: time from a local store", mine * 1000, "ms", budget="50 ms")
    figure("names, types, ranges and nulls of it: read", footer / 1000, "KB", budget="256 KB")
