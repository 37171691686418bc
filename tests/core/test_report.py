"""Reports of collections: counts, bytes and reasons, in every form."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from kmnb.core.report import ROWS_MAX, Failure, Report
from kmnb.core.retention import Reason, Verdict

NOW = datetime(2026, 6, 25, 12, tzinfo=UTC)
VERDICTS = (
    Verdict("a/b/t1/c/x-0", Reason.CLOSED, 10),
    Verdict("a/b/t1/c/x-1", Reason.CLOSED, 20),
    Verdict("a/b/t2/c/x-0", Reason.ACTIVE, 5),
    Verdict("a/b/t3/c/x-0", Reason.HELD, None, "until tomorrow: audit"),
)
REPORT = Report("sweep", "a/b/", NOW, VERDICTS, (Failure("a/b/t1/c/x-1", "is locked"),))


def test_counts_and_bytes_by_reason_agree_with_the_verdicts() -> None:
    assert (REPORT.deleted, REPORT.kept, REPORT.deleted_bytes) == (1, 2, 10)
    assert REPORT.by_reason == {"held": (1, 0), "thread-active": (1, 5), "thread-closed": (2, 30)}
    assert sum(count for count, _ in REPORT.by_reason.values()) == len(VERDICTS)


def test_every_form_tells_the_same() -> None:
    value = json.loads(json.dumps(REPORT.to_json()))
    assert (value["deleted"], value["kept"], value["failures"]) == (
        1,
        2,
        [{"key": "a/b/t1/c/x-1", "reason": "is locked"}],
    )
    assert value["byReason"]["thread-closed"] == {"objects": 2, "bytes": 30}
    assert "thread-closed\t2\t30\n" in REPORT.text
    assert "failed\ta/b/t1/c/x-1\tis locked\n" in REPORT.text
    shown = REPORT._repr_mimebundle_()
    assert "deleted 1 object (10 bytes), kept 2, 1 failed" in shown["text/plain"]
    assert "its thread was closed" in shown["text/html"]


def test_a_hostile_key_makes_no_line_and_no_markup_of_its_own() -> None:
    key, reason = "a/b/t/<script>x</script>\n\x1b[31mfake\t1\t2", "<b>locked</b>\nthread-active\t9\t9"
    report = Report("sweep", "a/b/", NOW, (Verdict(key, Reason.CLOSED, 1),), (Failure(key, reason),))
    lines = report.text.splitlines()
    assert len(lines) == 3
    assert lines[2].count("\t") == 2
    html = report._repr_mimebundle_()["text/html"]
    assert "<script>" not in html
    assert "<b>locked" not in html
    assert not {"\x1b", "\u202e"} & set(report.text + html + repr(report))


def test_one_object_can_be_explained() -> None:
    found = REPORT.explain("a/b/t3/c/x-0")
    assert found is not None
    assert (found.reason, found.detail) == (Reason.HELD, "until tomorrow: audit")
    assert REPORT.explain("other") is None


def test_a_large_report_stays_small_and_says_what_it_leaves_out() -> None:
    many = Report("sweep", "a/", NOW, tuple(Verdict(f"k{number}", Reason.ACTIVE, 1) for number in range(5000)))
    value = many.to_json()
    assert len(value["objects"]) == ROWS_MAX
    assert value["objectsLeftOut"] == 5000 - ROWS_MAX
    assert len(json.dumps(value)) < 200_000
