"""Fenced blocks in what a model writes, as Agent Mesh has them: an artifact between two marks. Pure.

::

    «««save_artifact: filename="report.md" mime_type="text/markdown" description="…" tags="a,b"
    content
    »»»

Parameters stand on the first line, values in double quotes without quotes inside. A template block inside is content.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

START, CLOSE = "«««save_artifact:", "»»»"
HEADER_MAX_CHARS = 8192
"""Longest first line in characters; a longer one is plain text. No more of a text outside blocks is held back."""

_TEMPLATES = ("«««template:", "«««template_liquid:")
_INSIDE = re.compile("|".join((*_TEMPLATES, CLOSE)))
_PARAMETER = re.compile(r'(\w{1,64})\s*=\s*"([^"\n]*)"')


@dataclass(frozen=True, slots=True)
class Begun:
    """A block begins."""

    parameters: Mapping[str, str]
    """What its first line says."""
    header: str
    """The first line itself, with its end."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Some content of the block."""

    text: str
    """Never empty."""


@dataclass(frozen=True, slots=True)
class Ended:
    """The block is whole, or the text ended inside it."""

    is_whole: bool
    """Whether its closing mark was there."""


Event = str | Begun | Piece | Ended
"""Plain text is a ``str``."""


class FenceScanner:
    """Cuts a text that arrives in pieces into plain text and blocks; cutting it elsewhere changes nothing."""

    def __init__(self) -> None:
        self._held, self._inside, self._depth = "", False, 0

    def feed(self, text: str) -> Iterator[Event]:
        """Take the next piece; walk the answer to its end before the next call."""
        return self._walk(self._held + text, ended=False)

    def finish(self) -> Iterator[Event]:
        """End the text; what was held back comes out."""
        return self._walk(self._held, ended=True)

    def _walk(self, text: str, *, ended: bool) -> Iterator[Event]:
        self._held = ""
        while text:
            step = self._content if self._inside else self._outside
            events, rest = step(text, ended)
            yield from events
            if rest == text:
                self._held = text
                break
            text = rest
        if ended and self._inside:
            self._inside, self._depth = False, 0
            yield Ended(is_whole=False)

    def _outside(self, text: str, ended: bool) -> tuple[list[Event], str]:
        """Give what can be told, and the rest; the rest is all of the text where nothing can."""
        begin = text.find(START)
        if begin != 0:
            cut = begin if begin > 0 else len(text) - (0 if ended else _overlap(text, (START,)))
            return ([text[:cut]] if cut else []), text[cut:]
        end = text.find("\n", 0, HEADER_MAX_CHARS)
        if end < 0 and not ended and len(text) < HEADER_MAX_CHARS:
            return [], text
        if end < 0:
            return [START], text[len(START) :]
        self._inside, self._depth = True, 0
        header = text[: end + 1]
        return [Begun(dict(_PARAMETER.findall(header)), header)], text[end + 1 :]

    def _content(self, text: str, ended: bool) -> tuple[list[Event], str]:
        found = _INSIDE.search(text)
        if found is None:
            cut = len(text) - (0 if ended else _overlap(text, (*_TEMPLATES, CLOSE)))
            return ([Piece(text[:cut])] if cut else []), text[cut:]
        closes = found[0] == CLOSE and not self._depth
        self._depth += 0 if closes else -1 if found[0] == CLOSE else 1
        content = text[: found.start() if closes else found.end()]
        events: list[Event] = [Piece(content)] if content else []
        if closes:
            self._inside = False
            events.append(Ended(is_whole=True))
        return events, text[found.end() :]


def _overlap(text: str, marks: tuple[str, ...]) -> int:
    """How many characters at the end of a text may be the beginning of a mark."""
    longest = min(len(text), max(map(len, marks)) - 1)
    return next((size for size in range(longest, 0, -1) if any(mark.startswith(text[-size:]) for mark in marks)), 0)
