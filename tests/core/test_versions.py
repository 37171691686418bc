"""Counters and pins of versions."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kmnb.core.versions import TOMBSTONES_MAX, WRITING_MAX, Counter, check_label, split_pin
from kmnb.errors import BadRequest

NOW = datetime(2026, 6, 25, tzinfo=UTC)
COUNTERS = st.builds(
    Counter,
    st.integers(0, 10**17),
    st.integers(0, 10**17),
    st.dictionaries(st.integers(0, 1000), st.datetimes(timezones=st.just(UTC)), max_size=5),
    st.dictionaries(st.from_regex(r"[a-z]{1,5}", fullmatch=True), st.integers(0, 1000), max_size=3),
    writing=st.dictionaries(st.integers(0, 1000), st.datetimes(timezones=st.just(UTC)), max_size=5),
)


@given(COUNTERS)
def test_a_counter_comes_back_from_its_record(counter: Counter) -> None:
    assert Counter.from_bytes(counter.to_bytes()) == counter


@pytest.mark.parametrize(
    "raw", [b"", b"{", b"3", b"[]", b"{}", b'{"next": -1}', b'{"next": "3"}', b'{"next": 1, "removed": 3}']
)
def test_a_damaged_record_is_no_counter(raw: bytes) -> None:
    assert Counter.from_bytes(raw) is None


def test_removals_are_remembered_within_bounds() -> None:
    counter = Counter(10_000, labels={"approved": 5, "draft": 6})
    for number in range(600):
        counter = counter.without(number, NOW + timedelta(seconds=number))
    assert len(counter.removed) == TOMBSTONES_MAX
    assert counter.is_gone(599)
    assert counter.labels == {}
    assert len(counter.to_bytes()) < 64 * 1024
    assert counter.emptied() == Counter(10_000, 10_000)
    assert counter.emptied().is_gone(9_999)


def test_numbers_under_way_are_remembered_within_bounds_beside_every_tombstone() -> None:
    counter = Counter(10**17)
    for number in range(600):
        moment = NOW + timedelta(seconds=number, microseconds=1)
        counter = counter.without(10**16 + number, moment).written_by(10**16 + number, moment)
    assert len(counter.writing) == WRITING_MAX
    assert 10**16 + 599 in counter.writing
    assert len(counter.to_bytes()) < 64 * 1024
    assert 10**16 + 599 not in counter.given_up(10**16 + 599).writing
    assert counter.emptied().writing == counter.writing


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("a.csv", ("a.csv", None)),
        ("a.csv@3", ("a.csv", "3")),
        ("a@b.csv@latest", ("a@b.csv", "latest")),
        ("a.csv@approved", ("a.csv", "approved")),
        ("a@", ("a@", None)),
        ("@x", ("@x", None)),
    ],
)
def test_a_pin_is_what_stands_behind_the_last_at_sign(text: str, parts: tuple[str, str | None]) -> None:
    assert split_pin(text) == parts


@pytest.mark.parametrize("label", ["latest", "3", "", "a b", "-x", "é"])
def test_what_cannot_be_a_label_is_refused(label: str) -> None:
    with pytest.raises(BadRequest):
        check_label(label)
