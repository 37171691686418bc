"""count: how many records there are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kmnb.core.describe import Example, Operation, Param
from kmnb.core.ranges import Facts
from kmnb.core.records import Batch
from kmnb.core.slice import Slice
from kmnb.errors import BadRequest, BoundExceeded

_MARK = b"\xef\xbb\xbf"


class CountRun:
    """Records under way.

    Args:
        strict: Whether a bad record raises.
        max_bytes: Cap of the answer's text in bytes.
    """

    wanted: tuple[str, ...] = ()
    """No column is looked at; a format that reads by range needs to read none."""

    def __init__(self, *, strict: bool, max_bytes: int) -> None:
        self._strict, self._cap = strict, max_bytes
        self._count = self._skipped = 0
        self._known: int | None = None
        self._problems: list[Any] = []

    def plan(self, facts: Facts) -> None:
        """Take the number from what is known, so that nothing need be read."""
        self._known = facts.rows if not self._strict else None
        self._skipped = facts.skipped if self._known is not None else 0

    @property
    def done(self) -> bool:
        """Whether more input cannot change the answer."""
        return self._known is not None

    def feed(self, item: Any) -> None:
        """Take the next batch of records."""
        batch: Batch = item
        rows = batch.rows
        if batch.kind == "text":
            # A line of blanks is no record.
            self._count += sum(1 for row in rows if row and not row.isspace())
            # Nor is a byte order mark, with or without blanks behind it.
            first = rows[0] if rows and not batch.start else b""
            self._count -= first.startswith(_MARK) and not first.removeprefix(_MARK).strip()
            return
        self._count += batch.counted
        self._skipped += batch.left_out
        self._problems += batch.problems[: 20 - len(self._problems)]
        if self._strict and self._problems:
            raise BadRequest(f"line {self._problems[0].line}", self._problems[0].reason)

    def finish(self) -> Slice:
        """Give the number."""
        count = self._known if self._known is not None else self._count
        text = f"{count}\n"
        if len(text) > self._cap:
            step = "Raise max_bytes."
            raise BoundExceeded("the count", f"it needs {len(text)} bytes", step, limit="max_bytes", value=self._cap)
        return Slice(
            [count], text, complete=True, shown=1, total=1, skipped=self._skipped, problems=tuple(self._problems)
        )


class CountSip:
    """The plug-in."""

    feeds = "records"
    counts_lines = True
    operation = Operation(
        "count",
        "Count the records, as the format defines them; else the lines that are not blank.",
        (
            Param("delimiter", "text", "Character between cells; found out when not given.", advanced=True),
            Param("quote", "text", "Quote character of cells.", advanced=True),
            Param("encoding", "text", "Text encoding; found out when not given.", advanced=True),
            Param("header", "flag", "Whether the first record names the columns.", advanced=True),
            Param("strict", "flag", "Whether a bad record is an error.", False, advanced=True),
        ),
        (
            Example(b"a\n\n  \nb", {}, (2,), "2\n"),
            Example(b"", {}, (0,), "0\n"),
            Example(b'{"items":[{"a":1},{"a":2}]}', {}, (2,), "2\n"),
        ),
    )

    def start(self, arguments: Mapping[str, Any], *, max_bytes: int) -> CountRun:
        """Begin."""
        return CountRun(strict=arguments["strict"], max_bytes=max_bytes)


SIP = CountSip()
