"""A simulated week of garbage collection: 100,000 objects, 2,000 threads, crashes, wrong clocks, a lost registry."""

from __future__ import annotations

from tests.ops.gc_week import simulate


def test_a_week_with_a_hundred_thousand_objects() -> None:
    week = simulate(seed=2026, threads=2000, objects=100_000, days=7)
    assert sum(len(thread.keys) for thread in week.threads) > 90_000
    assert week.checks > 300
