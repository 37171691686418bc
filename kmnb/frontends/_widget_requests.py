"""What the preview in a browser may ask, and how it is answered.

The set is closed: a browser sends the name of a question and plain values, never a query of ours or code. Every
answer is bounded, and says in ``code`` which call of Python gives the same.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from kmnb.core.bounds import KIB, MIB
from kmnb.core.describe import Operation, Param
from kmnb.core.jsonable import json_text
from kmnb.errors import BoundExceeded
from kmnb.frontends._widget_answers import Table, answered
from kmnb.frontends._widget_code import duckdb_code, rows_code
from kmnb.frontends._widget_filters import order_of, where_text
from kmnb.frontends._widget_tree import tree_of
from kmnb.ops.column_facts import Columns
from kmnb.ops.named import versions_beside
from kmnb.ops.rows import RowReader

ANSWER_BYTES = 256 * KIB
"""Largest answer that is sent to a browser, in bytes of content."""
PAGE_ROWS = 100
"""Most rows or lines of one page."""
PAGE_BYTES = 4096
"""Most bytes of one page of the hexadecimal view."""
CELL_CHARACTERS = 500
"""Longest cell that is sent to be looked at; one that is copied is as long as the answer may be."""
PAGE_READ_BYTES = 8 * MIB
"""Most bytes that are read for a page of long lines."""
COLUMNS_MAX = 500
"""Most columns that are told."""

VERSIONS_MAX = 50
"""Most versions of a name that are told, the latest ones."""

_START = Param("start", "integer", "First one, from 0.", default=0, minimum=0)
_LIMIT = Param("limit", "integer", "Most of them.", default=20, minimum=1)
_WHOLE = Param("whole", "flag", "Whether long values are sent as far as the answer has room.", default=False)
_FILTERS = Param("filters", "json", "Conditions: dicts with column, op and value.")
_ORDER = Param("order", "json", "A dict with column and descending.")


class Questions:
    """Answers the questions of one preview; it remembers where it found rows.

    Args:
        artifact: The handle that is shown.
    """

    def __init__(self, artifact: Any) -> None:
        self._artifact = artifact
        self._rows = RowReader(artifact)
        self._columns = Columns(artifact, self._rows)

    async def answer(self, message: Any) -> dict[str, Any]:
        """Answer one message of a browser.

        Args:
            message: What came: a dict with ``id``, ``ask`` and ``arguments``; untrusted.

        Returns:
            Plain JSON with the same ``id``, and either ``answer`` or ``error`` (its code and one line of text).
        """
        return await answered(self, QUESTIONS, message)

    async def lines(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Give a page of lines."""
        start, limit = given["start"], min(given["limit"], PAGE_ROWS)
        page = await self._artifact.lines_async(start, limit, max_bytes=ANSWER_BYTES)
        found, notes, read = list(page.values), list(page.notes), page.fetched_bytes
        # Long lines fill an answer before the page is full; what is sent of them has room.
        while page.values and not page.complete and len(found) < limit and read < PAGE_READ_BYTES:
            page = await self._artifact.lines_async(start + len(found), limit - len(found), max_bytes=ANSWER_BYTES)
            found, notes, read = [*found, *page.values], [*notes, *page.notes], read + page.fetched_bytes
        rows, cut = fitting([[text] for text in found], whole=given["whole"])
        return {
            "start": start,
            "lines": [text for (text,) in rows],
            "total": page.total,
            "exact": not page.total_is_lower_bound,
            "notes": notes,
            "cut": max(cut, len(notes)),
            "code": f"art.lines({start}, {limit})",
        }

    async def rows(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Give a page of rows, filtered and in order."""
        start, limit = given["start"], min(given["limit"], PAGE_ROWS)
        where, order = where_text(given["filters"] or []), order_of(given["order"])
        try:
            page = await self._rows.page(start, limit, where=where, order=order)
        except BoundExceeded as refused:
            if order is None:
                raise
            # A refused order is an answer: it tells who sorts instead.
            instead = duckdb_code(self._artifact, given["filters"] or [], start + limit, order=order)
            return {"refused": {"text": str(refused), "instead": instead}}
        rows, cut = fitting(
            [[cell_text(value) for value in row[:COLUMNS_MAX]] for row in page.rows], whole=given["whole"]
        )
        return {
            "start": start,
            "columns": page.columns[:COLUMNS_MAX],
            "rows": rows,
            "cut": cut,
            "numbers": page.numbers,
            "total": page.total,
            "searched": page.searched,
            "code": rows_code(
                self._artifact, given["filters"] or [], slice(start, start + limit), page=page, order=order
            ),
        }

    async def find(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Give lines that match."""
        options = {name: given[name] for name in ("fixed", "ignore_case")}
        page = await self._artifact.grep_async(
            given["pattern"], max=PAGE_ROWS, cursor=given["cursor"], max_bytes=ANSWER_BYTES, **options
        )
        told = "".join(f", {name}={value!r}" for name, value in options.items() if value)
        return {
            "matches": [[match.index, match.text[:CELL_CHARACTERS]] for match in page.values],
            "total": page.total,
            "exact": not page.total_is_lower_bound,
            "cursor": page.cursor if not page.complete else None,
            "code": f"art.grep({given['pattern']!r}{told})",
        }

    async def bytes(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Give a page of bytes."""
        start, limit = given["start"], min(given["limit"], PAGE_BYTES)
        content = await self._artifact.read_async(start, limit)
        data = base64.b64encode(content).decode()
        return {"start": start, "data": data, "total": self._artifact.size, "code": f"art.read({start}, {limit})"}

    async def tree(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Give the children of a place in a document."""
        return await tree_of(self._artifact, self._rows, given)

    async def columns(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Tell of each column its type, its nulls, its range and its frequent values."""
        return await self._columns.told()

    async def facts(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Tell what the handle knows; nothing is read, but the versions of a name are listed."""
        artifact = self._artifact
        versions = await versions_beside(artifact)
        envelope = artifact.envelope()
        names = ("tool", "agent", "threadId", "contentType", "encoding", "bytes", "rows", "lines", "exitCode", "digest")
        told = {name: envelope[name] for name in names if envelope.get(name) not in (None, "")}
        times = {"createdAt": artifact.created_at, "expiresAt": artifact.expires_at, "version": artifact.version}
        facts = {"key": artifact.key, "uri": artifact.uri} | told | {k: v for k, v in times.items() if v is not None}
        if versions:
            facts["versions"] = ", ".join(map(str, versions[-VERSIONS_MAX:]))
        return {"facts": facts, "code": ""}


def cell_text(value: Any) -> str:
    """Write a cell as text."""
    return value if isinstance(value, str) else "" if value is None else json_text(value)


def fitting(rows: list[list[str]], *, whole: bool) -> tuple[list[list[str]], int]:
    """Shorten long cells until the answer is within its bound.

    Args:
        rows: Cells.
        whole: Whether only the answer's bound counts, and not what a person looks at.

    Returns:
        The rows, and how many cells were shortened.
    """
    room = ANSWER_BYTES if whole else CELL_CHARACTERS
    while room > 8 and sum(min(len(cell), room) for row in rows for cell in row) * 2 > ANSWER_BYTES:
        room //= 2
    cut = sum(len(cell) > room for row in rows for cell in row)
    return [[cell if len(cell) <= room else cell[:room] + "…" for cell in row] for row in rows], cut


QUESTIONS: Table = {
    "lines": (Operation("lines", "A page of lines.", (_START, _LIMIT, _WHOLE)), Questions.lines),
    "rows": (Operation("rows", "A page of rows.", (_START, _LIMIT, _FILTERS, _ORDER, _WHOLE)), Questions.rows),
    "find": (
        Operation(
            "find",
            "Lines that match.",
            (
                Param("pattern", "text", "What is looked for.", required=True),
                Param("fixed", "flag", "Whether it is plain text.", default=True),
                Param("ignore_case", "flag", "Whether letters match in both cases.", default=True),
                Param("cursor", "text", "Where an earlier answer ended."),
            ),
        ),
        Questions.find,
    ),
    "bytes": (Operation("bytes", "A page of bytes.", (_START, _LIMIT)), Questions.bytes),
    "tree": (
        Operation("tree", "Children in a document.", (Param("path", "json", "Names and numbers."), _START, _LIMIT)),
        Questions.tree,
    ),
    "columns": (Operation("columns", "What is known of the columns."), Questions.columns),
    "facts": (Operation("facts", "What the handle knows."), Questions.facts),
}
"""Every question that a browser may ask."""
