"""head: the first lines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kmnb.core.describe import Example, Operation, Param
from kmnb.core.slice import Slice
from kmnb.sips.lines import LinesRun


class HeadRun(LinesRun):
    """The first lines; none of them when none are asked for."""

    def __init__(self, lines: int, *, max_bytes: int, cursor: str | None) -> None:
        super().__init__(0, lines, max_bytes=max_bytes, cursor=cursor)
        self._nothing = lines == 0

    def finish(self) -> Slice:
        """Give the page."""
        page = super().finish()
        if not self._nothing:
            return page
        return Slice([], "", True, 0, page.total, page.total_is_lower_bound)


class HeadSip:
    """The plug-in."""

    feeds = "blocks"
    operation = Operation(
        "head",
        "Show the first lines.",
        (
            Param("lines", "integer", "How many lines.", 20, positional=True, minimum=0, below="default"),
            Param("cursor", "text", "Where an earlier page ended.", advanced=True),
        ),
        (
            Example(b"alpha\nbravo\ncharlie\n", {"lines": 2}, ("alpha", "bravo"), "alpha\nbravo\n[lines 0-1 of 3]\n"),
            Example(b"alpha\n", {"lines": 0}, (), ""),
        ),
    )

    def start(self, arguments: Mapping[str, Any], *, max_bytes: int) -> HeadRun:
        """Begin."""
        return HeadRun(arguments["lines"], max_bytes=max_bytes, cursor=arguments.get("cursor"))


SIP = HeadSip()
