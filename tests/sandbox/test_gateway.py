"""Cells on a remote kernel: a real Jupyter Kernel Gateway on loopback."""

from __future__ import annotations

import os
import secrets
import socket
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import kmnb
from kmnb._bridge import run as wait_for
from kmnb.errors import BadRequest, BoundExceeded, SandboxUnavailable
from kmnb.sandbox.kernels import _gateway
from kmnb.sandbox.kernels._gateway import run_remote

TOKEN = secrets.token_hex(16)


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A Jupyter Kernel Gateway on a port of its own, with a token."""
    base = tmp_path_factory.mktemp("gateway")
    told = {f"JUPYTER_{name}_DIR": str(base / name) for name in ("CONFIG", "DATA", "RUNTIME")}
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = ["--ip=127.0.0.1", f"--port={port}", "--JupyterWebsocketPersonality.list_kernels=True"]
    command = [sys.executable, "-m", "kernel_gateway", *options]
    told |= {"KG_AUTH_TOKEN": TOKEN, "KG_PORT_RETRIES": "0"}
    # Its kernels' output goes to the same pipe, which is therefore drained to the end.
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=os.environ | told) as gateway:
        assert gateway.stderr is not None
        said = []
        for line in gateway.stderr:
            said.append(line)
            if "is available at" in line:
                break
        assert gateway.poll() is None, said
        drain = threading.Thread(target=gateway.stderr.read)
        drain.start()
        yield f"http://127.0.0.1:{port}"
        gateway.terminate()
        drain.join(20)
        gateway.wait(20)


def remote(url: str, code: str, **options: Any) -> Any:
    return wait_for(run_remote(code, url=url, token=TOKEN, required_level=0, **options))


def kernels(url: str) -> bytes:
    request = urllib.request.Request(f"{url}/api/kernels", headers={"Authorization": f"token {TOKEN}"})
    with urllib.request.urlopen(request, timeout=10) as answer:
        return answer.read().strip()  # type: ignore[no-any-return]


def test_a_cell_runs_over_pushed_artifacts_at_level_0(url: str, tmp_path: Path) -> None:
    (tmp_path / "ns").mkdir()
    (tmp_path / "ns" / "data.bin").write_bytes(b"x" * 700_000)
    (tmp_path / "empty").write_bytes(b"")
    code = (
        "import os\nw = os.environ['KMNB_ARTIFACTS']\n"
        "print(os.path.getsize(w + '/ns/data.bin'), os.path.getsize(w + '/empty'))\n6 * 7"
    )
    outcome = remote(url, code, artifacts_folder=tmp_path)
    assert (outcome.stdout, outcome.exit_code, outcome.level) == ("700000 0\n42\n", 0, 0), outcome.stderr
    assert outcome.engine == "gateway"
    assert "cannot be tested" in outcome.missing[0]
    assert kernels(url) == b"[]"


def test_an_exception_and_a_deadline_are_outcomes_and_leave_no_kernel(url: str) -> None:
    assert "ZeroDivisionError" in remote(url, "1 / 0").stderr
    outcome = remote(url, "print('early', flush=True)\nimport time; time.sleep(60)", timeout_seconds=1)
    assert (outcome.stdout, outcome.exit_code, outcome.timed_out) == ("early\n", -1, True)
    assert kernels(url) == b"[]"


def test_a_remote_run_has_to_be_asked_for(url: str) -> None:
    with pytest.raises(SandboxUnavailable, match="cannot be tested"):
        wait_for(run_remote("1", url=url, token=TOKEN))


def test_a_wrong_token_and_an_unreachable_gateway_are_told_without_the_token(url: str) -> None:
    for address in (url, "http://127.0.0.1:1"):
        with pytest.raises(SandboxUnavailable, match="gave no kernel") as told:
            wait_for(run_remote("1", url=address, token="wrong-token", required_level=0))
        assert "wrong-token" not in str(told.value)


@pytest.mark.parametrize("address", ["ftp://host", "http://user:pw@host", "host:80", ""])
def test_an_address_that_cannot_be_meant_is_refused(address: str) -> None:
    with pytest.raises(BadRequest, match="without user info") as told:
        wait_for(run_remote("1", url=address, required_level=0))
    assert "pw" not in str(told.value)


def test_too_many_artifacts_are_refused_before_anything_is_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_gateway, "PUSHED_MAX_BYTES", 3)
    (tmp_path / "a").write_bytes(b"1234")
    with pytest.raises(BoundExceeded):
        wait_for(run_remote("1", url="http://127.0.0.1:1", required_level=0, artifacts_folder=tmp_path))


@pytest.fixture
def ws(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setenv("KMNB_REMOTE_TOKEN", TOKEN)
    with kmnb.connect("memory://", thread="t1", agent="tester") as workspace:
        yield workspace


@pytest.mark.parametrize("verb", ["run", "run_cell"])
def test_a_workspace_runs_over_its_artifacts_on_a_gateway(ws: Any, url: str, verb: str) -> None:
    one = ws.put("a\nb\n", tool="pods")
    code = f"import os; print(len(open(os.environ['KMNB_ARTIFACTS'] + '/{one.key}').readlines()))"
    outcome = getattr(ws, verb)(code, artifacts=[one], remote=url, required_level=0)
    assert (outcome.stdout, outcome.engine, outcome.level) == ("2\n", "gateway", 0), outcome.stderr
    assert [read["digest"] for read in outcome.receipt.artifacts] == [one.digest]
    assert TOKEN not in outcome.receipt.to_json()
    assert ws.verify(outcome.receipt).status == "cannot-verify"
    assert kernels(url) == b"[]"


@pytest.mark.parametrize(("options", "error"), [
    ({}, SandboxUnavailable),
    ({"session": "s", "required_level": 0}, BadRequest),
    ({"language": "bash", "required_level": 0}, BadRequest),
])  # fmt: skip
def test_what_a_gateway_cannot_give_is_refused(
    ws: Any, url: str, options: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error):
        ws.run_cell("1", remote=url, **options)
