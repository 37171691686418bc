"""A password in the address of a store is shown nowhere: no output, error, setting, answer, log or file."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from kmnb.testing._nats import NatsServer
from tests.children import ROOT
from tests.frontends.jupyter import running_server, surroundings

CANARY = "tr0ub4dor-canary"
USER = "keeper"
CONFIG = f'authorization {{ user: "{USER}", password: "{CANARY}" }}\n'
CELLS = (
    "%load_ext kmnb\nimport kmnb, logging\nlogging.basicConfig(level=logging.DEBUG)",
    "ws = kmnb.connect(thread='t')\nws",
    "%artifact connect",
    "print(repr(ws), str(ws), ws.url, ws.settings, ws.context)",
    "art = ws.put('line\\n' * 5000, tool='t')\nart",
    "print(art.envelope(), vars(art))",
    "art.preview_widget()",
    "ws.browser()",
    "%artifact doctor",
    "%artifact ls",
    "%config",
    "%config KmnbMagics",
    "store = kmnb.open_store(BAD)\nstore.head('a/b')",
    "%artifact connect nats://keeper:tr0ub4dor-canary-wrong@127.0.0.1:1",
    "%artifact connect nosuch://keeper:tr0ub4dor-canary@host/x",
    "%config KmnbMagics.short_errors = False",
    "%artifact head default/nocrew/t/a/b-9",
    "ws.get('nope')",
    "%%compute\nimport os; print(dict(os.environ))",
    "%artifact close",
)


@pytest.fixture(scope="module")
def server() -> Iterator[NatsServer]:
    found = NatsServer(CONFIG)
    yield found
    found.stop()


@pytest.fixture(scope="module")
def url(server: NatsServer) -> str:
    return server.url.replace("nats://", f"nats://{USER}:{CANARY}@")


def test_a_notebook_shows_no_secret(url, tmp_path):
    cells = [f"BAD = {url.replace(CANARY, CANARY + chr(45) + chr(119))!r}"]
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in (*cells, *CELLS)])
    client = NotebookClient(made, allow_errors=True, resources={"metadata": {"path": str(tmp_path)}})
    client.execute(env=surroundings(tmp_path, KMNB_URL=url))
    # The first cell holds the wrong password in its source, as two of the others do; their outputs must not.
    outputs = [cell.outputs for cell in made.cells]
    assert json.dumps(outputs).count("default/nocrew/t/") > 3
    assert any("StoreDenied" in json.dumps(output) or "StoreUnavailable" in json.dumps(output) for output in outputs)
    told = {n: json.dumps(output) for n, output in enumerate(outputs) if CANARY in json.dumps(output)}
    # A traceback that was asked for quotes the line of the cell, which the person wrote.
    assert {n: text for n, text in told.items() if CANARY not in made.cells[n].source} == {}
    assert CANARY not in json.dumps(made.metadata)


def test_the_command_line_shows_no_secret(url, tmp_path):
    wrong = url.replace(CANARY, f"{CANARY}-wrong")
    calls = [
        ["connect"], ["connect", "--json"], ["doctor"], ["ls"], ["head", "a/b/c/d/e-0"], ["ls", "--url", wrong],
        ["ls", "--url", f"nats://{USER}:{CANARY}@127.0.0.1:1"], ["ls", "--url", f"nosuch://{USER}:{CANARY}@x"],
        ["threads"], ["gc", "--dry-run"], ["config", "show"],
    ]  # fmt: skip
    for call in calls:
        done = subprocess.run(
            [sys.executable, "-X", "dev", "-m", "kmnb", *call], env=surroundings(tmp_path, KMNB_URL=url),
            capture_output=True, text=True, timeout=60, cwd=ROOT, check=False,
        )  # fmt: skip
        assert CANARY not in done.stdout + done.stderr, call


def test_the_server_tells_and_logs_no_secret(url, tmp_path):
    with running_server(tmp_path, "--debug", KMNB_URL=url) as server:
        replies = [
            server.ask(path).body
            for path in (
                "kmnb/artifacts",
                "kmnb/artifacts/a/b/c/d/e-0",
                "kmnb/operations",
                "kmnb/sips/head/a/b/c/d/e-0",
            )
        ]
    with running_server(tmp_path, "--debug", KMNB_URL=url.replace(CANARY, f"{CANARY}-wrong")) as server:
        reply = server.ask("kmnb/artifacts")
        replies.append(reply.body)
    assert reply.status in (502, 503)
    assert reply.json["code"].startswith("store")
    assert all(CANARY.encode() not in body for body in replies)
    assert CANARY not in (tmp_path / "server.log").read_text()


def test_no_file_that_kmnb_writes_holds_the_secret(url, tmp_path):
    environment = surroundings(tmp_path, KMNB_URL=url)
    for call in (["ipython", "enable"], ["put", str(ROOT / "LICENSE"), "--tool", "t", "--thread", "files"]):
        subprocess.run(
            [sys.executable, "-m", "kmnb", *call],
            env=environment,
            capture_output=True,
            timeout=60,
            cwd=ROOT,
            check=True,
        )
    files = [path for path in Path(tmp_path).rglob("*") if path.is_file()]
    assert files
    assert [path for path in files if CANARY.encode() in path.read_bytes()] == []
