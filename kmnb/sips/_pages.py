"""What head, lines and tail share: slices made of collected lines."""

from __future__ import annotations

import json
from collections.abc import Sequence

from kmnb.core.pages import Line, position_line
from kmnb.core.slice import Slice


def shown_text(line: Line) -> str:
    """Decode a line for people; bytes that are no UTF-8 become U+FFFD."""
    return line.shown.decode("utf-8", "replace")


def page_text(lines: Sequence[str], position: str, max_bytes: int) -> str:
    """Join lines and a position line; the position is left out where the cap has no room for it."""
    body = "".join(f"{line}\n" for line in lines)
    whole = f"{body}{position}\n"
    if len(whole.encode("utf-8", "replace")) <= max_bytes:
        return whole
    return body if len(body.encode("utf-8", "replace")) <= max_bytes else body[:-1]


def cut_note(line: Line, *, has_cursor: bool = True) -> str:
    """Say that a line was cut, how long it is, and how to go on."""
    way = "cursor=, or " if has_cursor else ""
    size = f"at least {line.size:,}" if line.is_open else f"{line.size:,}"
    place = line.offset + len(line.data)
    return f"line {line.number + 1} is cut after {len(line.data)} of {size} bytes; go on with {way}read({place}, …)"


def state_of(line: int, offset: int, **more: int | None) -> str:
    """Write where a page goes on, for the driver to seal."""
    return json.dumps({"line": line, "offset": offset, **more})


def page_slice(
    lines: list[Line], *, position: str, max_bytes: int, complete: bool, total: int, has_cursor: bool = True
) -> Slice:
    """Make the slice of a page of lines; a cursor is added by the caller, who may have none."""
    texts = [shown_text(line) for line in lines]
    return Slice(
        values=list(texts),
        text=page_text(texts, position, max_bytes),
        complete=complete,
        shown=len(texts),
        total=total,
        notes=tuple(cut_note(line, has_cursor=has_cursor) for line in lines if line.is_cut),
    )


__all__ = ["cut_note", "page_slice", "page_text", "position_line", "shown_text", "state_of"]
