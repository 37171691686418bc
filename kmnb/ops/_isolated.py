"""Run a sip in a process of its own that can be killed: empty environment, limited memory, a deadline a step."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from collections.abc import Mapping
from typing import Any

from kmnb import errors
from kmnb.core.bounds import MIB, QUERY_SECONDS
from kmnb.core.records import Problem
from kmnb.core.slice import Slice
from kmnb.errors import BoundExceeded, ExpressionError, KmnbError

LOADED_BYTES_PER_SECOND = 8 * MIB
"""A query over a whole document gets a second more for so many bytes of it."""
_BOOT = "import sys, json; sys.path[:] = json.loads(sys.argv[1]); from kmnb.ops._isolated_main import main; main()"


class IsolatedRun:
    """A sip that is fed over a pipe.

    Args:
        plugin: The sip; its module is imported again in the other process.
        seconds: How long it may take over one step.
    """

    def __init__(self, plugin: Any, *, seconds: float = QUERY_SECONDS) -> None:
        self._name, self._module = plugin.operation.name, type(plugin).__module__
        self._seconds = seconds
        self._process: asyncio.subprocess.Process | None = None
        self._fed = 0
        self.done = self.full = False
        self.skippable = 0
        """How many of the first records need not be fed, as far as the sip has told."""

    async def start(self, arguments: Mapping[str, Any], *, max_bytes: int) -> None:
        """Start the process and the sip in it."""
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-I",
            "-S",
            "-c",
            _BOOT,
            json.dumps([path for path in sys.path if path]),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env={},
            cwd="/",
            start_new_session=True,
            limit=1 << 20,
        )
        order = {"module": self._module, "arguments": dict(arguments), "max_bytes": max_bytes}
        await self._ask(b"S", json.dumps(order).encode())

    async def feed(self, block: bytes) -> None:
        """Hand over the next block and wait until it is eaten."""
        self._fed += len(block)
        self.skippable = int(await self._ask(b"B", block))

    async def resume(self, number: int, line: int) -> None:
        """Tell that the next block begins with a record of a number, on a line, both from 0."""
        await self._ask(b"R", json.dumps([number, line]).encode())

    async def finish(self, *, ended: bool) -> Slice:
        """Give the answer."""
        # A document that is needed whole is only parsed now.
        loading = self._fed / LOADED_BYTES_PER_SECOND
        facts = json.loads(await self._ask(b"E" if ended else b"F", b"", more_seconds=loading))
        facts["problems"] = tuple(Problem(**problem) for problem in facts["problems"])
        facts["notes"] = tuple(facts["notes"])
        return Slice(**facts)

    async def close(self) -> None:
        """Kill the process if it still runs."""
        process = self._process
        if process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
        transport = getattr(process, "_transport", None)
        if transport is not None:
            transport.close()

    async def _ask(self, kind: bytes, body: bytes, *, more_seconds: float = 0.0) -> bytes:
        try:
            return await asyncio.wait_for(self._exchange(kind, body), self._seconds + more_seconds)
        except TimeoutError:
            raise BoundExceeded(
                self._name,
                f"stopped after {self._seconds:g} s",
                "Ask for less, or use run.",
                limit="QUERY_SECONDS",
                value=self._seconds,
                unit="seconds",
            ) from None
        except (BrokenPipeError, ConnectionResetError, asyncio.IncompleteReadError):
            raise BoundExceeded(
                self._name, "its process ended: out of memory, or too deep", "Ask for less, or use run."
            ) from None

    async def _exchange(self, kind: bytes, body: bytes) -> bytes:
        process = self._process
        assert process is not None and process.stdin is not None  # noqa: PT018
        assert process.stdout is not None
        process.stdin.write(kind + len(body).to_bytes(8, "big"))
        process.stdin.write(body)
        await process.stdin.drain()
        head = await process.stdout.readexactly(9)
        reply = await process.stdout.readexactly(int.from_bytes(head[1:], "big"))
        if head[:1] == b"X":
            raise _error(json.loads(reply))
        self.done, self.full = head[:1] == b"D", head[:1] in b"DF"
        return reply


def _error(facts: Mapping[str, Any]) -> KmnbError:
    kind = getattr(errors, str(facts["kind"]), ExpressionError)
    if not (isinstance(kind, type) and issubclass(kind, KmnbError)):
        kind = ExpressionError
    return kind(facts["thing"], facts["reason"], facts["next_step"], **facts["facts"])
