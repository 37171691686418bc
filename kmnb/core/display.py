"""Turn facts into what a notebook shows: plain text, script-free HTML, and a reference for machines. Pure.

Everything shown is untrusted: control, bidi and escape characters are made visible, HTML is built by escaping only,
and the same facts always give the same bytes, so that notebooks can be compared. Ages and durations are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from typing import Any

from kmnb.core.svg import Drawing
from kmnb.core.visible import visible
from kmnb.errors import clip

PLAIN_MAX_LINES = 10
"""Most lines of ``text/plain``."""
PLAIN_WIDTH = 100
"""Most characters of a line of ``text/plain``."""
MARKUP_MAX_BYTES = 16 * 1024
"""Largest ``text/html`` in UTF-8 bytes."""
OPEN_LINES = 20
"""Lines of a text that ``text/html`` shows unfolded."""
ARTIFACT_MIME = "application/vnd.kmnb.artifact.v1+json"
"""Type of the reference that travels with a shown artifact."""

_CELL_MAX_BYTES = 300
_MORE = "…"


@dataclass(frozen=True, slots=True)
class Card:
    """What is to be shown of one thing; every text is untrusted."""

    title: str
    """One line that answers by itself."""
    facts: Sequence[tuple[str, Any]] = ()
    """Names and values; those without a value are left out."""
    body: str = ""
    """Text shown as it stands, with its own line ends."""
    columns: Sequence[str] = ()
    """Names of the columns of ``rows``."""
    rows: Sequence[Sequence[Any]] = ()
    """Cells, aligned with ``columns``."""
    more: int | None = 0
    """How many rows or lines there are beyond those given; None where nobody knows."""
    notes: Sequence[str] = ()
    """Remarks for people."""
    reference: Mapping[str, Any] | None = field(default=None)
    """Small JSON that identifies the artifact; no content."""
    picture: Drawing | None = None
    """A chart; what it shows stands in ``rows`` too."""
    unit: str = "lines"
    """What the lines of ``body`` are."""
    sketch: str = ""
    """The chart as one line of plain text."""


def bundle(card: Card) -> dict[str, Any]:
    """Make the mime bundle of a card.

    Args:
        card: What is to be shown.

    Returns:
        ``text/plain``, ``text/html`` and, where there is a reference, :data:`ARTIFACT_MIME`.
    """
    shown = {"text/plain": plain(card), "text/html": markup(card)}
    return shown if card.reference is None else shown | {ARTIFACT_MIME: dict(card.reference)}


def plain(card: Card, *, max_lines: int = PLAIN_MAX_LINES, width: int = PLAIN_WIDTH) -> str:
    """Show a card as plain text without escape sequences.

    Args:
        card: What is to be shown.
        max_lines: Most lines, the note of what is missing included.
        width: Most characters of a line.

    Returns:
        Text without a line end at its end.
    """
    lines = [flat(card.title), *([flat(card.sketch)] if card.sketch else [])]
    if facts := _facts(card):
        lines.append(" · ".join(f"{name} {value}" for name, value in facts))
    notes = [flat(note) for note in card.notes][: max(0, max_lines - len(lines) - 2)]
    room = max_lines - len(lines) - len(notes)
    body = _lines(card.body)
    content = [*_grid(card, room), *(visible(line) for line in body[: max(0, room)])][: max(0, room)]
    total = len(card.rows) + bool(card.columns) + len(body)
    if total > room or card.more != 0:
        content = content[: max(0, room - 1)]
        content.append(_missing(card, total - len(content)))
    return "\n".join(_cut(line.expandtabs(4), width) for line in [*lines, *content, *notes])


def _missing(card: Card, hidden: int) -> str:
    kind = "rows" if card.rows else card.unit
    if card.more is None:
        return f"{_MORE} and more {kind}"
    return f"{_MORE} {count_text(hidden + card.more, f'more {kind}')}"


def _grid(card: Card, room: int) -> list[str]:
    if not card.columns:
        return []
    table = [[flat(cell) for cell in row] for row in [card.columns, *card.rows[: max(0, room)]]][: max(0, room)]
    widths = [min(60, max(len(row[i]) for row in table if i < len(row))) for i in range(len(card.columns))]
    return [
        "  ".join(_cut(cell, widths[i]).ljust(widths[i]) for i, cell in enumerate(row[: len(widths)])).rstrip()
        for row in table
    ]


def markup(card: Card, *, max_bytes: int = MARKUP_MAX_BYTES) -> str:
    """Show a card as HTML that is readable without scripts and styles, also where a sanitizer removes both.

    Args:
        card: What is to be shown.
        max_bytes: Largest answer in UTF-8 bytes; rows and lines that do not fit are counted.

    Returns:
        One ``<div>``.
    """
    head = f"<b>{_safe(card.title)}</b>"
    facts = "".join(f"<br>{_safe(name)}: {_safe(value)}" for name, value in _facts(card))
    notes = "".join(f"<br><i>{_safe(note)}</i>" for note in list(card.notes)[:8])
    picture = card.picture if isinstance(card.picture, Drawing) else ""
    room = max_bytes - len((head + facts + notes + picture).encode()) - 400
    if room < 0 and picture:
        return markup(replace(card, picture=None), max_bytes=max_bytes)
    table, left_rows, room = _table(card, room)
    text, left_lines = _preformatted(card, room)
    hidden = left_rows + left_lines
    tail = f"<br>{_missing(card, hidden)}" if hidden or card.more != 0 else ""
    end = f"{tail}{notes}".removeprefix("<br>")
    return f"<div><div>{head}{facts}</div>{picture}{table}{text}<div>{end}</div></div>"


def _table(card: Card, room: int) -> tuple[str, int, int]:
    """Build the table; give it, the number of rows that did not fit, and the room that is left."""
    if not card.columns:
        return "", 0, room
    head = "".join(f'<th scope="col">{_safe(name)}</th>' for name in card.columns[:100])
    pieces = [f"<table><thead><tr>{head}</tr></thead><tbody>"]
    room -= len(pieces[0].encode())
    if room < 0:
        return "<i>too many columns to show</i>", len(card.rows), room + len(pieces[0].encode())
    for done, row in enumerate(card.rows):
        piece = "<tr>" + "".join(f"<td>{_safe(cell)}</td>" for cell in row[:100]) + "</tr>"
        if (room := room - len(piece.encode())) < 0:
            return "".join([*pieces, "</tbody></table>"]), len(card.rows) - done, 0
        pieces.append(piece)
    return "".join([*pieces, "</tbody></table>"]), 0, room


def _preformatted(card: Card, room: int) -> tuple[str, int]:
    """Build the text, its later lines folded; give it, and the number of lines that did not fit."""
    lines = _lines(card.body)
    kept: list[str] = []
    for line in lines:
        piece = escape(visible(clip(line, 2000)))
        if (room := room - len(piece.encode()) - 1) < 0:
            break
        kept.append(piece)
    if not kept:
        return "", len(lines)
    first, rest = kept[:OPEN_LINES], kept[OPEN_LINES:]
    shown = f"<pre>{chr(10).join(first)}</pre>"
    if rest:
        further = count_text(len(rest), f"more {card.unit}")
        shown += f"<details><summary>{further}</summary><pre>{chr(10).join(rest)}</pre></details>"
    return shown, len(lines) - len(kept)


def _facts(card: Card) -> list[tuple[str, str]]:
    return [(flat(name), flat(value)) for name, value in card.facts if value not in (None, "", (), [])][:20]


def _lines(text: str) -> list[str]:
    return text.removesuffix("\n").split("\n") if text else []


def flat(value: Any, max_bytes: int = _CELL_MAX_BYTES) -> str:
    """Write a value as one line of a bounded length that is safe to look at."""
    text = "" if value is None else value if isinstance(value, str) else str(value)
    return visible(clip(text, max_bytes).replace("\n", "⏎").replace("\t", " "))


def _safe(value: Any) -> str:
    return escape(flat(value))


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: max(0, width - 1)] + _MORE


_MANY = re.compile(r"s\b")
_UNITS = ("KiB", "MiB", "GiB", "TiB", "PiB")


def size_text(size: int | None) -> str | None:
    """Write a number of bytes for people, for example ``311.2 KiB``; None stays None."""
    if size is None or size < 1024:
        return count_text(size, "bytes")
    amount = float(size)
    for unit in _UNITS:
        amount /= 1024
        if amount < 1023.95 or unit == _UNITS[-1]:
            break
    return f"{amount:,.1f} {unit}"


def count_text(number: int | None, noun: str) -> str | None:
    """Write a number with its noun, for example ``1,234 rows`` or ``1 row``; None stays None.

    Args:
        number: How many.
        noun: What they are, as for many of them: a word that ends with s, perhaps with others before or after it.
    """
    return None if number is None else f"{number:,} {_MANY.sub('', noun, count=1) if number == 1 else noun}"


def joined(parts: Iterable[str | None]) -> str:
    """Join what there is with middle dots."""
    return " · ".join(part for part in parts if part)
