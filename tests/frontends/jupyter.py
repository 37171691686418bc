"""A real Jupyter server and a real kernel for tests, each a process of its own with folders of its own."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import secrets
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.children import ROOT

SECONDS = 60


def surroundings(folder: Path, **more: str) -> dict[str, str]:
    """An environment whose Jupyter and IPython folders are all below one folder."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("JUPYTER", "IPYTHON", "KMNB_"))}
    own = {
        "JUPYTER_CONFIG_DIR": folder / "config", "JUPYTER_DATA_DIR": folder / "data",
        "JUPYTER_RUNTIME_DIR": folder / "runtime", "IPYTHONDIR": folder / "ipython", "HOME": folder,
    }  # fmt: skip
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    return kept | {name: str(value) for name, value in own.items()} | {"PYTHONPATH": path} | more


class Reply:
    """An answer of the server."""

    def __init__(self, status: int, headers: Any, body: bytes) -> None:
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self) -> Any:
        """The body as JSON of a strict parser."""

        def refuse(name: str) -> None:
            raise AssertionError(f"{name} is no JSON")

        return json.loads(self.body, parse_constant=refuse)


class Server:
    """A running server."""

    def __init__(self, process: subprocess.Popen[bytes], base: str, token: str) -> None:
        self.process, self.base, self.token = process, base, token

    def ask(self, path: str, *, method: str = "GET", body: Any = None, token: bool = True, **headers: str) -> Reply:
        """Send one request."""
        data = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.base}{path}", data=data, method=method)
        for name, value in headers.items():
            request.add_header(name.replace("_", "-"), value)
        if token:
            request.add_header("Authorization", f"token {self.token}")
        try:
            with urllib.request.urlopen(request, timeout=SECONDS) as answer:
                return Reply(answer.status, answer.headers, answer.read())
        except urllib.error.HTTPError as error:
            with error:
                return Reply(error.code, error.headers, error.read())


@contextlib.contextmanager
def running_server(folder: Path, *arguments: str, lab: bool = False, **environment: str) -> Iterator[Server]:
    """Start a server with the extension enabled as the wheel enables it, and end it."""
    config = folder / "config" / "jupyter_server_config.d"
    config.mkdir(parents=True, exist_ok=True)
    config.joinpath("kmnb.json").write_text((ROOT / "extensions/server-config/kmnb.json").read_text())
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    token = secrets.token_hex(16)
    command = [
        sys.executable, "-m", "jupyter", "lab" if lab else "server", "--allow-root", "--no-browser",
        "--ip=127.0.0.1", f"--port={port}", "--ServerApp.port_retries=0", f"--IdentityProvider.token={token}",
        f"--ServerApp.root_dir={folder}", "--ServerApp.allow_unauthenticated_access=False", *arguments,
    ]  # fmt: skip
    log = folder / "server.log"
    with log.open("wb") as stream:
        process = subprocess.Popen(
            command, stdout=stream, stderr=stream, env=surroundings(folder, **environment), cwd=folder
        )
    server = Server(process, f"http://127.0.0.1:{port}/", token)
    try:
        wait_until(lambda: _is_up(server), process, log)
        yield server
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(10)


def _is_up(server: Server) -> bool:
    try:
        return server.ask("api/status").status == 200
    except OSError:
        return False


def wait_until(is_true: Any, process: subprocess.Popen[bytes], log: Path) -> None:
    """Wait for a condition while a process lives, for a bounded time."""
    deadline = time.monotonic() + SECONDS
    while not is_true():
        if process.poll() is not None or time.monotonic() > deadline:
            raise AssertionError(log.read_text(errors="replace")[-4000:])
        time.sleep(0.05)


class Kernel:
    """A running kernel and a client of it."""

    def __init__(self, manager: Any, client: Any) -> None:
        self.manager, self.client = manager, client

    def run(self, code: str, *, fails: bool = False) -> list[dict[str, Any]]:
        """Run a cell; give the content of everything that it published."""
        request = self.client.execute(code)
        published = list(self.until_idle(request))
        errors = [content for kind, content in published if kind == "error"]
        assert bool(errors) == fails, errors or published
        return [content | {"kind": kind} for kind, content in published]

    def until_idle(self, request: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """Walk what a request publishes until the kernel is idle again."""
        while True:
            try:
                message = self.client.get_iopub_msg(timeout=SECONDS)
            except queue.Empty:
                raise AssertionError("the kernel said nothing for a minute") from None
            if message["parent_header"].get("msg_id") != request:
                continue
            kind, content = message["msg_type"], message["content"]
            if kind == "status" and content["execution_state"] == "idle":
                return
            if kind not in ("status", "execute_input"):
                yield kind, content

    def text(self, code: str) -> str:
        """Run a cell and give what it printed."""
        return "".join(content["text"] for content in self.run(code) if content["kind"] == "stream")

    def shown(self, code: str) -> dict[str, Any]:
        """Run a cell and give the mime bundle of its value."""
        (content,) = [content for content in self.run(code) if content["kind"] == "execute_result"]
        return dict(content["data"])


@contextlib.contextmanager
def running_kernel(folder: Path, **environment: str) -> Iterator[Kernel]:
    """Start an ipykernel and end it."""
    from jupyter_client.manager import KernelManager

    manager = KernelManager()
    manager.kernel_spec_manager.ensure_native_kernel = True
    manager.start_kernel(env=surroundings(folder, **environment), cwd=str(folder))
    client = manager.client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=SECONDS)
        yield Kernel(manager, client)
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
        manager.cleanup_resources()
        manager.context.destroy(linger=0)
