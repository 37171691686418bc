"""Cells on a remote kernel: a real server on loopback that speaks the gateway's protocol."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kmnb._bridge import run as wait_for
from kmnb.errors import BadRequest, BoundExceeded, SandboxUnavailable
from kmnb.sandbox.kernels import _gateway
from kmnb.sandbox.kernels._gateway import run_remote

TOKEN = secrets.token_hex(16)


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A Jupyter Server on a port of its own, with a token; its REST and channels are those of the Kernel Gateway."""
    base = tmp_path_factory.mktemp("gateway")
    told = {f"JUPYTER_{name}_DIR": str(base / name) for name in ("CONFIG", "DATA", "RUNTIME")}
    options = ["--allow-root", "--no-browser", "--ip=127.0.0.1", "--port=0", f"--IdentityProvider.token={TOKEN}"]
    command = [sys.executable, "-m", "jupyter_server", *options, f"--ServerApp.root_dir={base}"]
    log = base / "log"
    with log.open("wb") as out:
        server = subprocess.Popen(command, stdout=out, stderr=out, env=os.environ | told)
    try:
        yield _address(server, base / "RUNTIME")
    finally:
        server.terminate()
        server.wait(20)


def _address(server: subprocess.Popen[bytes], runtime: Path) -> str:
    """Wait for the file in which the server tells its port."""
    import json
    import time

    deadline = time.monotonic() + 40
    while time.monotonic() < deadline and server.poll() is None:
        for path in runtime.glob("jpserver-*.json"):
            return str(json.loads(path.read_text())["url"]).rstrip("/")
        time.sleep(0.05)  # bounded by the deadline
    raise AssertionError("the server did not start")


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
