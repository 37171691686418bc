"""A lasting process that looks at large content while it is stored, so that the look and the put share no lock.

It is started when the first large content was stored, for those that follow, and ends with the interpreter. Blocks
reach it through shared memory. It serves one put at a time; others, and those before it is ready, look themselves.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import subprocess
import sys

from kmnb._bridge import on_exit
from kmnb.core.bounds import MIB, WINDOW_BYTES
from kmnb.storage._threads import in_thread

FROM_BYTES = 4 * MIB
"""Content of at least this size is handed over; smaller content is looked at before it would have arrived."""
SLOTS = 8
"""Blocks that may wait in shared memory."""
TOLD_SLOTS = 4
"""Blocks after which the process tells that it has seen them; to hear of each would take longer than to send it."""
STEP_SECONDS = 60.0
"""How long the process may take over one block, or over the end, before it counts as lost."""
REST_SECONDS = 300.0
"""How long the process stays with nothing to do; it holds some tens of megabytes."""
_MEMORY = {"MALLOC_MMAP_THRESHOLD_": str(64 * MIB), "MALLOC_TRIM_THRESHOLD_": str(64 * MIB)}
# Else the C library gives memory back after every block and gets it again, which takes longer than the look.
_BOOT = "import sys, json; sys.path[:] = json.loads(sys.argv[1]); from kmnb.ops._inspector_main import main; main()"


class InspectorLost(Exception):
    """The process ended, hangs, or could not look at the content."""


class InspectorProcess:
    """The process, its shared memory, and the put that it serves."""

    def __init__(self) -> None:
        import mmap

        self.loop = asyncio.get_running_loop()
        self.is_ready = self.is_busy = self.is_over = False
        self._memory_file = os.memfd_create("kmnb-inspector")
        os.ftruncate(self._memory_file, SLOTS * WINDOW_BYTES)
        self._memory = mmap.mmap(self._memory_file, SLOTS * WINDOW_BYTES)
        self._process: subprocess.Popen[bytes] | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._resting: asyncio.TimerHandle | None = None
        self._sent = self._seen = 0
        self._forget = on_exit(self.close)
        self._starting = asyncio.ensure_future(self._start())

    async def _start(self) -> None:
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                opening = asyncio.ensure_future(in_thread(lambda: self._popen(theirs.fileno())))
                try:
                    self._process = await asyncio.shield(opening)
                except asyncio.CancelledError:
                    # The thread makes a process all the same, and nobody else would end it.
                    self._process = await opening
                    raise
            self._reader, self._writer = await asyncio.open_connection(sock=ours)
            await self._read(1)
            self.is_ready = True
        except (OSError, InspectorLost):
            self.end()
        finally:
            if self._writer is None:
                ours.close()

    def _popen(self, control: int) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-I", "-S", "-c", _BOOT, json.dumps([path for path in sys.path if path])]
        return subprocess.Popen(  # noqa: S603 - this interpreter
            [*command, str(self._memory_file)],
            stdin=control,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=_MEMORY,
            cwd="/",
            pass_fds=[self._memory_file],
            start_new_session=True,
        )

    def begin(self, media_type: str | None, name: str | None) -> None:
        """Begin with other content."""
        self.is_busy = True
        if self._resting is not None:
            self._resting.cancel()
        order = json.dumps([media_type, name]).encode()
        self._send(b"S", len(order), order)

    async def feed(self, block: bytes | memoryview) -> None:
        """Hand a block over, at most a window; waits for room.

        Raises:
            InspectorLost: The process is gone.
        """
        while self._sent - self._seen >= SLOTS:
            await self._see()
        start = self._sent % SLOTS * WINDOW_BYTES
        self._memory[start : start + len(block)] = block
        self._sent += 1
        self._send(b"B", len(block))

    async def finish(self) -> dict[str, str]:
        """Give what was found, as attributes of the object; other content may come then.

        Raises:
            InspectorLost: The process is gone, or content made it fail.
        """
        self._send(b"E", 0)
        while self._seen < self._sent // TOLD_SLOTS * TOLD_SLOTS:
            await self._see()
        head = await self._read(9)
        body = await self._read(int.from_bytes(head[1:], "big"))
        self.is_busy = False
        self._resting = self.loop.call_later(REST_SECONDS, self.end)
        if head[:1] != b"R":
            raise InspectorLost(body.decode("utf-8", "replace"))
        facts: dict[str, str] = json.loads(body)
        return facts

    def end(self) -> None:
        """Kill the process; nobody uses it any more."""
        self.is_over, self.is_ready = True, False
        self._forget()
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        if self._writer is not None:
            self._writer.close()
        if self._resting is not None:
            self._resting.cancel()
        if self._memory_file >= 0:
            self._memory.close()
            os.close(self._memory_file)
            self._memory_file = -1

    async def close(self) -> None:
        """End it together with the interpreter."""
        self._starting.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._starting
        self.end()

    async def _see(self) -> None:
        await self._read(1)
        self._seen += TOLD_SLOTS

    async def _read(self, size: int) -> bytes:
        try:
            return await asyncio.wait_for(self._reader.readexactly(size), STEP_SECONDS)
        except TimeoutError:
            raise InspectorLost(f"it took longer than {STEP_SECONDS:g} s") from None
        except (OSError, asyncio.IncompleteReadError):
            raise InspectorLost("its process ended") from None

    def _send(self, kind: bytes, number: int, body: bytes = b"") -> None:
        # The other end waits for every message, so that nothing gathers here.
        assert self._writer is not None
        self._writer.write(kind + number.to_bytes(8, "big") + body)


_present: InspectorProcess | None = None


def _after_fork() -> None:
    global _present, _parents
    # Kept, since what would be cleaned up here is the parent's.
    _present, _parents = None, _present


_parents: InspectorProcess | None = None
os.register_at_fork(after_in_child=_after_fork)


def is_large(size: int | None) -> bool:
    """Tell whether content of a size is for the process; not where nobody knows the size, or there is one core."""
    return size is not None and size >= FROM_BYTES and _is_possible()


def take_process() -> InspectorProcess | None:
    """Give the process; None where it is not there yet, or serves another put."""
    if _present is None or _present.is_over or _present.loop is not asyncio.get_running_loop():
        return None
    return _present if _present.is_ready and not _present.is_busy else None


def prepare_process() -> None:
    """Have the process started where there is none; nobody waits for it, and nothing comes of a failure."""
    global _present  # noqa: PLW0603 - one process an interpreter is the point of this module
    if _present is None or _present.is_over:
        with contextlib.suppress(OSError):
            _present = InspectorProcess()


def _is_possible() -> bool:
    return hasattr(os, "memfd_create") and bool(sys.executable) and len(os.sched_getaffinity(0)) > 1
