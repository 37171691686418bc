"""Talk to a kernel whose every message may be forged.

Only messages that answer the own request count; of rich results only ``text/plain`` passes unless more was asked for;
payloads, comms and questions to the user are never looked at; what is kept is capped and what is sent is counted. The
deadline is on the reply, not on "idle", which a program can forge.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from jupyter_client.asynchronous.client import AsyncKernelClient

from kmnb.core.bounds import MIB
from kmnb.sandbox._output import Keeper
from kmnb.sandbox._pipes import Output
from kmnb.sandbox.kernels._inside import EXIT_CODE

MESSAGE_MAX_BYTES = 8 * MIB
"""Largest message that is taken from a kernel; a larger one ends its connection."""
QUEUE_MESSAGES = 1000
"""Messages that wait on our side of a kernel's socket."""
IDLE_SECONDS = 0.25
"""How long output is still waited for after the reply."""
READY_SECONDS = 20.0
"""Longest time from a kernel's start to its first answer."""
SUBSCRIBED_SECONDS = 0.03
"""How long the output of a request is waited for after its reply, before another request is made."""
RECONNECT_MILLISECONDS = 5
"""How soon a socket of a kernel that begins is tried again; the library's own tenth of a second is most of a start."""
DISPLAYS_MAX = 100
"""Most rich results of a cell that are kept."""
_NUMBER = re.compile(r"-?[0-9]{1,18}")
_COLOURS = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


class _Client(AsyncKernelClient):
    """A client whose sockets take bounded messages in bounded number."""

    def _create_connected_socket(self, channel: str, identity: Any = None) -> Any:
        wanted = {
            "maxmsgsize": MESSAGE_MAX_BYTES,
            "rcvhwm": QUEUE_MESSAGES,
            "reconnect_ivl": RECONNECT_MILLISECONDS,
        }
        context, make = self.context, self.context.socket

        def bounded(*arguments: Any, **options: Any) -> Any:
            socket = make(*arguments, **options)
            for name, value in wanted.items():
                setattr(socket, name, value)
            return socket

        # The sockets are made and connected in one step there; the limits count for later connections only.
        context.__dict__["socket"] = bounded
        try:
            return super()._create_connected_socket(channel, identity)
        finally:
            del context.__dict__["socket"]


@dataclass(slots=True)
class Cell:
    """What one cell gave so far."""

    outputs: tuple[Keeper, Keeper]
    """Kept stdout and stderr; results as text go to stdout."""
    on_output: Output | None = None
    """Told of each piece of text as it comes."""
    mimes: frozenset[str] = frozenset({"text/plain"})
    """Types of rich results that pass."""
    displays: list[dict[str, str]] = field(default_factory=list)
    """Rich results, of those types only."""
    idle: asyncio.Event = field(default_factory=asyncio.Event)
    """Whether the kernel said that nothing more comes."""
    status: str = ""
    """``ok`` or ``error`` once the reply is there."""
    exit_code: int = 1
    """What a program would have ended with."""

    @classmethod
    def of(cls, cap_bytes: int, on_output: Output | None, mimes: frozenset[str]) -> Cell:
        """Make one that keeps so many bytes of each output."""
        return cls((Keeper(cap_bytes), Keeper(cap_bytes)), on_output, mimes)

    def text(self, name: str, text: str) -> None:
        """Take a piece of output."""
        self.outputs[name == "stderr"].feed(text.encode("utf-8", "replace"))
        if self.on_output is not None:
            self.on_output(name, text)

    @property
    def written(self) -> int:
        """Bytes of output in all."""
        return sum(one.written for one in self.outputs)


class CellClient:
    """The one client of a kernel.

    Args:
        connection: Content of its connection file, with the sockets as this side sees them.
    """

    def __init__(self, connection: dict[str, Any]) -> None:
        self._client = _Client()
        self._client.load_connection_info(connection)  # type: ignore[arg-type]
        self._client.start_channels(shell=True, iopub=True, stdin=False, hb=False, control=False)  # noqa: S604 - a channel

    async def ready(self) -> None:
        """Wait until the kernel answers and its output arrives here. Raises TimeoutError."""
        async with asyncio.timeout(READY_SECONDS):
            while not await self._heard(self._client.kernel_info()):
                continue

    async def _heard(self, request: str) -> bool:
        """Wait for the reply to a request, and tell whether its output came too: we may have subscribed too late."""
        await _answer(self._client.shell_channel, request)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(SUBSCRIBED_SECONDS):
                await _answer(self._client.iopub_channel, request)
                return True
        return False

    async def execute(self, code: str, cell: Cell, *, most_bytes: int) -> str:
        """Run a cell and take what it gives.

        Args:
            code: Its text.
            cell: Takes the output.
            most_bytes: Bytes of output after which ``output`` is given back and the kernel has to be ended.

        Returns:
            ``ok``, ``error`` or ``output``. Cancel it to give the cell up.
        """
        request = self._client.execute(code, store_history=False, allow_stdin=False, stop_on_error=False)
        reply = asyncio.ensure_future(self._reply(request))
        output = asyncio.ensure_future(self._output(request, cell, most_bytes))
        try:
            done, _ = await asyncio.wait({reply, output}, return_when=asyncio.FIRST_COMPLETED)
            if output in done:
                output.result()
                return "output"
            cell.status, cell.exit_code = await reply
            idle = asyncio.ensure_future(cell.idle.wait())
            await asyncio.wait({output, idle}, timeout=IDLE_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            idle.cancel()
            return "output" if output.done() else cell.status
        finally:
            for task in (reply, output):
                task.cancel()
            await asyncio.gather(reply, output, return_exceptions=True)

    async def _reply(self, request: str) -> tuple[str, int]:
        while True:
            message = await _answer(self._client.shell_channel, request)
            if message["msg_type"] == "execute_reply":
                return status_of(message["content"])

    async def _output(self, request: str, cell: Cell, most_bytes: int) -> None:
        """Take output until there is too much of it."""
        while cell.written <= most_bytes:
            message = await _answer(self._client.iopub_channel, request)
            kind, content = message["msg_type"], message["content"]
            if kind == "status" and content.get("execution_state") == "idle":
                # Forged or not: what comes after it is taken too, for as long as the reply is not there.
                cell.idle.set()
            take_output(cell, kind, content)

    def close(self) -> None:
        """Let go of the sockets."""
        self._client.stop_channels()
        self._client.context.destroy(linger=0)


def status_of(content: Mapping[str, Any]) -> tuple[str, int]:
    """Read the reply to a cell: ``ok`` or ``error``, and what a program would have ended with.

    Leaving by ``sys.exit`` is an error to a kernel; its code is told by ours, and to be guessed from others' text.
    """
    if content.get("status") == "ok":
        return "ok", 0
    told, text = content.get(EXIT_CODE), content.get("evalue")
    if isinstance(told, int) and not isinstance(told, bool):
        return "error", told & 0xFF
    if content.get("ename") != "SystemExit":
        return "error", 1
    if text in ("", "None"):
        return "error", 0
    return "error", int(text) & 0xFF if isinstance(text, str) and _NUMBER.fullmatch(text) else 1


def take_output(cell: Cell, kind: str, content: Any) -> None:
    """Take one message of the output channel; whatever is not of the few known forms is passed over."""
    if not isinstance(content, dict):
        return
    if kind == "stream" and isinstance(content.get("text"), str):
        cell.text("stderr" if content.get("name") == "stderr" else "stdout", content["text"])
    elif kind in ("execute_result", "display_data") and isinstance(content.get("data"), dict):
        _take_display(cell, content["data"])
    elif kind == "error" and content.get("ename") == "SystemExit":
        # From a kernel that is not ours; the reply tells the exit code.
        told = content.get("evalue")
        if isinstance(told, str) and told not in ("", "None") and not _NUMBER.fullmatch(told):
            cell.text("stderr", told + "\n")
    elif kind == "error":
        lines = [line for line in _texts(content.get("traceback")) if line] or [str(content.get("ename"))]
        cell.text("stderr", _COLOURS.sub("", "\n".join(lines)) + "\n")


def _take_display(cell: Cell, data: dict[Any, Any]) -> None:
    passed = {kind: text for kind, text in data.items() if kind in cell.mimes and isinstance(text, str)}
    if passed and len(cell.displays) < DISPLAYS_MAX:
        cell.displays.append(passed)
    if isinstance(data.get("text/plain"), str):
        cell.text("stdout", data["text/plain"] + "\n")


def _texts(value: Any) -> Iterable[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


async def _answer(channel: Any, request: str) -> dict[str, Any]:
    """Wait for the next message that belongs to a request."""
    while True:
        message = await _next(channel)
        if message["parent_header"].get("msg_id") == request:
            return message


async def _next(channel: Any) -> dict[str, Any]:
    """Wait for the next message that can be read at all."""
    while True:
        try:
            message = await channel.get_msg(timeout=60)
        except Exception:
            if channel.socket is None or channel.socket.closed:
                raise
            continue
        if isinstance(message, dict) and all(
            isinstance(message.get(one), dict) for one in ("parent_header", "content")
        ):
            return message
