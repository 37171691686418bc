"""Ways to take times that a busy machine disturbs least."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

ROUNDS = 5
"""Rounds of which the median is taken."""


QUICK = bool(os.environ.get("BENCH_QUICK"))
"""Whether only the way through is tried: small sizes, first points."""


def sized(number: int) -> int:
    """Give a size or a count; a hundredth of it, and at least one, for a quick look."""
    return max(1, number // 100) if QUICK else number


def growing(*points: int) -> tuple[int, ...]:
    """Give the points of a growth table; the first two for a quick look."""
    return points[:2] if QUICK else points


def in_turn(steps: Mapping[str, Callable[[], Any]], rounds: int = ROUNDS) -> dict[str, float]:
    """Median seconds of calls that take turns, so that a busy machine is busy for all of them.

    Args:
        steps: Calls by name.
        rounds: Rounds that count; one more comes first and does not.
    """
    taken: dict[str, list[float]] = {name: [] for name in steps}
    for turn in range(rounds + 1):
        for name, step in steps.items():
            since = time.perf_counter()
            step()
            if turn:
                taken[name].append(time.perf_counter() - since)
    return {name: statistics.median(times) for name, times in taken.items()}


async def in_turn_async(steps: Mapping[str, Callable[[], Awaitable[Any]]], rounds: int = ROUNDS) -> dict[str, float]:
    """The same for coroutines."""
    taken: dict[str, list[float]] = {name: [] for name in steps}
    for turn in range(rounds + 1):
        for name, step in steps.items():
            since = time.perf_counter()
            await step()
            if turn:
                taken[name].append(time.perf_counter() - since)
    return {name: statistics.median(times) for name, times in taken.items()}
