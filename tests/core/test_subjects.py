"""Subjects of the bus, with the peer's own cases."""

from __future__ import annotations

import pytest
from hypothesis import example, given

from kmnb.core.subjects import (
    Place,
    artifact_subject,
    artifact_wildcard,
    discussion_subject,
    event_subject,
    parse_subject,
)
from kmnb.errors import KeySyntaxError
from tests.core.test_keys import IDENTIFIERS


def test_subjects_are_those_of_the_peer() -> None:
    assert artifact_subject("team-a", "homelab-pilot", "t1") == "kubemoot.artifacts.team-a.homelab-pilot.t1"
    assert artifact_subject("team-a", None, "t1") == "kubemoot.artifacts.team-a.nocrew.t1"
    assert artifact_wildcard("team-a") == "kubemoot.artifacts.team-a.>"
    assert discussion_subject("team-a", "homelab-pilot", "t1") == "kubemoot.discuss.team-a.homelab-pilot.broadcast.t1"
    assert discussion_subject("team-a", None, "t1") == "kubemoot.discuss.team-a.broadcast.t1"


@pytest.mark.parametrize("name", ["", " ", "a.b", "a*", ">", "a b", "\n"])
def test_a_blank_dotted_or_wild_namespace_or_crew_is_refused(name: str) -> None:
    with pytest.raises(KeySyntaxError):
        artifact_subject(name, "crew", "t")
    if name:
        with pytest.raises(KeySyntaxError):
            artifact_subject("ns", name, "t")


@pytest.mark.parametrize(
    "subject", ["", "kubemoot.artifacts.a", "kubemoot.artifacts.a..t", "other.artifacts.a.b.c", "kubemoot.discuss.a.b"]
)
def test_a_foreign_or_short_subject_is_not_read(subject: str) -> None:
    assert parse_subject(subject) is None


def test_a_crewless_discussion_has_one_token_less() -> None:
    assert parse_subject("kubemoot.discuss.team-a.broadcast.t1") == Place("team-a", "nocrew", "t1", "broadcast")
    assert parse_subject("kubemoot.discuss.team-a.pilot.general.t1") == Place("team-a", "pilot", "t1", "general")


@given(IDENTIFIERS)
@example("*")
@example(">")
def test_a_thread_never_widens_a_subject_and_comes_back(thread: str) -> None:
    for subject in (artifact_subject("ns", "crew", thread), discussion_subject("ns", "crew", thread)):
        assert not set(subject) & set("*> ")
        place = parse_subject(subject)
        assert place is not None
        assert place.thread == thread


def test_events_of_a_session_have_their_own_subject() -> None:
    assert event_subject("my/app", "me", "s.1") == "kmnb.events.my=2Fapp.me.s=2E1"
    assert len(event_subject("a" * 1000, "ü" * 1000, "s" * 1000)) < 300
