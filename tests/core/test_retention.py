"""Verdicts: the peer's cases, and the algebra of what may never be deleted."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kmnb.core.registry import Entry, State, may_forget, new_entry
from kmnb.core.retention import SENTENCES, Reason, Rules, Verdict, judge

NOW = datetime(2026, 6, 25, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


def rules(**changes: object) -> Rules:
    return Rules(**{"now": NOW, "ttl_seconds": 48 * 3600, "grace_seconds": 2 * 3600, **changes})  # type: ignore[arg-type]


def verdict(state: State, age: timedelta | None, *, rule: Rules | None = None, **facts: bool) -> Reason:
    told = {"held": False, "foreign_active": False, **facts}
    return judge(state=state, created_at=None if age is None else NOW - age, rules=rule or rules(), **told)


@pytest.mark.parametrize(
    ("state", "age", "reason"),
    [
        (State.CLOSED, 3 * HOUR, Reason.CLOSED),
        (State.LAPSED, 3 * HOUR, Reason.LAPSED),
        (State.ACTIVE, 5 * HOUR, Reason.ACTIVE),
        (State.CLOSED, HOUR / 2, Reason.GRACE),
        (State.CLOSED, 2 * HOUR, Reason.GRACE),
        (State.CLOSED, 2 * HOUR + timedelta(microseconds=1), Reason.CLOSED),
        (State.CLOSED, None, Reason.UNKNOWN_AGE),
        (State.UNKNOWN, 5 * HOUR, Reason.NO_AUTHORITY),
        (State.UNREADABLE, 40 * HOUR, Reason.UNREADABLE),
        (State.ACTIVE, 49 * HOUR, Reason.EXPIRED),
        (State.UNKNOWN, 49 * HOUR, Reason.EXPIRED),
        (State.ACTIVE, 48 * HOUR, Reason.ACTIVE),
        (State.CLOSED, -HOUR, Reason.GRACE),
    ],
)
def test_the_cases_of_the_peer_and_their_edges(state: State, age: timedelta | None, reason: Reason) -> None:
    assert verdict(state, age) is reason


def test_foreign_threads_go_only_on_request_and_never_while_they_are_known_to_live() -> None:
    asked = rules(foreign=True)
    assert verdict(State.UNKNOWN, 3 * HOUR, rule=asked) is Reason.FOREIGN
    assert verdict(State.UNKNOWN, HOUR, rule=asked) is Reason.GRACE
    assert verdict(State.UNKNOWN, 3 * HOUR, rule=asked, foreign_active=True) is Reason.FOREIGN_ACTIVE


@pytest.mark.parametrize("foreign", [False, True])
@pytest.mark.parametrize(
    ("state", "age", "reason"),
    [
        (State.LAPSED, 5 * HOUR, Reason.FOREIGN_ACTIVE),
        (State.LAPSED, HOUR, Reason.FOREIGN_ACTIVE),
        (State.LAPSED, 49 * HOUR, Reason.EXPIRED),
        (State.UNKNOWN, 5 * HOUR, Reason.FOREIGN_ACTIVE),
        (State.ACTIVE, 5 * HOUR, Reason.ACTIVE),
        (State.CLOSED, 5 * HOUR, Reason.CLOSED),
    ],
)
def test_a_thread_that_another_coordinator_runs_lives_also_when_our_lease_ran_out(
    state: State, age: timedelta, reason: Reason, foreign: bool
) -> None:
    assert verdict(state, age, rule=rules(foreign=foreign), foreign_active=True) is reason


def test_a_store_that_has_a_ttl_itself_is_not_helped() -> None:
    assert verdict(State.ACTIVE, 49 * HOUR, rule=rules(applies_ttl=False)) is Reason.ACTIVE


AGES = st.none() | st.timedeltas(min_value=-timedelta(days=3), max_value=timedelta(days=30))


@given(st.sampled_from(State), AGES, st.booleans(), st.booleans(), st.booleans(), st.booleans())
def test_what_is_held_active_young_or_unknown_never_goes(
    state, age, held, foreign_active, foreign, applies_ttl
) -> None:
    rule = rules(foreign=foreign, applies_ttl=applies_ttl)
    reason = verdict(state, age, rule=rule, held=held, foreign_active=foreign_active)
    goes = Verdict("k", reason).deletes
    if held or age is None or age <= 2 * HOUR or state is State.UNREADABLE:
        assert not goes
    if state is State.ACTIVE and goes:
        assert applies_ttl
        assert age > 48 * HOUR
    lapsed = state is State.LAPSED and not foreign_active
    if (state is State.CLOSED or lapsed) and not held and age is not None and age > 2 * HOUR:
        assert goes
    assert SENTENCES[reason]


@given(st.sampled_from(State), AGES, AGES)
def test_what_went_at_one_age_goes_at_every_greater_age(
    state: State, one: timedelta | None, other: timedelta | None
) -> None:
    if one is None or other is None:
        return
    younger, older = sorted((one, other))
    if Verdict("k", verdict(state, younger)).deletes:
        assert Verdict("k", verdict(state, older)).deletes


def test_an_entry_lives_by_its_lease_and_is_forgotten_when_all_of_it_has_expired() -> None:
    entry = new_entry(NOW, lease_seconds=7200, holder="me")
    assert entry.state(NOW) is State.ACTIVE
    assert entry.state(NOW + 2 * HOUR) is State.LAPSED
    renewed = entry.renewed(NOW + HOUR, lease_seconds=7200, holder="you")
    assert renewed.state(NOW + 2.5 * HOUR) is State.ACTIVE
    assert renewed.renewed(NOW, lease_seconds=1, holder="you").lease_until == renewed.lease_until
    closed = Entry(NOW, NOW, NOW)
    assert not may_forget(closed, NOW + 50 * HOUR, ttl_seconds=48 * 3600, grace_seconds=2 * 3600)
    assert may_forget(closed, NOW + 50.1 * HOUR, ttl_seconds=48 * 3600, grace_seconds=2 * 3600)


@given(st.datetimes(timezones=st.just(UTC)), st.datetimes(timezones=st.just(UTC)), st.booleans(), st.text())
def test_an_entry_comes_back_from_its_record(opened, until, closed, holder) -> None:
    entry = Entry(opened, until, until if closed else None, holder)
    assert Entry.from_bytes(entry.to_bytes()) == entry


@pytest.mark.parametrize("raw", [b"", b"{", b"[]", b"{}", b'{"opened": 1, "until": 2}', b"\xff", b"null"])
def test_a_damaged_record_is_no_entry(raw: bytes) -> None:
    assert Entry.from_bytes(raw) is None
