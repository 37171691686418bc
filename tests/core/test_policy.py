"""Retention of named artifacts: what a policy names goes, the latest version never."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kmnb.core.lifecycle import lifecycle_rule, rule_text
from kmnb.core.metrics import Metrics
from kmnb.core.policy import Policy, Version, judge_versions
from kmnb.core.report import Failure, Report
from kmnb.core.retention import Reason, Verdict
from kmnb.errors import BadRequest, NotSupported
from tests.children import ROOT

NOW = datetime(2026, 6, 25, tzinfo=UTC)


def version(name: str, number: int, *, age: float = 0, size: int = 10, **facts: bool) -> Version:
    return Version(f"{name}/{number}", name, number, size, NOW - timedelta(days=age), **facts)


def reasons(versions: list[Version], **rules: object) -> dict[str, Reason]:
    return {found.key: found.reason for found in judge_versions(versions, Policy(**rules), now=NOW)}  # type: ignore[arg-type]


def test_the_newest_versions_stay_and_older_ones_go() -> None:
    found = reasons([version("a", number) for number in range(4)], keep_last=2)
    assert list(found.values()) == [Reason.BEYOND_COUNT, Reason.BEYOND_COUNT, Reason.IN_POLICY, Reason.LATEST]


def test_old_versions_go_but_for_the_latest_the_labelled_and_the_held() -> None:
    versions = [version("a", number, age=30) for number in range(4)]
    versions[1] = version("a", 1, age=30, is_labelled=True)
    versions[2] = version("a", 2, age=30, is_held=True)
    found = reasons(versions, max_age_seconds=7 * 86_400)
    assert list(found.values()) == [Reason.BEYOND_AGE, Reason.LABELLED, Reason.HELD, Reason.LATEST]


def test_a_quota_takes_the_oldest_first_across_names() -> None:
    versions = [version("a", 0, age=3), version("a", 1, age=1), version("b", 0, age=2), version("b", 1, age=0)]
    found = reasons(versions, quota_bytes=25)
    assert found == {
        "a/0": Reason.OVER_QUOTA,
        "a/1": Reason.LATEST,
        "b/0": Reason.OVER_QUOTA,
        "b/1": Reason.LATEST,
    }
    assert list(reasons(versions, quota_bytes=30).values()).count(Reason.OVER_QUOTA) == 1


@pytest.mark.parametrize(
    "rules", [{}, {"keep_last": 0}, {"keep_last": -1}, {"max_age_seconds": -1}, {"quota_bytes": -5}]
)
def test_a_policy_that_cannot_be_meant_is_refused(rules: dict[str, int]) -> None:
    with pytest.raises(BadRequest):
        Policy(**rules)


@st.composite
def some_version(draw: st.DrawFn) -> Version:
    """Any version of three names."""
    name, number = draw(st.sampled_from("abc")), draw(st.integers(0, 20))
    created = draw(st.none() | st.datetimes(timezones=st.just(UTC)))
    size, labelled, held = draw(st.integers(0, 100)), draw(st.booleans()), draw(st.booleans())
    return Version(f"{name}/{number}", name, number, size, created, labelled, held)


VERSIONS = st.lists(some_version(), max_size=20, unique_by=lambda found: found.key)


@given(VERSIONS, st.none() | st.integers(1, 5), st.none() | st.floats(0, 1e9), st.integers(0, 500))
def test_the_latest_labelled_and_held_versions_never_go(versions, keep_last, max_age, quota) -> None:
    found = {item.key: item for item in judge_versions(versions, Policy(keep_last, max_age, quota), now=NOW)}
    assert set(found) == {item.key for item in versions}
    for name in {item.name for item in versions}:
        latest = max((item for item in versions if item.name == name), key=lambda item: item.number)
        assert not found[latest.key].deletes
    assert not any(found[item.key].deletes for item in versions if item.is_labelled or item.is_held)


def test_rules_of_cloud_stores_count_whole_days_and_name_the_prefix() -> None:
    for scheme in ("s3", "gs", "az"):
        rule = lifecycle_rule(scheme, bucket="b", prefix="p/", ttl_seconds=48 * 3600)
        assert (rule.days, rule.prefix) == (2, "p/discussions/")
        for place in ("p/discussions/", "p/parts/discussions/", "p/facts/discussions/"):
            assert place in rule_text(rule)
        assert not {"p/named/", "p/records/", "p/facts/"} & set(re.findall(r'"(?:b/)?(p/[^"]*)"', rule_text(rule)))
        assert "rule.json" in rule.command
    assert lifecycle_rule("s3", bucket="b", prefix="p/", ttl_seconds=3600).days == 1
    with pytest.raises(NotSupported, match="sweep"):
        lifecycle_rule("file", bucket="b", prefix="p/", ttl_seconds=1)


def test_metrics_add_up_reports_and_leave_dry_runs_out() -> None:
    metrics = Metrics()
    report = Report(
        "sweep",
        "a/",
        NOW,
        (Verdict("k", Reason.CLOSED, 5), Verdict("j", Reason.CLOSED, 5), Verdict("l", Reason.ACTIVE, 7)),
        (Failure("j", "x"),),
    )
    metrics.add(report)
    metrics.add(report)
    metrics.add(Report("sweep", "a/", NOW, (Verdict("m", Reason.CLOSED, 5),), dry_run=True))
    text = metrics.text()
    assert 'kmnb_gc_objects_total{action="sweep",deleted="true",reason="thread-closed"} 2\n' in text
    assert 'kmnb_gc_deleted_bytes_total{action="sweep",reason="thread-closed"} 10\n' in text
    assert 'kmnb_gc_objects_total{action="sweep",deleted="false",reason="thread-closed"} 2\n' in text
    assert 'kmnb_gc_failures_total{action="sweep"} 2\n' in text
    assert 'kmnb_gc_last_run_timestamp_seconds{action="sweep"} 1782345600\n' in text


def test_what_prometheus_reads_is_what_the_page_documents() -> None:
    from prometheus_client.parser import text_string_to_metric_families

    metrics = Metrics()
    metrics.add(Report("close", "a/", NOW, (Verdict("k", Reason.CLOSED, 5),), seconds=0.25))
    families = {family.name: family for family in text_string_to_metric_families(metrics.text())}
    read = {sample.name for family in families.values() for sample in family.samples}
    page = (ROOT / "docs/howto/garbage-collection.md").read_text("utf-8")
    assert read | {"kmnb_gc_objects_total"} == set(re.findall(r"`(kmnb_gc_\w+)`", page))
    assert all(family.documentation for family in families.values())
