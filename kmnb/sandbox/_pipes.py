"""Drain the two outputs of a run, for as long as they last, without keeping more than the cap."""

from __future__ import annotations

import asyncio
import codecs
import os
from collections.abc import Callable

from kmnb.sandbox._output import Keeper

Output = Callable[[str, str], None]
"""Called with ``stdout`` or ``stderr`` and a piece of text, as it comes."""
BLOCK_BYTES = 65_536
HELD_SECONDS = 0.25
"""How long an output is waited for that somebody still holds open after the program's end."""


class Pipes:
    """Reading ends of stdout and stderr on the running loop, and writing ends to hand on.

    Args:
        cap_bytes: Bytes kept of each.
        most_bytes: Bytes of both together after which ``overflow`` is called.
        overflow: Called once.
        on_output: Called with ``stdout`` or ``stderr`` and each piece of text as it comes.
    """

    def __init__(
        self, cap_bytes: int, *, most_bytes: int, overflow: Callable[[], None], on_output: Output | None = None
    ) -> None:
        self.keepers = Keeper(cap_bytes), Keeper(cap_bytes)
        self.most, self.overflow = most_bytes, overflow
        self._loop = asyncio.get_running_loop()
        self._ends = [os.pipe2(os.O_CLOEXEC) for _ in self.keepers]
        self._closed = [self._loop.create_future() for _ in self.keepers]
        names = ("stdout", "stderr")
        for (reading, _), keeper, closed, name in zip(self._ends, self.keepers, self._closed, names, strict=True):
            os.set_blocking(reading, False)
            self._loop.add_reader(reading, self._take, reading, _feeder(keeper, name, on_output), closed)

    @property
    def writing(self) -> list[int]:
        """The two ends for the program."""
        return [writing for _, writing in self._ends]

    def hand_over(self) -> None:
        """Close our copies of the writing ends, once somebody else has them."""
        for _, writing in self._ends:
            os.close(writing)
        self._ends = [(reading, -1) for reading, _ in self._ends]

    def _take(self, reading: int, feed: Callable[[bytes], object], closed: asyncio.Future[None]) -> None:
        try:
            block = os.read(reading, BLOCK_BYTES)
        except BlockingIOError:
            return
        if not block:
            self._loop.remove_reader(reading)
            closed.set_result(None)
            return
        feed(block)
        if self.overflow is not None and sum(one.written for one in self.keepers) > self.most:
            self.overflow, overflow = lambda: None, self.overflow
            overflow()

    async def finish(self) -> None:
        """Take what is still under way after the program's end."""
        await asyncio.wait(self._closed, timeout=HELD_SECONDS)

    def close(self) -> None:
        """Close all ends."""
        for reading, writing in self._ends:
            self._loop.remove_reader(reading)
            for descriptor in (reading, writing):
                if descriptor >= 0:
                    os.close(descriptor)
        self._ends = []


def _feeder(keeper: Keeper, name: str, on_output: Output | None) -> Callable[[bytes], None]:
    """Make what takes the blocks of one pipe."""
    if on_output is None:
        return keeper.feed
    decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def feed(block: bytes) -> None:
        keeper.feed(block)
        if text := decoder.decode(block):
            on_output(name, text)

    return feed
