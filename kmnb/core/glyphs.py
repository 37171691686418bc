"""Text as a reader sees it: escape codes, markup, entities and invisible characters are gone, digits are 0 to 9.

Whatever is shown as a digit has to be found as one, and what is shown side by side has to stand side by side. Places in
the readable text can be led back to the text as it was given.
"""

from __future__ import annotations

import html
import re
import unicodedata
from bisect import bisect_right
from dataclasses import dataclass, field
from functools import lru_cache

ESCAPES = r"\x1b(?:\[[0-?]{0,64}[ -/]{0,8}[@-~]|\][^\x07\x1b\n]{0,4096}(?:\x07|\x1b\\)|[@-Z\\-_])|\x9b[0-?]{0,64}[@-~]"
"""Escape sequences of terminals: colours, moves, titles, links."""
_ODD = r"[^\t-\r\x20-\x7e]"
_TAG = r"</?[A-Za-z][A-Za-z0-9]{0,15}(?:\s[^<>]{0,1024})?/?>"
_PART = re.compile(
    rf"(?P<escape>{ESCAPES})|(?P<comment><!--)|(?P<tag>{_TAG})|(?P<entity>&(?:#[xX]?)?[0-9A-Za-z]{{1,31}};?)|(?P<escaped>\\[!-/:-@\[-`{{-~])|(?P<odd>{_ODD})"
)
_PLAIN = re.compile(rf"(?P<escape>{ESCAPES})|(?P<odd>{_ODD})")
_BLOCKS = "address article br dd div dl dt h1 h2 h3 h4 h5 h6 hr li ol p pre section table tbody td tfoot th thead tr ul"
_SPLITTING = frozenset(_BLOCKS.split())
"""Elements that end a line or a cell; all others join what stands around them."""
_UNSHOWN = re.compile(
    r"\s(?:align|bgcolor|border|class|colspan|height|href|id|name|rel|rowspan|size|span|src|style|type|valign|width)"
    r"\s*=\s*(?:\"[^\"]*\"|'[^']*'|[^\s\"'>]+)",
    re.I,
)
"""Attributes that are not shown to a reader."""
_SUPERS = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻", "0123456789+-", strict=True))
_SUBS = dict(zip("₀₁₂₃₄₅₆₇₈₉", "0123456789", strict=True))
_GIVEN = {
    "\u2212": "-", "\u2010": "-", "\u2011": "-", "\ufe63": "-", "\uff0d": "-", "\u2012": "–", "\u2015": "–",
    "\u2019": "'", "\u02bc": "'", "\u2032": "'", "\u201a": ",", "\u066b": ".", "\u066c": ",", "\u066a": "%",
    "\u00a0": "\u00a0", "\u202f": "\u00a0", "\u2000": " ", "\u2001": " ", "\u2002": " ", "\u2003": " ", "\u3000": " ",
    "\u2028": "\n", "\u2029": "\n", "\u0085": "\n", "\u00b5": "µ", "\u03bc": "µ", "\u2800": "", "\u3164": "",
    "\u115f": "",
    "\u1160": "", "\uffa0": "", "\u2044": "\u2044", "\u2026": "…", "°": "°", "™": "™",
    "\u20dd": "", "№": "#", "🔟": "10", "💯": "100",
}  # fmt: skip
"""Characters that are read as another one; spaces that keep digits together become U+00A0."""
_GONE = frozenset({"Cc", "Cf", "Mn", "Me"})
TURNED = "\u202e\u202d"
"""Characters after which text may be shown in another order than it is stored in."""


@dataclass(frozen=True, slots=True)
class Readable:
    """A text as it is read, and where its parts came from."""

    text: str
    """What a reader sees."""
    places: list[int] = field(default_factory=list)
    """Places in the readable text at which the distance to the given text changes, ascending."""
    origins: list[int] = field(default_factory=list)
    """Where these places are in the given text."""

    def place(self, at: int) -> int:
        """Lead a place back to the given text."""
        known = bisect_right(self.places, at) - 1
        return at if known < 0 else self.origins[known] + at - self.places[known]


def readable(text: str, *, markup: bool) -> tuple[Readable, ...]:
    """Read a text as it is shown.

    Args:
        text: Any text.
        markup: Whether HTML is shown as a browser shows it; the output of a program is shown as it stands.

    Returns:
        The text, then what stands in comments and in shown attributes, each by itself.
    """
    pattern = _PART if markup else _PLAIN
    if not pattern.search(text):
        return (Readable(text),)
    made, length, at = [], 0, 0
    shown = Readable("", [], [])
    aside: list[Readable] = []
    closing = text.rfind("-->")
    while match := pattern.search(text, at):
        start, end = match.span()
        if match.lastgroup == "comment":
            # Nothing that is not closed is a comment.
            end = text.find("-->", end) + 3 if end <= closing else end
        piece, hidden = _read(match.lastgroup or "", text[start:end], before=text[start - 1 : start])
        if hidden:
            aside.append(Readable(hidden, [0], [start]))
        made += [text[at:start], piece]
        length += start - at
        if len(piece) != end - start:
            shown.places.extend((length, length + len(piece)))
            shown.origins.extend((start, end))
        length, at = length + len(piece), end
    made.append(text[at:])
    parts = [part for one in aside for part in _aside(one)]
    return (Readable("".join(made), shown.places, shown.origins), *parts)


def _aside(one: Readable) -> tuple[Readable, ...]:
    """Read what is not shown in the line of the text, for example a comment."""
    inner = readable(one.text, markup=False)[0]
    return (Readable(inner.text, [0], one.origins),)


def _read(kind: str, written: str, *, before: str) -> tuple[str, str]:
    """Give what one part is read as, and what it holds besides."""
    if kind == "odd":
        return _folded(written, before), ""
    if kind == "escaped":
        return written[1], ""
    if kind == "comment":
        return ("", f"    {written[4:-3]}") if written.endswith("-->") else (written, "")
    if kind == "tag":
        name = re.match(r"</?(\w+)", written)
        known = name[0] if name else "<"
        kept = " " * len(known) + _UNSHOWN.sub(" ", written[len(known) : -1])
        splits = known.strip("</").lower() in _SPLITTING
        return "\n" if splits else "", kept if any(map(str.isnumeric, kept)) else ""
    if kind == "entity":
        read = html.unescape(written)
        return (written if read == written else "".join(_folded(one, before) for one in read)), ""
    return "", ""


def _folded(character: str, before: str) -> str:
    """Read one character; a raised digit behind a digit or letter is an exponent."""
    if character in _SUPERS:
        digit = _SUPERS[character]
        return f"^{digit}" if (before.isalnum() or before in (")", "]")) and before not in _SUPERS else digit
    if character in _SUBS:
        digit = _SUBS[character]
        return f"_{digit}" if before.isdigit() and before.isascii() else digit
    read = _read_as(character)
    # "2½" is read 2.5.
    return read[1:] if read.startswith("0.") and before.isdigit() else read


@lru_cache(maxsize=4096)
def _read_as(character: str) -> str:
    if character in _GIVEN:
        return _GIVEN[character]
    category = unicodedata.category(character)
    if category in _GONE and character not in "\t\n\v\f\r":
        return ""
    if character.isascii():
        return character
    if category == "Zs":
        return "\u00a0"
    if category[0] == "N":
        return _numeral(character)
    read = unicodedata.normalize("NFKC", character)
    return read if read.isascii() or "μ" in read else character


def _numeral(character: str) -> str:
    """Write a character that is a number in digits; a fraction that does not end keeps its bar."""
    value = unicodedata.numeric(character, None)
    if value is None:
        return character
    if value == int(value):
        return str(int(value))
    written = f"{value:.4f}".rstrip("0")
    return written if float(written) == value else unicodedata.normalize("NFKC", character)
