"""Answers that are no object of their own: a listing, a report, a table of facts. Pure values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kmnb.core.display import Card, bundle, plain
from kmnb.core.visible import visible


@dataclass(frozen=True)
class Answer:
    """What a command found, for people, programs and pipes at once."""

    card: Card
    """What a notebook shows."""
    data: Any
    """The same as plain JSON values."""
    text: str
    """What the command line prints, with its last line end; nothing for nothing."""
    items: tuple[Any, ...] = ()
    """The things themselves, in order; an answer can be walked and indexed."""
    ok: bool = True
    """Whether what was checked holds; the command line ends with 1 where not."""

    def __iter__(self) -> Iterator[Any]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, index: int) -> Any:
        return self.items[index]

    def __repr__(self) -> str:
        return plain(self.card)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return bundle(self.card)


def table(
    title: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[Any]],
    *,
    items: Sequence[Any] = (),
    more: int | None = 0,
) -> Answer:
    """Make an answer of rows.

    Args:
        title: One line that answers by itself.
        columns: Names of the columns; they name the fields of ``data`` too.
        rows: Plain values.
        items: The things behind the rows.
        more: How many rows there are beyond these; None where nobody knows.

    Returns:
        The answer; its text has one line a row, cells between tabs, control characters made visible.
    """
    text = "".join("\t".join(cell(value) for value in row) + "\n" for row in rows)
    data = [dict(zip(columns, row, strict=True)) for row in rows]
    card = Card(title, columns=columns, rows=rows, more=more)
    return Answer(card, data, text, tuple(items))


def facts(
    title: str, pairs: Mapping[str, Any], *, notes: Sequence[str] = (), columns: tuple[str, str] = ("", "")
) -> Answer:
    """Make an answer of named values.

    Args:
        title: One line that answers by itself.
        pairs: Names and plain values.
        notes: Remarks for people.
        columns: Heads of the two columns.

    Returns:
        The answer; its text has one ``name<TAB>value`` a line.
    """
    rows = [(name, value) for name, value in pairs.items()]
    text = "".join(f"{cell(name)}\t{cell(value)}\n" for name, value in rows)
    return Answer(Card(title, columns=columns, rows=rows, notes=notes), dict(pairs), text)


def line(text: str, data: Any = None, *, ok: bool = True) -> Answer:
    """Make an answer of one sentence; ``ok`` tells whether what was checked holds."""
    return Answer(Card(text), {"message": text} if data is None else data, f"{visible(text)}\n", ok=ok)


def text_answer(title: str, text: str, data: Any) -> Answer:
    """Make an answer of a text of several lines under a title; the command line prints the text alone."""
    end = "" if not text or text.endswith("\n") else "\n"
    return Answer(Card(title, body=text), data, visible(text) + end)


def cell(value: Any) -> str:
    """Write a value so that it stays one cell of one line, whatever it holds."""
    text = "" if value is None else str(value)
    return visible(text).replace("\t", " ").replace("\n", "⏎")
