"""Find the lines of a block that match; a block is scanned as a whole, never line by line."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from kmnb.core.pages import nth_newline
from kmnb.errors import ExpressionError

PATTERN_MAX_BYTES = 64 * 1024
"""Longest pattern in UTF-8 bytes."""
PROGRAM_MAX_BYTES = 16 * 1024 * 1024
"""Memory that RE2 may use for a pattern, in bytes."""

OVERLAP_BYTES = 64 * 1024
"""Longest match that is found for certain in a line that is too long to be kept, in bytes."""

_MARK = b"\xef\xbb\xbf"
_ARRAY_BYTES = 256 * 1024
_LF = 10
_META = frozenset(r"\.^$*+?{}[]|()")
_CODES = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\))")
_TOKENS = re.compile(r"\\Q.*?(?:\\E|$)|\\.|\[\^?\]?(?:\[:\^?\w+:\]|\\.|[^\]\\])*+(?:\]|\\?\Z)", re.DOTALL)
_SINGLE_LINE = re.compile(r"\(\?[a-zA-Z]*-[a-zA-Z]*m")
_ASKS_FOR_CR = re.compile(r"\\r|\\x0[dD]|\\x\{0*[dD]\}|\\015|\r")


@dataclass(frozen=True, slots=True)
class Hit:
    """A line of a block that matches."""

    index: int
    """Number of the line in the block, from 0."""
    start: int
    """Where it begins in the block."""
    end: int
    """Where its LF stands in the block."""
    text: bytes
    """The line as it was matched, without its line end."""


class Scanner:
    """Finds matching lines in blocks of whole lines.

    Args:
        pattern: What to look for.
        fixed: Whether the pattern is plain text.
        ignore_case: Whether letters match in both cases.
        strip_ansi: Whether colour codes are taken out first.

    Raises:
        ExpressionError: RE2 does not understand the pattern, or it is too large.
    """

    def __init__(self, pattern: str, *, fixed: bool, ignore_case: bool, strip_ansi: bool) -> None:
        _check(pattern)
        plain = fixed or not _META.intersection(pattern)
        self._strip = strip_ansi
        self._find: Callable[[bytes, int], int]
        self._span: Callable[[bytes, int, int], bool]
        self._drop_cr = not _ASKS_FOR_CR.search(pattern)
        literal = pattern.encode("utf-8", "surrogatepass")
        # Plain text means the same with and without the CR of a line end, so blocks need not be rewritten for it.
        self._derive_cr = self._drop_cr and not (plain and literal)
        if plain and b"\n" in literal:
            self._find = lambda block, place: -1
            self._span = lambda text, start, end: False
        else:
            # RE2 finds plain text too, several times as fast as bytes.find.
            search = _compiled(re2_source(pattern, plain=plain), ignore_case=ignore_case).search
            self._find = _regex_finder(search)
            self._span = lambda text, start, end: search(text, start, end) is not None

    def shown(self, line: bytes) -> bytes:
        """Give a line as it is shown where nothing was matched in it."""
        line = line.removesuffix(b"\r")
        return _CODES.sub(b"", line) if self._strip else line

    def hits(self, block: bytes, *, is_first: bool = False) -> Iterator[Hit]:
        """Walk the matching lines of a block that ends with LF, in order; a byte order mark is no part of a line."""
        derived = block.removeprefix(_MARK) if is_first else block
        if self._strip and b"\x1b" in block:
            derived = _CODES.sub(b"", derived)
        if self._derive_cr and b"\r" in derived and b"\r\n" in derived:
            derived = derived.replace(b"\r\n", b"\n")
        if derived is block:
            yield from self._plain_hits(block)
        else:
            yield from self._derived_hits(block, derived)

    def within(self, text: bytes, start: int, end: int) -> bool:
        """Tell whether a match begins and ends inside a piece of a line; what is around it is seen, not matched."""
        return self._span(text, start, end)

    def _plain_hits(self, block: bytes) -> Iterator[Hit]:
        place = index = 0
        for found in self._walk(block):
            start = block.rfind(b"\n", place, found) + 1 or place
            end = block.index(b"\n", found)
            index += block.count(b"\n", place, start)
            yield Hit(index, start, end, self._text(block, start, end))
            place, index = end + 1, index + 1

    def _derived_hits(self, block: bytes, derived: bytes) -> Iterator[Hit]:
        place = source = index = 0
        for found in self._walk(derived):
            start = derived.rfind(b"\n", place, found) + 1 or place
            end = derived.index(b"\n", found)
            passed = derived.count(b"\n", place, start)
            begin = nth_newline(block, passed, source) + 1 if passed else source
            source = block.index(b"\n", begin)
            index += passed
            # Where CRs were taken out before, one more belongs to the line.
            text = derived[start:end] if self._derive_cr else self._text(derived, start, end)
            yield Hit(index, begin, source, text)
            place, source, index = end + 1, source + 1, index + 1

    def _walk(self, block: bytes) -> Iterator[int]:
        """Give one place in every matching line."""
        place, size, find = 0, len(block), self._find
        while place < size:
            found = find(block, place)
            if found < 0 or found >= size:
                return
            yield found
            place = block.index(b"\n", found) + 1

    def _text(self, block: bytes, start: int, end: int) -> bytes:
        return block[start : end - 1] if end > start and block[end - 1] == 13 else block[start:end]


class LongLine:
    """A line that is too long to be kept. It is matched in pieces that overlap.

    A match is found when it has at most :data:`OVERLAP_BYTES`, or stands in the beginning that is kept.

    Args:
        scanner: What to look for.
        head: The beginning of the line.
    """

    def __init__(self, scanner: Scanner, head: bytes) -> None:
        self._scanner, self.head, self.size = scanner, head, len(head)
        self._found = scanner.within(head + b"x", 0, len(head))
        self._last = head[-OVERLAP_BYTES:]

    def feed(self, piece: bytes) -> None:
        """Take more of it."""
        self.size += len(piece)
        if self._found or not piece:
            return
        text = self._last + piece
        # The first byte only says that the line does not begin here, the last that it does not end.
        self._found = self._scanner.within(text, 1, len(text) - 1)
        self._last = text[-OVERLAP_BYTES:]

    def matches(self) -> bool:
        """Tell whether it matches, now that it has ended."""
        text = self._last.removesuffix(b"\r") + b"\n"
        return self._found or self._scanner.within(text, 1, len(text) - 1)


def count_lines(block: bytes) -> int:
    """Count the LF of a block; a large one at the speed of memory."""
    if len(block) < _ARRAY_BYTES:
        return block.count(b"\n")
    import numpy

    return int(numpy.count_nonzero(numpy.frombuffer(block, numpy.uint8) == _LF))


def inverted(block: bytes, hits: Iterable[Hit], shown: Callable[[bytes], bytes]) -> Iterator[Hit]:
    """Walk the lines of a block that are not among the hits, as they are shown."""
    place = index = 0
    for hit in (*hits, None):
        stop = hit.start if hit is not None else len(block)
        while place < stop:
            end = block.index(b"\n", place)
            yield Hit(index, place, end, shown(block[place:end]))
            place, index = end + 1, index + 1
        if hit is not None:
            place, index = hit.end + 1, index + 1


def _check(pattern: str) -> None:
    size = len(pattern.encode("utf-8", "surrogatepass"))
    if size > PATTERN_MAX_BYTES:
        raise ExpressionError("pattern", f"it has {size} bytes; the limit is {PATTERN_MAX_BYTES}", "Use a shorter one.")
    if _SINGLE_LINE.search(_TOKENS.sub("", pattern)):
        raise ExpressionError("pattern", "the flag m cannot be switched off", "Every line is matched by itself.")


def _regex_finder(search: Callable[..., Any]) -> Callable[[bytes, int], int]:
    def find(block: bytes, place: int) -> int:
        match = search(block, place)
        return match.start() if match is not None else -1

    return find


def re2_source(pattern: str, *, plain: bool) -> str:
    r"""Write a pattern so that it can be used on a block: ``^`` and ``$`` are line ends, ``\A`` and ``\z`` too."""
    import re2

    if plain:
        return str(re2.escape(pattern))
    ends = {r"\A": "^", r"\z": "$", r"\Z": "$"}
    return "(?m)" + _TOKENS.sub(lambda token: ends.get(token.group(), token.group()), pattern)


def _compiled(source: str, *, ignore_case: bool) -> Any:
    import re2

    options = re2.Options()
    options.never_nl = options.never_capture = True
    options.log_errors = False
    options.case_sensitive = not ignore_case
    options.max_mem = PROGRAM_MAX_BYTES
    try:
        return re2.compile(source.encode("utf-8", "surrogatepass"), options)
    except re2.error as error:
        reason = error.args[0] if error.args else "it is not RE2"
        reason = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
        reason = reason.replace("(?m)", "")
        raise ExpressionError("bad pattern", reason, "The syntax is RE2; fixed=True takes it as plain text.") from None
