"""Two simulated days of garbage collection with crashes, wrong clocks and a lost registry."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from kmnb.core.registry import State
from kmnb.ops import reap
from tests.ops.gc_week import simulate


@pytest.mark.parametrize("seed", range(3))
def test_nothing_alive_goes_and_nothing_dead_stays(seed: int) -> None:
    week = simulate(seed=seed, threads=60, objects=1200, days=3)
    assert len(week.threads) == 60
    assert week.checks > 100


def too_eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Takes what is active for lapsed, also when it asks again."""
    real = reap._state

    def wrong(*args: Any, **facts: Any) -> State:
        state = real(*args, **facts)
        return State.LAPSED if state is State.ACTIVE else state

    monkeypatch.setattr(reap, "_state", wrong)


def judging(change: Callable[[dict[str, Any]], dict[str, Any]]) -> Callable[[pytest.MonkeyPatch], None]:
    """Have objects judged by changed facts."""
    real = reap.judge
    return lambda monkeypatch: monkeypatch.setattr(reap, "judge", lambda **facts: real(**{**facts, **change(facts)}))


def instead(state: State, other: State) -> Callable[[pytest.MonkeyPatch], None]:
    """Take one state for another."""
    return judging(lambda facts: {"state": other if facts["state"] is state else facts["state"]})


WRONG = {
    "takes active threads for lapsed ones": too_eager,
    "never takes a thread for lapsed": instead(State.LAPSED, State.ACTIVE),
    "never takes a thread for closed": instead(State.CLOSED, State.ACTIVE),
    "takes unknown threads for dead ones": instead(State.UNKNOWN, State.LAPSED),
    "does not know the grace window": judging(
        lambda facts: {"created_at": facts["created_at"] and facts["created_at"] - timedelta(hours=3)}
    ),
    "does not know the TTL": judging(lambda facts: {"rules": replace(facts["rules"], applies_ttl=False)}),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_the_model_notices_a_rule_that_is_broken(wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    WRONG[wrong](monkeypatch)
    with pytest.raises(AssertionError):
        [simulate(seed=seed, threads=60, objects=1200, days=3) for seed in range(3)]
