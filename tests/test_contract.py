"""The contract: a number is backed by a run, quoted from a sip, derived from two, or refused."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable
from decimal import Decimal

import pytest

from kmnb import contract
from kmnb.core.numbers import find_numbers
from kmnb.core.receipt import Receipt, digest_of, listed_numbers
from kmnb.core.slice import Slice
from kmnb.errors import BadRequest


def receipt(stdout: str, **changes: object) -> Receipt:
    """A receipt of a run that printed this."""
    numbers, complete = listed_numbers(stdout)
    facts = {"program_digest": digest_of("x"), "language": "python", "interpreter": "cpython 3.11", **changes}
    return Receipt(numbers=numbers, numbers_complete=complete, **facts)  # type: ignore[arg-type]


def statuses(text: str, *receipts: object, strict: bool = False) -> dict[str, str]:
    return {one.text: one.status for one in contract.check(text, receipts, strict=strict).numbers}


@pytest.mark.parametrize(("text", "values"), [
    ("There are 1,234 pods and 1 234 567 rows.", ["1234", "1", "234", "567"]),
    ("1\u00a0234, 1'234'567, 1_000, 1.234,56", ["1234", "1234567", "1000", "1234.56"]),
    ("33.3 % of 1.5 GiB, 247k, 5 million", ["33.3", "1.5", "247", "5"]),
    ("on 2026-11-30 at 12:30:05, 30 November 2026, Nov 30, 2026, since 2024.", []),
    ("pods ns-12, web-7f9c4, v1.2.3, 10.0.0.1/24, k8s, p95, /artifacts/t1/x-0, commit 93df746", []),
    ("1. first 12\n2) second 13\n[3] step 4, Table 2, the 3rd, #17", ["12", "13"]),
    ("-5 and −6, 3-4, (7), x=8, 5ms, 12abc", ["-5", "-6", "3", "4", "7", "8", "5"]),
    ("1e6 and 2.5e-3", ["1000000", "0.0025"]),
    ("default,12,3\nkube-system,7,1", ["12", "3", "7", "1"]),
    ('{"a": 5, "b": [1.50, 2]}', ["5", "1.50", "2"]),
])  # fmt: skip
def test_numbers_are_told_from_what_looks_like_one(text: str, values: list[str]) -> None:
    assert [one.value for one in find_numbers(text)] == values


def test_places_and_lines_point_at_the_text() -> None:
    text = "a 1\nb\n  22 % c\n"
    for one in find_numbers(text):
        assert text[one.start : one.end] == one.text
        assert text.count("\n", 0, one.start) + 1 == one.line


def test_a_number_of_a_run_is_backed_with_run_and_place() -> None:
    one = receipt("kube-system 17\nTOTAL 1234\n")
    (found,) = contract.check("There are 1,234 pods.", [one]).numbers
    assert (found.status, found.place) == ("backed", 10)
    assert one.digest in found.evidence
    assert "line 2" in found.evidence


@pytest.mark.parametrize(("text", "stdout", "status"), [
    ("3.14", "3.14159", "backed"),
    ("3.15", "3.14159", "unbacked"),
    ("about 1,200", "1234", "backed"),
    ("1,200", "1234", "unbacked"),
    ("~1,300", "1234", "unbacked"),
    ("1.2 GB", "1234567890", "backed"),
    ("1.3 GB", "1234567890", "unbacked"),
    ("1 MiB", "1048576", "backed"),
    ("33.3 %", "33.333333", "backed"),
    ("-5", "5", "unbacked"),
    ("12", "ns-12 2026-12-01", "unbacked"),
    ("0.5", "0.50", "backed"),
])  # fmt: skip
def test_units_and_stated_rounding_count(text: str, stdout: str, status: str) -> None:
    assert [one.status for one in contract.check(text, [receipt(stdout)]).numbers] == [status]


@pytest.mark.parametrize(
    ("text", "ok"), [("42.71 %", True), ("42.7 %", True), ("43%", True), ("42.8 %", False), ("44%", False)]
)
def test_a_printed_share_is_stated_as_a_rounded_percentage(text: str, ok: bool) -> None:
    printed = [receipt("share 0.4271")]
    assert contract.check(f"{text} of them", printed).ok is ok
    assert not contract.check(f"{text} of them", printed, strict=True).ok


@pytest.mark.parametrize(("text", "status"), [
    ("259", "derived"), ("235", "derived"), ("20.58", "derived"), ("4.9 %", "derived"), ("5 %", "derived"),
    ("260", "unbacked"), ("6 %", "unbacked"), ("20", "unbacked"),
])  # fmt: skip
def test_one_operation_on_two_numbers_of_one_receipt_is_derived(text: str, status: str) -> None:
    assert [one.status for one in contract.check(text, [receipt("247 12")]).numbers] == [status]


def test_a_bare_number_may_be_meant_in_the_unit_of_its_neighbour() -> None:
    text = "It rained on 623 of 1461 days, 42.6 percent; 838 days were dry. There were 99 storms in 838 hours."
    assert list(statuses(text, receipt("623 of 1461 days were wet")).items()) == [
        ("623", "backed"), ("1461", "backed"), ("42.6 percent", "derived"), ("838", "unbacked"), ("99", "unbacked")
    ]  # fmt: skip
    assert contract.check("838 days were dry", [receipt("623 of 1461 days were wet")]).ok


def test_numbers_of_two_receipts_are_not_combined() -> None:
    assert statuses("259", receipt("247"), receipt("12")) == {"259": "unbacked"}


def test_a_run_that_failed_backs_nothing() -> None:
    assert statuses("247", receipt("247", exit_code=1)) == {"247": "unbacked"}
    assert statuses("247", receipt("247", reason="timeout", exit_code=-1)) == {"247": "unbacked"}


def sip(text: str, op: str = "head", **parameters: object) -> Slice:
    facts = {"op": op, "parameters": parameters, "key": "a/b", "artifactDigest": "sha256:1"}
    return Slice([], text, True, 1, 1, receipt=facts | {"textDigest": digest_of(text)})


def test_a_number_of_a_sip_is_quoted_and_passes_strict_mode_only_for_whole_artifacts() -> None:
    assert statuses("247", sip("247\n")) == {"247": "quoted"}
    assert statuses("247", sip("247\n"), strict=True) == {"247": "unbacked"}
    assert statuses("247", sip("247\n", "count"), strict=True) == {"247": "quoted"}
    assert statuses("247", sip("247\n", "stats", where="ns = 'a'"), strict=True) == {"247": "unbacked"}
    assert statuses("259", receipt("247 12"), strict=True) == {"259": "unbacked"}


def test_a_slice_whose_text_was_changed_is_refused() -> None:
    changed = sip("247\n")
    changed = Slice([], "999\n", True, 1, 1, receipt=changed.receipt)
    with pytest.raises(BadRequest, match="another text"):
        contract.check("999", [changed])


def test_a_receipt_that_was_changed_is_refused() -> None:
    facts = json.loads(receipt("247").to_json())
    facts["numbers"][0]["value"] = "999"
    with pytest.raises(BadRequest, match="changed"):
        contract.check("999", [json.dumps(facts)])


@pytest.mark.parametrize("broken", ["{", "[]", 7, {"numbers": 3}, '{"op": "head", "numbers": "x"}', None])
def test_what_is_no_receipt_is_a_clear_error_or_backs_nothing(broken: object) -> None:
    told = ""
    try:
        passed = contract.check("5", [broken]).ok
    except BadRequest as error:
        passed, told = False, str(error)
    assert not passed
    assert broken is None or told.startswith("this receipt")


SHAPES: tuple[tuple[str, Callable[[int, int], str], Callable[[int, int, random.Random], str]], ...] = (
    # A sentence, how it shows a true value of a total, and how it shows a forged or shifted one.
    ("{} pods run in {} since 2026-11-30.", lambda value, _: str(value),
     lambda value, _, chance: _shifted(value, chance)),
    ("In total {} rows; {} has most, see table 3.", lambda value, _: f"{value:,}",
     lambda value, _, chance: f"{int(_shifted(value, chance)):,}"),
    ("1. Usage is {} bytes in namespace {} (v1.2.3).", lambda value, _: f"{value / 1000}k",
     lambda value, _, chance: f"{int(_shifted(value, chance)) / 1000}k"),
    ("About {} of the pods are in {}.", lambda value, total: f"{100 * value / total:.1f} %",
     lambda value, total, chance: f"{100 * value / total + chance.choice([-0.2, 0.1, 3.0]):.1f} %"),
    ("about {} rows of 10.0.0.1 in {}", lambda value, _: f"{round(value, -2):,}",
     lambda value, _, chance: f"{round(value, -2) + chance.choice([-2100, 1300, 7100]):,}"),
)  # fmt: skip


def _shifted(value: int, chance: random.Random) -> str:
    digits = str(value)
    swapped = int(digits[1] + digits[0] + digits[2:]) + 7
    return str(chance.choice([value + 1, value * 10, value + 137, swapped]))


def answers(count: int = 200) -> list[tuple[str, Receipt, bool]]:
    """Generated answers over generated outputs; every second one has a forged or shifted number."""
    chance, made = random.Random(5), []
    for number in range(count):
        rows = {f"ns-{place}": chance.randrange(10_000, 90_000) for place in range(6)}
        total = sum(rows.values())
        lines = [f"{name},{value},{100 * value / total:.4f}%\n" for name, value in rows.items()]
        name, value = chance.choice(list(rows.items()))
        shape, true, forged = SHAPES[number // 2 % len(SHAPES)]
        shown = forged(value, total, chance) if number % 2 else true(value, total)
        made.append((shape.format(shown, name), receipt("".join(lines) + f"TOTAL {total}\n"), bool(number % 2)))
    return made


def test_of_two_hundred_answers_every_forged_number_is_refused_and_every_true_one_passes() -> None:
    judged = [(forged, contract.check(text, [one], strict=True).ok, text) for text, one, forged in answers()]
    wrong = [text for forged, passed, text in judged if forged is passed]
    assert wrong == []
    counted = Counter((forged, passed) for forged, passed, _ in judged)
    assert counted == {(True, False): 100, (False, True): 100}


def test_a_number_never_has_more_digits_than_its_text() -> None:
    for text, _, _ in answers(50):
        for one in find_numbers(text):
            assert Decimal(one.value) == Decimal(one.text.rstrip("k %").replace(",", ""))


@pytest.mark.parametrize(("text", "status"), [
    ("2 ‰", "unbacked"), ("4 ‰", "derived"), ("12 bps", "unbacked"), ("40 bps", "derived"), ("5 ppm", "unbacked"),
])  # fmt: skip
def test_a_share_is_rounded_to_a_whole_one_of_its_unit(text: str, status: str) -> None:
    assert list(statuses(text, receipt("errors 1\nrequests 250\n")).values()) == [status]
