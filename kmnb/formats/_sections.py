"""Results of several tools in one text: each begins with a line ``[tool]``, as Kubemoot writes them.

Structured operations read one section: the first, or the one that is named. A text whose first line is no section
line is one section without a name.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from kmnb.core.bounds import KIB
from kmnb.core.visible import visible
from kmnb.errors import BadRequest, clip

_LINE = rb"\[(?!(?:null|true|false|NaN|Infinity)\])([A-Za-z_][\w.:/-]*)\][ \t]*\r?"
_FIRST_LINE = re.compile(rb"(?:\xef\xbb\xbf)?" + _LINE + rb"\Z")
_SECTION_LINES = re.compile(rb"^(?:\xef\xbb\xbf)?" + _LINE + rb"$", re.MULTILINE)
_LINE_MAX = 4 * KIB


def first_section(text: bytes) -> tuple[bytes, bool]:
    """Give the first section of the beginning of a text, without the line that names it.

    Returns:
        Its text, and whether another section follows it; all of the text where it has no sections.
    """
    first, _, rest = text.partition(b"\n")
    if not _FIRST_LINE.match(first):
        return text, False
    following = _SECTION_LINES.search(rest)
    return (rest, False) if following is None else (rest[: following.start()], True)


def sections_note(names: Sequence[str]) -> list[str]:
    """Say that only the first of several sections was read; nothing where there is but one.

    Args:
        names: Names of the sections, at least the first two of several.
    """
    if len(names) < 2:
        return []
    first, second = (clip(visible(name), 60) for name in names[:2])
    return [f"only the first section, {first}, was read; section= names another, such as {second}"]


class SectionFilter:
    """Let the text of one section pass.

    Args:
        section: Name of the section; None for the first.
    """

    def __init__(self, section: str | None = None) -> None:
        self._wanted = section.encode() if section else None
        self._rest = b""
        self._has_sections: bool | None = None
        self._passing = section is None
        self._over = False
        self.names: list[str] = []

    @classmethod
    def passing(cls) -> SectionFilter:
        """Make one for text that is known to have no sections."""
        made = cls()
        made._has_sections = False
        return made

    @property
    def notes(self) -> list[str]:
        """What to tell of sections that were left out without being asked to."""
        return sections_note(self.names) if self._wanted is None else []

    def feed(self, block: bytes) -> bytes:
        """Take the next block and give what of it belongs to the section."""
        if self._has_sections is False:
            return block
        if self._over and self._wanted is None:
            return b""
        data = self._rest + block
        cut = data.rfind(b"\n") + 1
        if not cut and len(data) > _LINE_MAX:
            cut = len(data)
        if self._has_sections is None and cut:
            self._look_first(data)
            if self._has_sections is False:
                self._rest = b""
                return data
        self._rest = data[cut:]
        return self._sift(data[:cut])

    def finish(self) -> bytes:
        """Give what is left.

        Raises:
            BadRequest: There is no section of that name; the message lists those that there are.
        """
        rest, self._rest = self._rest, b""
        if self._has_sections is None and rest:
            self._look_first(rest)
        left = rest if self._has_sections is False else self._sift(rest)
        if self._wanted is not None and self._wanted.decode("utf-8", "replace") not in self.names:
            known = ", ".join(self.names[:20]) or "none"
            raise BadRequest(
                f"section {clip(self._wanted.decode('utf-8', 'replace'), 100)!r}", "there is none", f"Known: {known}"
            )
        return left

    def _look_first(self, data: bytes) -> None:
        self._has_sections = _FIRST_LINE.match(data.partition(b"\n")[0]) is not None
        if self._wanted is not None and not self._has_sections:
            self._passing = False

    def _sift(self, body: bytes) -> bytes:
        kept: list[bytes] = []
        place = 0
        for match in _SECTION_LINES.finditer(body):
            if self._passing:
                kept.append(body[place : match.start()])
            self._enter(match.group(1))
            place = match.end() + 1
        if self._passing:
            kept.append(body[place:])
        return b"".join(kept)

    def _enter(self, name: bytes) -> None:
        first = not self.names
        self.names.append(name.decode("utf-8", "replace"))
        if self._wanted is None:
            self._passing = first
            self._over = not first
        else:
            self._passing = name == self._wanted
