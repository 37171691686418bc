"""A digest that follows behind: it is that of the bytes in their order, and never far behind."""

from __future__ import annotations

import asyncio
import hashlib
import random
import threading

import pytest

from kmnb._bridge import run
from kmnb.storage import _digest
from kmnb.storage._digest import AHEAD_BYTES, INLINE_BYTES, RunningDigest


def test_it_is_the_digest_of_all_blocks_in_order_whatever_their_sizes() -> None:
    rng = random.Random(1)
    blocks = [rng.randbytes(rng.choice([0, 1, 100, INLINE_BYTES - 1, INLINE_BYTES, 300_000])) for _ in range(200)]

    async def story() -> bytes:
        digest = RunningDigest()
        for start in range(0, len(blocks), 3):
            await digest.feed(blocks[start : start + 3])
            if start % 5 == 0:
                await asyncio.sleep(0)
        return await digest.finish()

    assert run(story()) == hashlib.sha256(b"".join(blocks)).digest()


def test_nothing_is_the_digest_of_nothing() -> None:
    async def story() -> bytes:
        return await RunningDigest().finish()

    assert run(story()) == hashlib.sha256(b"").digest()


def test_whoever_feeds_too_fast_waits_and_settling_means_that_no_block_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    gate, used = threading.Event(), []

    class Slow:
        def update(self, block: bytes) -> None:
            assert gate.wait(20)
            used.append(block)

    monkeypatch.setattr(_digest.hashlib, "sha256", Slow)
    block = bytes(1024 * 1024)
    most = AHEAD_BYTES // len(block)

    async def story() -> None:
        digest = RunningDigest()
        await digest.feed([block] * most)
        waiting = asyncio.ensure_future(digest.feed([block]))
        done, _ = await asyncio.wait({waiting}, timeout=0.05)
        assert not done
        gate.set()
        await asyncio.wait_for(waiting, 20)
        await digest.settle()
        assert len(used) == most + 1
        await digest.close()

    run(story())


def test_closing_forgets_what_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    gate, used = threading.Event(), []

    class Slow:
        def update(self, block: bytes) -> None:
            used.append(block)
            assert gate.wait(20)

    monkeypatch.setattr(_digest.hashlib, "sha256", Slow)

    async def story() -> None:
        digest = RunningDigest()
        await digest.feed([bytes(INLINE_BYTES)] * 10)
        closing = asyncio.ensure_future(digest.close())
        await asyncio.sleep(0)
        gate.set()
        await asyncio.wait_for(closing, 20)
        assert len(used) <= 1

    run(story())
