"""count: how many records there are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kmnb.core.describe import Example, Operation
from kmnb.core.slice import Slice


class CountRun:
    """Non-blank lines under way."""

    done = False

    def __init__(self) -> None:
        self._count = 0
        self._rest = b""

    def feed(self, item: Any) -> None:
        """Take the next block."""
        *lines, rest = (self._rest + item).split(b"\n")
        self._rest = b"x" if rest.strip() else b""
        self._count += sum(1 for line in lines if line.strip())

    def finish(self) -> Slice:
        """Give the number."""
        count = self._count + bool(self._rest)
        return Slice([count], f"{count}\n", True, 1, 1)


class CountSip:
    """The plug-in."""

    feeds = "blocks"
    operation = Operation(
        "count",
        "Count the records, as the format defines them; else the lines that are not blank.",
        (),
        (Example(b"a\n\n  \nb", {}, (2,), "2\n"), Example(b"", {}, (0,), "0\n")),
    )

    def start(self, arguments: Mapping[str, Any], *, max_bytes: int) -> CountRun:
        """Begin."""
        return CountRun()


SIP = CountSip()
