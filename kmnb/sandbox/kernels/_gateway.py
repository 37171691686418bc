"""Run a cell on a remote kernel, through a Jupyter Kernel Gateway or a Jupyter Server.

The gateway does the scheduling. Artifacts are pushed over the kernel's own channel, so no credentials of the store
travel. How isolated the kernel is cannot be tested from here: such runs have level 0 and have to be asked for.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import os
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from tornado.httpclient import AsyncHTTPClient, HTTPClientError, HTTPRequest
from tornado.simple_httpclient import HTTPStreamClosedError, HTTPTimeoutError
from tornado.websocket import WebSocketClientConnection, WebSocketError, websocket_connect

from kmnb.core.bounds import MIB, OUTPUT_MAX_BYTES, RUN_SECONDS
from kmnb.core.outcome import Outcome
from kmnb.errors import BadRequest, BoundExceeded, SandboxUnavailable
from kmnb.sandbox._api import check_level
from kmnb.sandbox._arguments import Listener, check_facts, check_names, check_shown_folder
from kmnb.sandbox._limits import Limits, check_code
from kmnb.sandbox._output import Keeper
from kmnb.sandbox._pipes import Output
from kmnb.sandbox._reasons import reason_of
from kmnb.sandbox._receipts import Ending, Finished, Inputs, Isolation, make_outcome
from kmnb.sandbox.kernels._client import IDLE_SECONDS, MESSAGE_MAX_BYTES, Cell, status_of, take_output

ANSWER_SECONDS = 30.0
"""Longest time that the gateway may take to start a kernel or to take a file."""
PUSHED_MAX_BYTES = 64 * MIB
"""Largest size of all artifacts together that are pushed to a remote kernel."""
TOKENS = ("KMNB_REMOTE_TOKEN", "JUPYTER_GATEWAY_AUTH_TOKEN")
"""Variables that may hold a gateway's token; the second is the one of Jupyter's own clients."""
_PIECE_BYTES = 1 << 19
_FAULTS = (OSError, TimeoutError, HTTPClientError, HTTPStreamClosedError, HTTPTimeoutError, WebSocketError)
_REMOTE = Isolation(
    0,
    "gateway",
    {"scheduling": "the gateway's", "isolation": "not known"},
    ("everything: the isolation of a remote kernel cannot be tested from here",),
)
_PREPARE = """
import base64, os, tempfile
os.environ["KMNB_ARTIFACTS"] = tempfile.mkdtemp(prefix="kmnb-artifacts-")
def _kmnb_put(name, piece, begin):
    path = os.path.join(os.environ["KMNB_ARTIFACTS"], *name.split("/"))
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb" if begin else "ab") as file:
        file.write(base64.b64decode(piece))
"""


async def run_remote(
    code: str,
    *,
    url: str,
    token: str | None = None,
    kernel_name: str = "python3",
    timeout_seconds: float = RUN_SECONDS,
    max_output_bytes: int = OUTPUT_MAX_BYTES,
    required_level: int = 2,
    artifacts_folder: Path | None = None,
    artifacts: Sequence[Mapping[str, Any]] = (),
    on_output: Output | None = None,
    mimes: Sequence[str] = ("text/plain",),
) -> Outcome:
    """Run a Python cell in a fresh kernel of a gateway.

    Args:
        code: Text of the cell.
        url: Address of the gateway, ``http`` or ``https``, without user info.
        token: The gateway's token; it is sent to the gateway alone. None looks into :data:`TOKENS`.
        kernel_name: Kernelspec that the gateway starts.
        timeout_seconds: Wall-clock limit of the cell; above 0, at most 300.
        max_output_bytes: Bytes kept of stdout and of stderr each.
        required_level: Has to be 0, in plain sight.
        artifacts_folder: Materialised artifacts, which are pushed to the kernel; at most 64 MiB.
        artifacts: Facts of these artifacts, for the receipt.
        on_output: Called with each piece of output as it comes, on kmnb's own thread.
        mimes: Types of rich results that pass into ``displays``.

    Returns:
        What it gave, as for a cell of this machine.

    Raises:
        BadRequest: An address that cannot be meant.
        BoundExceeded: More artifacts than are pushed.
        SandboxUnavailable: A level above 0 was asked for, or the gateway does not give a kernel.
    """
    limits = Limits.of(timeout_seconds, max_output_bytes, None)
    text, heard, facts = check_code(code).decode(), Listener(on_output), check_facts(artifacts)
    folder = check_shown_folder("artifacts_folder", artifacts_folder)
    check_level(_REMOTE, required_level)
    cell = Cell.of(limits.output_bytes, heard, frozenset(check_names("mimes", mimes, example='["text/plain"]')))
    gateway = _Remote(url, next(filter(None, map(os.environ.get, TOKENS)), "") if token is None else token)
    (kernel_name,) = check_names("kernel_name", [kernel_name], example='"python3"')
    ending = await _in_fresh_kernel(gateway, kernel_name, folder=folder, run=(text, cell, limits))
    return make_outcome(
        code,
        Finished(ending, cell.outputs, heard.notes, tuple(cell.displays)),
        language="python",
        interpreter=f"{kernel_name} of a gateway",
        limits=limits,
        isolation=_REMOTE,
        inputs=Inputs(facts),
    )


async def _in_fresh_kernel(
    gateway: _Remote, kernel_name: str, *, folder: Path | None, run: tuple[str, Cell, Limits]
) -> Ending:
    """Have a kernel, push the artifacts to it, and run the cell; errors tell of the gateway, not of its token."""
    files = list(_pieces(folder))
    try:
        async with gateway.kernel(kernel_name) as remote:
            await remote.quietly(_PREPARE)
            for name, piece, begin in files:
                await remote.quietly(f"_kmnb_put({name!r}, {base64.b64encode(piece)!r}, {begin})")
            await remote.quietly("del _kmnb_put")
            code, cell, limits = run
            return await _timed(remote, code, cell, limits=limits)
    except _FAULTS as error:
        why = f"gave no kernel ({type(error).__name__}: {error})"
        step = "See whether it runs there and takes this token."
        raise SandboxUnavailable(f"the gateway {urlsplit(gateway.url).hostname}", why, step) from None


async def _timed(remote: _Remote, code: str, cell: Cell, *, limits: Limits) -> Ending:
    begin = time.monotonic()
    try:
        async with asyncio.timeout(limits.timeout_seconds):
            status = await remote.execute(code, cell, most_bytes=limits.written_bytes)
    except TimeoutError:
        return Ending(-1, "timeout", time.monotonic() - begin)
    seconds = time.monotonic() - begin
    if status == "output":
        return Ending(-9, "output", seconds)
    reason, by = reason_of(cell.exit_code, None, cell.outputs[1].text()[0])
    return Ending(cell.exit_code, reason, seconds, by)


def _pieces(folder: Path | None) -> Iterator[tuple[str, bytes, bool]]:
    """Cut the artifacts into what one message takes."""
    found = folder.rglob("*") if folder is not None else ()
    # What a link leads to was not meant to travel.
    paths = sorted(path for path in found if path.is_file() and not path.is_symlink())
    size = sum(path.stat().st_size for path in paths)
    if size > PUSHED_MAX_BYTES:
        step = "Name fewer artifacts, or run on this machine."
        raise BoundExceeded("artifacts for a remote kernel", f"{size} bytes", step, limit="PUSHED_MAX_BYTES")
    for path in paths:
        with path.open("rb") as file:
            begin = True
            while (piece := file.read(_PIECE_BYTES)) or begin:
                yield path.relative_to(folder or path).as_posix(), piece, begin
                begin = False


def _plain(text: Any) -> bool:
    """Tell whether something can stand in a header or an address."""
    return isinstance(text, str) and text.isascii() and text.isprintable()


class _Remote:
    """One kernel of a gateway, over its websocket."""

    def __init__(self, url: str, token: str) -> None:
        step = "Write http(s)://HOST[:PORT] without user info."
        if not _plain(url) or not _plain(token):
            raise BadRequest("the gateway's address or token", "is no text, or has characters that none has", step)
        try:
            parts = urlsplit(url)
            known = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
        except ValueError:
            known = False
        if not known or parts.username is not None:
            raise BadRequest("the gateway's address", "is no address of a gateway", step)
        self.url = url.rstrip("/")
        self.headers = {"Authorization": f"token {token}"} if token else {}
        self.number, self.session = "", uuid.uuid4().hex
        self.socket: WebSocketClientConnection | None = None

    async def _ask(self, method: str, path: str, body: Any = None) -> Any:
        request = HTTPRequest(
            self.url + path,
            method,
            headers=self.headers,
            body=json.dumps(body) if body is not None else None,
            request_timeout=ANSWER_SECONDS,
        )
        answer = await AsyncHTTPClient().fetch(request)
        return json.loads(answer.body) if answer.body else None

    @contextlib.asynccontextmanager
    async def kernel(self, name: str) -> Any:
        """Start a kernel, and end it in any case."""
        self.number = str((await self._ask("POST", "/api/kernels", {"name": name}))["id"])
        path = f"/api/kernels/{quote(self.number, safe='')}"
        try:
            address = "ws" + self.url.removeprefix("http") + f"{path}/channels?session_id={self.session}"
            request = HTTPRequest(address, headers=self.headers, connect_timeout=ANSWER_SECONDS)
            self.socket = await websocket_connect(request, max_message_size=MESSAGE_MAX_BYTES)
            yield self
        finally:
            if self.socket is not None:
                self.socket.close()
            with contextlib.suppress(*_FAULTS):
                await self._ask("DELETE", path)

    async def quietly(self, code: str) -> None:
        """Run something of our own; raises OSError when the kernel refuses it."""
        cell = Cell((Keeper(4096), Keeper(4096)))
        async with asyncio.timeout(ANSWER_SECONDS):
            if await self.execute(code, cell, most_bytes=MIB) != "ok":
                raise OSError(0, cell.outputs[1].text()[0][-200:] or "the kernel refused the artifacts")

    async def execute(self, code: str, cell: Cell, *, most_bytes: int) -> str:
        """Run code and take what it gives: ``ok``, ``error`` or ``output``."""
        assert self.socket is not None
        request = uuid.uuid4().hex
        content = {"code": code, "silent": False, "store_history": False, "allow_stdin": False, "stop_on_error": False}
        header = {"msg_id": request, "msg_type": "execute_request", "session": self.session, "username": "",
                  "version": "5.3", "date": ""}  # fmt: skip
        message = {"channel": "shell", "header": header, "parent_header": {}, "metadata": {}, "content": content}
        await self.socket.write_message(json.dumps(message | {"buffers": []}))
        status = ""
        while not (status and cell.idle.is_set()):
            told = await self._next(IDLE_SECONDS if status else None)
            if told is None:
                break
            kind, inner = told.get("msg_type") or told["header"].get("msg_type"), told.get("content")
            if told["parent_header"].get("msg_id") != request or not isinstance(inner, dict):
                continue
            if told.get("channel") == "shell" and kind == "execute_reply":
                status, cell.exit_code = status_of(inner)
            elif told.get("channel") == "iopub":
                if kind == "status" and inner.get("execution_state") == "idle":
                    cell.idle.set()
                take_output(cell, str(kind), inner)
            if cell.written > most_bytes:
                return "output"
        return status

    async def _next(self, seconds: float | None) -> dict[str, Any] | None:
        """Wait for a message that can be read; None when none came in time. Raises OSError at the end."""
        assert self.socket is not None
        while True:
            try:
                async with asyncio.timeout(seconds):
                    raw = await self.socket.read_message()
            except TimeoutError:
                if seconds is None:
                    raise
                return None
            if raw is None:
                raise ConnectionResetError("the gateway closed the channel")
            with contextlib.suppress(ValueError, RecursionError):
                told = json.loads(raw)
                if isinstance(told, dict) and all(
                    isinstance(told.get(one), dict) for one in ("header", "parent_header")
                ):
                    return told
