"""Fenced blocks are found whatever the cuts of the stream."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kmnb.core.fences import HEADER_MAX_CHARS, Begun, Ended, Event, FenceScanner, Piece

HEAD = '«««save_artifact: filename="r.md" mime_type="text/markdown" description="d e" tags="a,b"\n'
TEXTS = [
    f"before {HEAD}one\ntwo\n»»» after",
    f"{HEAD}»»»",
    f"{HEAD}a «x» «« »» ««« »»»»»»",
    f'{HEAD}x «««template_liquid: data="d.csv"\n{{{{ a }}}}\n»»» y\n»»» z',
    f"{HEAD}x «««template: »»» «««template: »»» y»»»z{HEAD}never ended",
    "«««save_artifact: without an end of line",
    "««« save_artifact: »»» ««««save_artifact",
    f"«{HEAD}inside»»»",
    "«««template: outside »»»",
    "no blocks at all",
    "",
]


def events(pieces: list[str]) -> list[Event]:
    scanner = FenceScanner()
    found = [event for piece in pieces for event in scanner.feed(piece)]
    return [*found, *scanner.finish()]


def joined(found: list[Event]) -> list[Event]:
    """The same with neighbouring texts and pieces put together."""
    whole: list[Event] = []
    for event in found:
        last = whole[-1] if whole else None
        if isinstance(event, str) and isinstance(last, str):
            whole[-1] = last + event
        elif isinstance(event, Piece) and isinstance(last, Piece):
            whole[-1] = Piece(last.text + event.text)
        else:
            whole.append(event)
    return whole


def test_a_block_has_its_parameters_and_its_content() -> None:
    told = {"filename": "r.md", "mime_type": "text/markdown", "description": "d e", "tags": "a,b"}
    assert joined(events([TEXTS[0]])) == [
        "before ", Begun(told, HEAD), Piece("one\ntwo\n"), Ended(is_whole=True), " after",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        (TEXTS[1], [Begun, Ended]),
        (TEXTS[2], [Begun, Piece, Ended, str]),
        (TEXTS[3], [Begun, Piece, Ended, str]),
        (TEXTS[4], [Begun, Piece, Ended, str, Begun, Piece, Ended]),
        *((text, [str]) for text in (TEXTS[5], TEXTS[6], TEXTS[8], TEXTS[9])),
        (TEXTS[7], [str, Begun, Piece, Ended]),
        (TEXTS[10], []),
    ],
)
def test_what_is_a_block_and_what_is_text(text: str, shape: list[type]) -> None:
    found = joined(events([text]))
    assert [type(event) for event in found] == shape
    if shape == [str]:
        assert found == [text]


def test_a_template_inside_is_content() -> None:
    content = [event.text for event in joined(events([TEXTS[3]])) if isinstance(event, Piece)]
    assert content == ['x «««template_liquid: data="d.csv"\n{{ a }}\n»»» y\n']


@given(st.sampled_from(TEXTS), st.lists(st.integers(0, 400), max_size=8))
def test_cutting_a_stream_anywhere_changes_nothing(text: str, places: list[int]) -> None:
    cuts = [0, *sorted(min(place, len(text)) for place in places), len(text)]
    pieces = [text[start:end] for start, end in pairwise(cuts)]
    assert joined(events(pieces)) == joined(events([text]))


def test_no_more_is_held_back_than_the_longest_first_line() -> None:
    scanner, seen = FenceScanner(), 0
    text = "«««save_artifact: " + "x" * (2 * HEADER_MAX_CHARS)
    for place in range(0, len(text), 100):
        seen += sum(len(event) for event in scanner.feed(text[place : place + 100]) if isinstance(event, str))
        assert place + 100 - seen <= HEADER_MAX_CHARS + 100
    assert seen + sum(len(str(event)) for event in scanner.finish()) == len(text)


@pytest.mark.parametrize("unit", ["«", "»", "««", "«««save_artifact:", "«««template:", f"{HEAD}", "»»»"])
def test_hostile_text_is_cut_in_bounded_time(unit: str) -> None:
    text = unit * (200_000 // len(unit))
    since = time.monotonic()
    events([text[place : place + 5000] for place in range(0, len(text), 5000)])
    assert time.monotonic() - since < 20
