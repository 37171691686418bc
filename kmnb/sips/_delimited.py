"""Rows as delimited text, by the rules of the peer: quotes only where they are needed, LF after each record."""

from __future__ import annotations

import re
from collections.abc import Iterable

from kmnb.core.shape import text_of


def record_line(cells: Iterable[object], delimiter: str = ",") -> str:
    r"""Write one record with its line end.

    A cell is quoted when it holds the delimiter, a quote, CR or LF, when it begins with white space, or when it is
    ``\.``; an empty cell never is.
    """
    return delimiter.join(_cell(text_of(cell), delimiter) for cell in cells) + "\n"


def _cell(text: str, delimiter: str) -> str:
    if not text or not _needs_quotes(text, delimiter):
        return text
    return '"' + text.replace('"', '""') + '"'


_SPECIAL = re.compile(r'["\r\n]')


def _needs_quotes(text: str, delimiter: str) -> bool:
    return text == "\\." or delimiter in text or text[0].isspace() or _SPECIAL.search(text) is not None
