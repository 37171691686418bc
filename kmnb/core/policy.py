"""Retention of named artifacts: only what a policy names goes, and never the latest version of a name. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from kmnb.core.retention import Reason, Verdict
from kmnb.errors import BadRequest

_MOST = 10**13
# Bytes or seconds; the span of datetimes is less than ten times that.


@dataclass(frozen=True, slots=True)
class Policy:
    """What named artifacts are kept for; rules that are None say nothing."""

    keep_last: int | None = None
    """How many versions of each name stay, the latest included."""
    max_age_seconds: float | None = None
    """Age above which a version goes."""
    quota_bytes: int | None = None
    """Bytes that all versions together may take; the oldest go first."""

    def __post_init__(self) -> None:
        rules = (self.keep_last, self.max_age_seconds, self.quota_bytes)
        if all(rule is None for rule in rules):
            raise BadRequest("retention policy", "names no rule", "Give keep_last, max_age_seconds or quota_bytes.")
        if not all(rule is None or _can_be_meant(rule) for rule in rules) or self.keep_last == 0:
            raise BadRequest("retention policy", "has a rule that cannot be meant", "keep_last counts from 1.")


def _can_be_meant(rule: Any) -> bool:
    return isinstance(rule, int | float) and not isinstance(rule, bool) and 0 <= rule <= _MOST


@dataclass(frozen=True, slots=True)
class Version:
    """One version of a named artifact, as a listing tells it."""

    key: str
    """Key of its object."""
    name: str
    """What its name is grouped by."""
    number: int
    """Its number."""
    size: int
    """Its size in bytes."""
    created_at: datetime | None
    """When it was stored, UTC; None where nobody knows."""
    is_labelled: bool = False
    """Whether a label stands at it."""
    is_held: bool = False
    """Whether somebody holds it."""


def judge_versions(versions: Iterable[Version], policy: Policy, *, now: datetime) -> list[Verdict]:
    """Judge the versions of a session.

    Args:
        versions: All of them.
        policy: The policy.
        now: The time, by the store's clock.

    Returns:
        A verdict for each version, in the order of names and numbers.
    """
    names: dict[str, list[Version]] = defaultdict(list)
    for version in versions:
        names[version.name].append(version)
    reasons: dict[str, Reason] = {}
    every: list[Version] = []
    for name in sorted(names):
        ordered = sorted(names[name], key=lambda version: version.number)
        every += ordered
        for place, version in enumerate(ordered):
            reasons[version.key] = _reason(version, len(ordered) - place, policy=policy, now=now)
    _apply_quota(every, reasons, policy)
    return [Verdict(version.key, reasons[version.key], version.size) for version in every]


def _reason(version: Version, rank: int, *, policy: Policy, now: datetime) -> Reason:
    age = None if version.created_at is None else now - version.created_at
    limit = None if policy.max_age_seconds is None else timedelta(seconds=policy.max_age_seconds)
    order = (
        (version.is_held, Reason.HELD),
        (rank == 1, Reason.LATEST),
        (version.is_labelled, Reason.LABELLED),
        (policy.keep_last is not None and rank > policy.keep_last, Reason.BEYOND_COUNT),
        (limit is not None and age is not None and age > limit, Reason.BEYOND_AGE),
    )
    return next((reason for applies, reason in order if applies), Reason.IN_POLICY)


def _apply_quota(every: Sequence[Version], reasons: dict[str, Reason], policy: Policy) -> None:
    if policy.quota_bytes is None:
        return
    used = sum(version.size for version in every if not Verdict(version.key, reasons[version.key]).deletes)
    loose = [version for version in every if reasons[version.key] is Reason.IN_POLICY]
    dated = [(version.created_at, version.number, version) for version in loose if version.created_at is not None]
    for _, _, version in sorted(dated, key=lambda item: item[:2]):
        if used <= policy.quota_bytes:
            return
        reasons[version.key] = Reason.OVER_QUOTA
        used -= version.size
