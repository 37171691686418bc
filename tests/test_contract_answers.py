"""Generated answers: every forged number is refused, every true one passes, in each way of writing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest

from kmnb import contract
from kmnb.core.receipt import Receipt, digest_of, listed_numbers
from tests.stating import FORMS, TRICKS, Answer, answers

PAGE = Path(__file__).parents[1] / "docs" / "explain" / "numbers.md"
EACH, SEED = 50, 2026
MARKS = "<!-- answers -->\n", "<!-- end of answers -->"


def receipt(stdout: str) -> Receipt:
    numbers, complete = listed_numbers(stdout)
    return Receipt(digest_of("x"), "python", "cpython 3.11", numbers=numbers, numbers_complete=complete)


def passes(answer: Answer, *, strict: bool = True) -> bool:
    return contract.check(answer.text, [receipt(answer.stdout)], strict=strict).ok


@pytest.fixture(scope="module")
def judged() -> list[tuple[Answer, bool]]:
    return [(answer, passes(answer)) for answer in answers(EACH, SEED)]


def table(judged: list[tuple[Answer, bool]]) -> str:
    """What became of the answers, as it stands in the documentation."""
    counted: Mapping[tuple[str, bool, bool], int] = Counter((one.kind, one.forged, passed) for one, passed in judged)
    rows = ["| way of writing | true: passed of | forged: refused of |", "|---|---|---|"]
    for kind in (*FORMS, *TRICKS):
        true, forged = ([counted.get((kind, what, passed), 0) for passed in (True, False)] for what in (False, True))
        shown = f"{true[0]} of {sum(true)}" if sum(true) else "–"
        rows.append(f"| {kind} | {shown} | {forged[1]} of {sum(forged)} |")
    return "\n".join(rows) + "\n"


def test_every_forged_number_is_refused_and_every_true_one_passes(judged: list[tuple[Answer, bool]]) -> None:
    assert len(judged) >= 2000
    assert [(one.kind, one.text) for one, passed in judged if passed is one.forged] == []


@pytest.mark.parametrize("seed", [1, 2])
def test_other_answers_are_judged_as_well(seed: int) -> None:
    assert [(one.kind, one.text) for one in answers(8, seed) if passes(one) is one.forged] == []


def test_what_passes_in_strict_mode_passes_otherwise(judged: list[tuple[Answer, bool]]) -> None:
    assert [one.text for one, passed in judged[::7] if passed and not passes(one, strict=False)] == []


def test_the_documentation_has_the_table(judged: list[tuple[Answer, bool]]) -> None:
    """After a change of the generator, put the new table between the marks of the page."""
    page = PAGE.read_text("utf-8")
    assert page.split(MARKS[0])[1].split(MARKS[1])[0] == table(judged)
