"""Search and replace as Agent Mesh's tool does it: literal or by RE2, one or all, several at once or none. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kmnb.errors import BadRequest

_GROUP = re.compile(r"\$(\$|[0-9]{1,2})")


@dataclass(frozen=True, slots=True)
class Replacement:
    """One search with what takes the place of its matches."""

    search: str
    """A text, or a regular expression."""
    replace: str
    """What takes its place; in a regular one ``$1`` is a group and ``$$`` a dollar."""
    is_regexp: bool = False
    """Whether the search is a regular expression."""
    flags: str = ""
    """``g`` all matches, ``i`` any case, ``m`` lines, ``s`` the dot matches line ends."""

    @classmethod
    def of(cls, value: Any) -> Replacement:
        """Read one of a batch: ``search``, ``replace``, ``is_regexp``, ``regexp_flags``.

        Raises:
            BadRequest: It is no such object.
        """
        if not isinstance(value, dict) or not isinstance(value.get("search"), str):
            raise BadRequest("replacements", "are objects with search and replace")
        flags = str(value.get("regexp_flags") or "")
        return cls(value["search"], str(value.get("replace", "")), bool(value.get("is_regexp")), flags)

    def pattern(self) -> str:
        """The regular expression with its flags.

        Raises:
            BadRequest: An empty search or an unknown flag.
        """
        if not self.search:
            raise BadRequest("search_expression", "is empty")
        unknown = set(self.flags) - set("gims")
        if unknown:
            raise BadRequest(f"regexp_flags {self.flags!a:.40}", "are not known", "Known: g, i, m, s.")
        inline = "".join(sorted(set(self.flags) - {"g"}))
        return f"(?{inline}){self.search}" if inline else self.search

    def fill(self, match: Any) -> str:
        """What takes the place of a match."""

        def group(found: re.Match[str]) -> str:
            if found[1] == "$":
                return "$"
            number = int(found[1])
            return (match.group(number) or "") if number <= len(match.groups()) else found[0]

        return _GROUP.sub(group, self.replace)


def replace_all(
    text: str, replacements: list[Replacement], compile_pattern: Callable[[str], Any], *, max_chars: int
) -> tuple[str, int]:
    """Apply replacements in order.

    Args:
        text: The text.
        replacements: One, or a batch, in which an expression without ``g`` may match only once.
        compile_pattern: Compiles a regular expression in linear time.
        max_chars: Longest result in characters.

    Returns:
        The new text, and the number of matches; 0 where any of them matches nothing.

    Raises:
        BadRequest: An ambiguous match of a batch, an unknown flag, or a result that is too long.
    """
    total = 0
    for item in replacements:
        text, count = _apply(text, item, compile_pattern, is_batch=len(replacements) > 1, max_chars=max_chars)
        if not count:
            return text, 0
        total += count
    return text, total


def _apply(
    text: str, item: Replacement, compile_pattern: Callable[[str], Any], *, is_batch: bool, max_chars: int
) -> tuple[str, int]:
    pattern = item.pattern()
    if not item.is_regexp:
        count = text.count(item.search)
        if len(text) + count * (len(item.replace) - len(item.search)) > max_chars:
            raise BadRequest("the result", f"has more than {max_chars:,} characters")
        return text.replace(item.search, item.replace), count
    pieces, place, count, size = [], 0, 0, 0
    for match in compile_pattern(pattern).finditer(text):
        count += 1
        if count > 1 and "g" not in item.flags:
            if is_batch:
                raise BadRequest(f"search {item.search!a:.200}", "matches more than once", "Add the flag g.")
            count = 1
            break
        filled = item.fill(match)
        size += match.start() - place + len(filled)
        if size > max_chars:
            raise BadRequest("the result", f"has more than {max_chars:,} characters")
        pieces += [text[place : match.start()], filled]
        place = match.end()
    return "".join(pieces) + text[place:], count
