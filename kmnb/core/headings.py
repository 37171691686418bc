"""Units that stand in the headings of Markdown tables: ``| latency (ms) |`` says what is measured below it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from kmnb.core.units import BARE, unit_of

_RULE = re.compile(r"^[ \t>]{0,24}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$", re.MULTILINE)
_BAR = re.compile(r"(?<!\\)\|")
_UNIT = re.compile(r"(?:^|\s)[(\[](?:in )?([^()\[\]]{1,24})[)\]]$")
_MARKS = " \t>*_`:"


def headed(text: str) -> Iterator[tuple[int, int, str]]:
    """Walk the cells below a heading that names a unit.

    Args:
        text: A readable text.

    Yields:
        Where a cell begins and ends, and the unit as the heading writes it.
    """
    at = 0
    for rule in _RULE.finditer(text) if "|" in text else ():
        if rule.start() < at:
            # A row of the table above.
            continue
        start = text.rfind("\n", 0, max(0, rule.start() - 1)) + 1
        units = [_named(text[first:last]) for first, last in _cells(text, start, rule.start() - 1)]
        at = rule.end() + 1
        while any(units) and at < len(text):
            end = text.find("\n", at)
            end = len(text) if end < 0 else end
            if not _BAR.search(text, at, end):
                break
            for (first, last), unit in zip(_cells(text, at, end), units, strict=False):
                if unit:
                    yield first, last, unit
            at = end + 1


def _cells(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Give the cells of a line; a bar at its start or end parts nothing."""
    places = [start - 1, *(bar.start() for bar in _BAR.finditer(text, start, max(start, end))), end]
    cells = [(before + 1, after) for before, after in pairwise(places)]
    return cells[1:] if len(cells) > 1 and not text[slice(*cells[0])].strip(_MARKS) else cells


def _named(heading: str) -> str:
    """Give the unit that a heading names in brackets; one that may mean two things is none."""
    match = _UNIT.search(heading.strip(_MARKS))
    unit = unit_of(match[1].strip()) if match else BARE
    return match[1].strip() if match and unit != BARE and unit.known else ""
