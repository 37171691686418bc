"""The grammar of embeds, ``«type:expression | format»``: found in whole texts and in streams, split into chains. Pure.

An embed stands on one line and has at most :data:`EMBED_MAX_CHARS` characters. In the types that name artifacts an
argument may stand in double quotes, so that ``|``, ``:``, ``,``, ``>>>`` and ``»`` can be part of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

OPEN, CLOSE = "«", "»"
EMBED_MAX_CHARS = 8192
"""Longest embed in characters, both marks included; a longer one is plain text. No more of a stream is held back."""
QUOTES_MAX = 64
"""Most quotation marks of an embed; with more it is plain text."""
CHAIN_TYPES = frozenset({"artifact_content", "artifact_meta", "artifact_return"})
"""Types whose expression names an artifact, so that it may hold quoted parts."""

_START = re.compile(r"«([A-Za-z0-9_]{1,64}):")
_BEGUN = re.compile(r"«[A-Za-z0-9_]{0,64}\Z")
_SPECIAL = re.compile('["»\n]')
_QUOTED = re.compile(r'"((?:[^"\\\n]|\\[^\n])*)"(?=[ \t]*(?:[|»:,]|>>>|\Z))')
_BEFORE_QUOTE = re.compile(r"(?:[:,]|>>>)[ \t]*\Z")
_ESCAPE = re.compile(r'\\(["\\])')


@dataclass(frozen=True, slots=True)
class Embed:
    """One directive as it stands in a text."""

    type: str
    """Name of the type."""
    expression: str
    """What stands between the colon and the format, stripped."""
    format: str | None
    """What stands behind the bar; None without one."""
    raw: str
    """The whole directive, marks included."""


@dataclass(frozen=True, slots=True)
class Step:
    """One modifier of a chain."""

    name: str
    """Name of the modifier."""
    argument: str
    """Its argument as written; quotes still stand."""


@dataclass(frozen=True, slots=True)
class Chain:
    """The expression of ``artifact_content``: an artifact, and what is done with it."""

    name: str
    """File name, ``user:`` included."""
    version: int | None
    """Pinned version; None for the latest."""
    steps: tuple[Step, ...]
    """Modifiers in order."""
    format: str | None
    """Output format; None for text."""


class Scanner:
    """Cuts a text that arrives in pieces into plain text and embeds; cutting it elsewhere changes nothing.

    What may still become an embed is held back, at most :data:`EMBED_MAX_CHARS` characters.
    """

    def __init__(self) -> None:
        self._held = ""

    @property
    def held(self) -> int:
        """Number of characters that are held back."""
        return len(self._held)

    def feed(self, text: str) -> Iterator[str | Embed]:
        """Take the next piece; walk the answer to its end before the next call.

        Args:
            text: Any text.
        """
        return self._cut(self._held + text, ended=False)

    def finish(self) -> Iterator[str | Embed]:
        """End the text; what was held back comes out."""
        return self._cut(self._held, ended=True)

    def _cut(self, text: str, *, ended: bool) -> Iterator[str | Embed]:
        self._held, place, begun, close = "", 0, 0, -1
        while (start := text.find(OPEN, place)) >= 0:
            close = close if close >= start else text.find(CLOSE, start)
            if close < 0 and ended:
                break
            close = len(text) if close < 0 else close
            # What begins on an earlier line or too far before the next end cannot be an embed: it is leapt over, so
            # that hostile text is cut in linear time.
            floor = max(text.rfind("\n", start, close), close - EMBED_MAX_CHARS) + 1
            if floor > start:
                place = floor
                continue
            place, found = _read_embed(text, start, ended=ended)
            if place < 0:
                self._held, text = text[start:], text[:start]
                break
            if found is not None:
                if start > begun:
                    yield text[begun:start]
                yield found
                begun = place
        if begun < len(text):
            yield text[begun:]


def cut_text(text: str) -> Iterator[str | Embed]:
    """Cut a whole text into plain text and embeds."""
    scanner = Scanner()
    yield from scanner.feed(text)
    yield from scanner.finish()


def _read_embed(text: str, start: int, *, ended: bool) -> tuple[int, Embed | None]:
    """Read what begins with a mark: where it ends and what it is; −1 while only more text can tell."""
    head = _START.match(text, start)
    if head is None:
        return (-1 if not ended and _BEGUN.match(text, start) else start + 1), None
    limit = min(len(text), start + EMBED_MAX_CHARS)
    is_decided = ended or limit < len(text) or limit - start == EMBED_MAX_CHARS
    place, quotes = head.end(), 0
    while special := _SPECIAL.search(text, place, limit):
        place = special.end()
        if special[0] == "\n":
            return start + 1, None
        if special[0] == CLOSE:
            return place, _embed(head[1], text[head.end() : special.start()], text[start:place])
        quotes += 1
        if quotes > QUOTES_MAX:
            return start + 1, None
        if head[1] in CHAIN_TYPES and _BEFORE_QUOTE.search(text, max(start, special.start() - 64), special.start()):
            quoted = _QUOTED.match(text, special.start(), limit)
            if quoted is not None and (quoted.end() < limit or is_decided):
                place = quoted.end()
            elif not is_decided and text.find("\n", place, limit) < 0:
                return -1, None
    return (start + 1 if is_decided else -1), None


def _embed(kind: str, body: str, raw: str) -> Embed:
    parts = _split(body, "|", 1) if kind in CHAIN_TYPES else body.split("|", 1)
    return Embed(kind, parts[0].strip(), parts[1].strip() if len(parts) == 2 else None, raw)


def parse_chain(embed: Embed) -> Chain:
    """Read an expression that names an artifact.

    A step without a colon or without an argument is dropped; ``format:`` counts as the last step only.

    Args:
        embed: A directive of one of :data:`CHAIN_TYPES`.
    """
    spec, *rest = _split(embed.expression, ">>>")
    steps = []
    for text in rest:
        name, colon, argument = text.partition(":")
        if colon and argument.strip():
            steps.append(Step(name.strip(), argument.strip()))
    form = embed.format
    if steps and steps[-1].name == "format":
        form = unquote(steps.pop().argument)
    name, version = parse_spec(spec.strip())
    return Chain(name, version, tuple(steps), form)


def parse_spec(text: str) -> tuple[str, int | None]:
    """Read ``filename[:version]``; ``user:`` before it belongs to the name, ``latest`` is the latest version.

    Args:
        text: Name and version; the name may be quoted.
    """
    pieces = _split(text, ":")
    last = pieces[-1].strip()
    if len(pieces) > 1 and (last == "latest" or (last.isascii() and last.isdigit() and len(last) <= 18)):
        version = None if last == "latest" else int(last)
        return _joined(pieces[:-1]), version
    return _joined(pieces), None


def _joined(pieces: list[str]) -> str:
    return ":".join(unquote(piece) for piece in pieces).strip()


def split_argument(text: str, separator: str, limit: int = -1) -> list[str]:
    """Split an argument outside its quotes; the pieces are stripped, and unquoted.

    Args:
        text: The argument as written.
        separator: What stands between the pieces.
        limit: Most splits; −1 for any number.
    """
    return [unquote(piece) for piece in _split(text, separator, limit)]


def unquote(text: str) -> str:
    r"""Take the quotes from a quoted piece; in them ``\"`` and ``\\`` are one character. Other text is stripped."""
    bare = text.strip()
    found = _QUOTED.fullmatch(bare)
    return bare if found is None else _ESCAPE.sub(r"\1", found[1])


def _split(text: str, separator: str, limit: int = -1) -> list[str]:
    pieces: list[str] = []
    begun = place = 0
    while place < len(text) and len(pieces) != limit:
        quote, cut = text.find('"', place), text.find(separator, place)
        if cut < 0:
            break
        if 0 <= quote < cut:
            is_opening = not text[:quote].strip() or _BEFORE_QUOTE.search(text, max(0, quote - 64), quote)
            quoted = _QUOTED.match(text, quote) if is_opening else None
            place = quoted.end() if quoted is not None else quote + 1
            continue
        pieces.append(text[begun:cut])
        begun = place = cut + len(separator)
    return [*pieces, text[begun:]]
