"""What is to be collected, and why. Pure: facts and the time go in, a verdict with a reason comes out.

The three layers of the peer are one rule here: what belongs to a closed thread goes once it is older than the grace
window, what belongs to a thread without a sign of life goes likewise, what is older than the TTL goes in any case.
Whatever is not surely dead stays.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from kmnb.core.registry import State


class Reason(StrEnum):
    """Why an object stays or goes; a stable word for programs."""

    CLOSED = "thread-closed"
    """Goes: its thread was closed; at once when closing, in a sweep once the grace window is over."""
    LAPSED = "thread-lapsed"
    """Goes: its thread gave no sign of life for a lease, and the grace window is over."""
    FOREIGN = "foreign-dead"
    """Goes, only with ``foreign``: a thread that others own and that is not known to live."""
    EXPIRED = "expired"
    """Goes: it is older than the TTL."""
    ACTIVE = "thread-active"
    """Stays: its thread is active."""
    FOREIGN_ACTIVE = "foreign-active"
    """Stays: a thread that another coordinator is known to run, also where a lease of ours ran out."""
    GRACE = "within-grace"
    """Stays: it is not older than the grace window."""
    NO_AUTHORITY = "no-authority"
    """Stays: this registry never held its thread."""
    HELD = "held"
    """Stays: somebody holds it."""
    OTHER_CREW = "other-crew"
    """Stays: it belongs to another crew, or its key is of no known grammar."""
    UNKNOWN_AGE = "unknown-age"
    """Stays: nobody knows when it was stored."""
    UNREADABLE = "registry-unreadable"
    """Stays: the registry cannot be read, so nothing is known to be dead."""
    LEFTOVER = "leftover"
    """Goes: a half-written or forgotten file that nobody owns any more."""
    BEYOND_COUNT = "beyond-keep-last"
    """Goes: there are enough newer versions."""
    BEYOND_AGE = "beyond-max-age"
    """Goes: it is older than the policy allows."""
    OVER_QUOTA = "over-quota"
    """Goes: the session holds more than its quota, and this is among the oldest."""
    LATEST = "latest-version"
    """Stays: it is the latest version of its name."""
    LABELLED = "labelled"
    """Stays: a label stands at it."""
    IN_POLICY = "within-policy"
    """Stays: no rule of the policy concerns it."""


SENTENCES = {
    Reason.CLOSED: "its thread was closed",
    Reason.LAPSED: "its thread gave no sign of life and it is older than the grace window",
    Reason.FOREIGN: "nobody is known to use its thread and foreign threads are swept on request",
    Reason.EXPIRED: "it is older than the TTL",
    Reason.ACTIVE: "its thread is active",
    Reason.FOREIGN_ACTIVE: "its thread is active at another coordinator",
    Reason.GRACE: "it is younger than the grace window",
    Reason.NO_AUTHORITY: "this registry never held its thread",
    Reason.HELD: "it is held",
    Reason.OTHER_CREW: "it belongs to another crew, or its key is of no known grammar",
    Reason.UNKNOWN_AGE: "nobody knows when it was stored",
    Reason.UNREADABLE: "the registry cannot be read",
    Reason.LEFTOVER: "nobody owns it any more",
    Reason.BEYOND_COUNT: "there are enough newer versions",
    Reason.BEYOND_AGE: "it is older than the policy allows",
    Reason.OVER_QUOTA: "the session holds more than its quota",
    Reason.LATEST: "it is the latest version of its name",
    Reason.LABELLED: "a label stands at it",
    Reason.IN_POLICY: "no rule of the policy concerns it",
}
"""Each reason as people read it."""
_GOES = frozenset(
    {
        Reason.CLOSED,
        Reason.LAPSED,
        Reason.FOREIGN,
        Reason.EXPIRED,
        Reason.LEFTOVER,
        Reason.BEYOND_COUNT,
        Reason.BEYOND_AGE,
        Reason.OVER_QUOTA,
    }
)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is to happen to one object."""

    key: str
    """The object's key."""
    reason: Reason
    """Why."""
    size: int | None = None
    """Its size in bytes; None where the store did not tell."""
    detail: str = ""
    """What else there is to say, for example until when it is held."""

    @property
    def deletes(self) -> bool:
        """Whether the object goes."""
        return self.reason in _GOES


@dataclass(frozen=True, slots=True)
class Rules:
    """The knobs of a sweep."""

    now: datetime
    """The time, by the store's clock."""
    ttl_seconds: float
    """Age above which everything goes, exclusive."""
    grace_seconds: float
    """Age up to which what is dead stays, inclusive."""
    foreign: bool = False
    """Whether threads that this registry never held may go."""
    applies_ttl: bool = True
    """Whether this sweep stands in for a TTL that the store does not have."""
    expired_before: datetime = field(init=False)
    """What was stored before this time is older than the TTL."""
    dead_before: datetime = field(init=False)
    """What was stored before this time is older than the grace window."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "expired_before", self.now - timedelta(seconds=self.ttl_seconds))
        object.__setattr__(self, "dead_before", self.now - timedelta(seconds=self.grace_seconds))


_DEAD = {State.CLOSED: Reason.CLOSED, State.LAPSED: Reason.LAPSED, State.UNKNOWN: Reason.FOREIGN}


def judge(  # noqa: PLR0911 - one return a rule; this is asked once for each of 100,000 objects
    *, state: State, created_at: datetime | None, held: bool, foreign_active: bool, rules: Rules
) -> Reason:
    """Judge one object of the own crew.

    Args:
        state: What the registry says of its thread.
        created_at: When it was stored, by the store's clock; None where nobody knows.
        held: Whether a hold runs.
        foreign_active: Whether another coordinator's messages show that its thread lives.
        rules: The knobs.

    Returns:
        The first reason that applies. Ages are compared strictly: exactly at the grace window an object stays.
    """
    if created_at is None:
        return Reason.UNKNOWN_AGE
    if held:
        return Reason.HELD
    if state is State.UNREADABLE:
        return Reason.UNREADABLE
    if rules.applies_ttl and created_at < rules.expired_before:
        return Reason.EXPIRED
    if state is State.ACTIVE:
        return Reason.ACTIVE
    # A lease of ours that ran out says nothing of a thread that somebody else runs.
    if foreign_active and state in (State.UNKNOWN, State.LAPSED):
        return Reason.FOREIGN_ACTIVE
    if state is State.UNKNOWN and not rules.foreign:
        return Reason.NO_AUTHORITY
    return _DEAD[state] if created_at < rules.dead_before else Reason.GRACE
