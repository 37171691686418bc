"""Peers of the notebook side in an environment of their own, a real kernel there, and a server that counts bytes."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import threading
import time
import venv
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.children import ROOT

SECONDS = 300
INSTALL_SECONDS = 1800
"""Longest that pip may take for one peer: together they are some hundred packages, on a slow disk without a cache."""
BASE = ("ipykernel", "pandas", "pyarrow", "polars", "fsspec", "aiohttp", "six")
"""What every peer finds there; without the last one buckaroo does not import."""


class Environment:
    """A throw-away environment with kmnb and those peers that could be installed.

    Args:
        folder: Where it is made; whoever made the folder removes it.
        peers: Packages of each peer by its name.
    """

    def __init__(self, folder: Path, peers: dict[str, tuple[str, ...]]) -> None:
        self.folder, self.missing = folder, dict[str, str]()
        venv.create(folder / "venv", with_pip=True)
        self.python = folder / "venv" / "bin" / "python"
        if (reason := self._install(*BASE, f"{ROOT}[arrow]")) is not None:
            raise AssertionError(f"the environment of the peers cannot be made: {reason}")
        for name, packages in peers.items():
            if (reason := self._install(*packages)) is not None:
                self.missing[name] = reason

    def _install(self, *packages: str) -> str | None:
        """Install packages; give the reason where that fails."""
        command = [str(self.python), "-m", "pip", "install", "-qq", "--disable-pip-version-check", *packages]
        # What pip needs here (registries, certificates, its cache) stands in variables and in the person's own folder.
        surroundings = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False, env=surroundings
            )
        except subprocess.TimeoutExpired:
            return f"pip took more than {INSTALL_SECONDS} s"
        errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR")] or done.stderr.splitlines()
        return None if done.returncode == 0 else (errors[-1] if errors else f"pip ended with {done.returncode}")[:160]

    def surroundings(self, **more: str) -> dict[str, str]:
        """Variables of a program in there: its own folders, nothing of this process' Python."""
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
        own = {"HOME": str(self.folder), "IPYTHONDIR": str(self.folder / "ipython"), "PYTHONNOUSERSITE": "1"}
        return kept | own | more

    def run(self, program: str, *arguments: str) -> Any:
        """Run a program that prints JSON on its last line; its error is an AssertionError."""
        done = subprocess.run(
            [str(self.python), "-W", "ignore", "-c", program, *arguments],
            capture_output=True, text=True, timeout=SECONDS, check=False, env=self.surroundings(), cwd=self.folder,
        )  # fmt: skip
        if done.returncode:
            raise AssertionError((done.stderr.strip().splitlines() or ["it said nothing"])[-1][:160])
        return json.loads(done.stdout.splitlines()[-1])

    @contextlib.contextmanager
    def kernel(self) -> Iterator[MeasuredKernel]:
        """Start an ipykernel in there, and end it."""
        from jupyter_client.kernelspec import KernelSpecManager
        from jupyter_client.manager import KernelManager

        spec = self.folder / "kernels" / "peer"
        spec.mkdir(parents=True, exist_ok=True)
        argv = [str(self.python), "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        spec.joinpath("kernel.json").write_text(json.dumps({"argv": argv, "display_name": "p", "language": "python"}))
        specs = KernelSpecManager(kernel_dirs=[str(spec.parent)])
        manager = KernelManager(kernel_name="peer", kernel_spec_manager=specs)
        manager.start_kernel(env=self.surroundings(KMNB_QUIET="1"), cwd=str(self.folder))
        client = manager.client()
        client.start_channels()
        try:
            client.wait_for_ready(timeout=60)
            yield MeasuredKernel(client)
        finally:
            client.stop_channels()
            manager.shutdown_kernel(now=True)
            manager.cleanup_resources()
            manager.context.destroy(linger=0)

    def remove(self) -> None:
        """Take it away."""
        shutil.rmtree(self.folder, ignore_errors=True)


class MeasuredKernel:
    """A kernel whose cells are timed and whose messages are weighed."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def run(self, code: str) -> dict[str, Any]:
        """Run a cell; give its milliseconds, bytes that it published, its printed text, lines of script-free HTML."""
        begun = time.perf_counter()
        request = self._client.execute(code)
        weight, pieces, printed = 0, [], ""
        shown = False
        while True:
            message = self._client.get_iopub_msg(timeout=SECONDS)
            if message["parent_header"].get("msg_id") != request:
                continue
            kind, content = message["msg_type"], message["content"]
            if kind == "error":
                raise AssertionError(f"{content['ename']}: {content['evalue']}"[:160])
            if kind == "stream" and content["name"] == "stderr" and "Error" in content["text"]:
                raise AssertionError(content["text"].splitlines()[0][:160])
            if kind == "status" and content["execution_state"] == "idle":
                break
            if kind not in ("status", "execute_input"):
                weight += len(json.dumps(content, default=str).encode())
                weight += sum(memoryview(one).nbytes for one in message.get("buffers") or ())
                pieces.append(str(content.get("data", {}).get("text/html", "")))
                shown = shown or "data" in content
                printed += content.get("text", "")
        taken = (time.perf_counter() - begun) * 1000
        html = re.sub(r"<script.*?</script>", "", "".join(pieces), flags=re.DOTALL)
        body = re.sub(r"<thead.*?</thead>|<style.*?</style>", "", html, flags=re.DOTALL)
        # A row of a table is a line, and so is one of a preformatted text.
        lines = len(re.findall(r"<tr[ >]", body))
        lines += sum(text.count("\n") + 1 for text in re.findall(r"<pre>(.*?)</pre>", body, re.DOTALL))
        return {"ms": taken, "bytes": weight, "lines": lines, "shown": shown, "printed": printed.strip()}


@contextlib.contextmanager
def counting_server(path: Path) -> Iterator[tuple[str, list[int]]]:
    """Serve one file with ranges; give its address and the bytes of each answer."""
    moved: list[int] = []
    size = path.stat().st_size

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_HEAD(self) -> None:
            self._begin(200, size)

        def do_GET(self) -> None:
            asked = re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range", ""))
            start, end = 0, size
            if asked and asked[1]:
                start, end = int(asked[1]), min(size, int(asked[2]) + 1 if asked[2] else size)
            elif asked:
                start = max(0, size - int(asked[2]))
            self._begin(206 if asked else 200, end - start, f"bytes {start}-{end - 1}/{size}")
            sent = 0
            try:
                with path.open("rb") as file:
                    file.seek(start)
                    while sent < end - start:
                        block = file.read(min(1 << 16, end - start - sent))
                        self.wfile.write(block)
                        sent += len(block)
            except ConnectionError:
                self.close_connection = True
            moved.append(sent)

        def _begin(self, status: int, length: int, range_told: str | None = None) -> None:
            self.send_response(status)
            self.send_header("Accept-Ranges", "bytes")
            self.send_header("Content-Length", str(length))
            self.send_header("Content-Type", "application/octet-stream")
            if range_told is not None and status == 206:
                self.send_header("Content-Range", range_told)
            self.end_headers()

        def log_message(self, *arguments: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/{path.name}", moved
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)
