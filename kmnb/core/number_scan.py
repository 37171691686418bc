"""Everything with digits in a readable text, from left to right.

What the scanner meets is never passed over: it is a number, a row of :mod:`kmnb.core.lookalikes`, or cannot be read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kmnb.core.digit_names import KNOWN, meaning_of
from kmnb.core.lookalikes import DIGIT_FIRST, LETTER_FIRST, Row
from kmnb.core.number_reading import LIKE_DIGITS, MONEY, Token, number_at

_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_]*(?:[-._]+[A-Za-z0-9]\w*|[/:@](?=[A-Za-z])\w+)*", re.ASCII)
_CUT = re.compile(r"(?<![0-9vV])\.\d+(?![A-Za-z])|_+$", re.ASCII)
_PATH = re.compile(r"(?:/[\w.@%+=:,~-]+)+/?", re.ASCII)
_START = re.compile(
    r"[A-Za-z0-9]|[/](?=[A-Za-z._])|\[(?=\^?\d)|\#(?=\d)|[一二三四五六七八九十百千万億零〇壹贰叁肆伍陆柒捌玖拾佰仟廿卅兩両]{2,}",
    re.ASCII,
)
_BRACKETED = re.compile(r"\[\^?(?P<number>\d{1,3})\]", re.ASCII)
_LIST_BEFORE = re.compile(r"(?:[:=(\[{]|[\]\"'],)\s?$")
_NUMBERED = re.compile(r"\#(?P<number>\d{1,9})\b(?![.,]\d|%)", re.ASCII)
_OPENING = frozenset({"", "\n", " ", "\t", ">", "*", "_"})
_ALONE = re.compile(r"\d{1,15}(?:[,;)\]}|\n]|$|[.](?:\s(?![A-Z])|$)| (?![\dA-Z]|of|\.))", re.ASCII)
_MARKER = re.compile(
    r"(?P<number>\d{1,3}(?:\.\d{1,3})*)[.)](?=[ \t])|(?P<heading>\d{1,2}(?:\.\d{1,2})*)(?=\s[A-Z])", re.ASCII
)
_LINE_START = re.compile(r"(?:^|\n)[ \t>]{0,24}(?P<head>#{1,6} )?(?:\*\*|__)?$")


def scan(text: str) -> Iterator[Token]:
    """Walk everything in a readable text that has digits.

    Args:
        text: What :func:`kmnb.core.glyphs.readable` gave.

    Yields:
        Tokens from left to right that do not overlap.
    """
    at = 0
    while match := _START.search(text, at):
        first, place = match.group(), match.start()
        if first.isdigit():
            token = _digits(text, place)
        elif first in "/[#":
            token = _sign(text, place, first)
        elif first.isascii():
            token = _letters(text, place)
        else:
            token = Token("unreadable", place, match.end())
        if token.kind:
            yield token
        at = max(token.end, place + 1)


def _row_at(rows: tuple[Row, ...], text: str, place: int) -> Token | None:
    for row in rows:
        match = row.pattern.match(text, place)
        if match and (row.check is None or row.check(match)):
            return Token(row.kind, place, match.end(), doubtful=row.doubtful)
    return None


def _sign(text: str, place: int, first: str) -> Token:
    if first == "/":
        match = _PATH.match(text, place)
        if match is None:
            return Token("", place, place + 1)
        doubtful = match[0].rstrip("/").rpartition("/")[2].isdigit()
        return Token("path" if re.search(r"\d", match[0]) else "", place, match.end(), doubtful=doubtful)
    match = (_BRACKETED if first == "[" else _NUMBERED).match(text, place)
    if match is None or (first == "[" and _LIST_BEFORE.search(text, max(0, place - 3), place)):
        return Token("", place, place + 1)
    return Token("citation" if first == "[" else "numbered", place, match.end(), value=match["number"])


def _letters(text: str, place: int) -> Token:
    word = _WORD.match(text, place)
    assert word is not None
    cut = _CUT.search(text, place, word.end())
    end = cut.start() if cut and cut.start() > place else word.end()
    # Most words are none of these; their rows are not tried.
    if (found := _row_at(LETTER_FIRST, text, place)) and found.end >= end:
        return found
    name = text[place:end]
    if not re.search(r"\d", name):
        return Token("", place, end)
    money = re.fullmatch(rf"({MONEY})\d+", name, re.IGNORECASE)
    if money:
        return Token("", place, place + len(money[1]))
    if KNOWN.fullmatch(name):
        return Token("name", place, end)
    if set(re.sub(r"\d", "", name)) <= LIKE_DIGITS and len(name) > 2:
        return Token("unreadable", place, end)
    meaning = meaning_of(name)
    return Token("counted name" if meaning == "quantity" else "name", place, end, doubtful=meaning == "doubtful")


def _digits(text: str, place: int) -> Token:
    before = text[place - 1 : place]
    window = _LINE_START.search(text, max(0, place - 32), place) if before in _OPENING else None
    if window and (window.start() or place <= 32 or text[window.start()] == "\n"):
        marker = _MARKER.match(text, place)
        if marker and (marker["number"] or window["head"]):
            return Token("marker", place, marker.end(), value=marker["number"] or marker["heading"])
    if _ALONE.match(text, place):
        # No row looks like this, and most numbers do.
        return number_at(text, place)
    return _row_at(DIGIT_FIRST, text, place) or number_at(text, place)
