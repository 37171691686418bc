"""Bring a query and the JSON format of a content together."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kmnb.core.bounds import DOCUMENT_MAX_BYTES
from kmnb.core.walks import Event, Found, Shape, Walker
from kmnb.errors import BoundExceeded
from kmnb.formats import json, jsonl
from kmnb.formats.json import HEAD_BYTES, record_path
from kmnb.formats.jsonl import json_lines_share


def shape_of(head: bytes) -> Shape:
    """Tell whether content has one document a line, from its beginning; other lines among them are left out."""
    first = head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    share = json_lines_share(head)
    return "rows" if share > 0 and (share >= 0.5 or first not in (b"{", b"[")) else "document"


class Walking:
    """Feeds decoded text to a walker and what passes by to a query.

    Args:
        run: The query.
        strict: Whether documents that are not JSON raise where they could be left out.
    """

    def __init__(self, run: Any, *, strict: bool) -> None:
        self._run, self._strict = run, strict
        self._pending: list[bytes] = []
        self._held = 0
        self._walker: Walker | None = None
        self._whole: list[bytes] | None = None
        self.skippable = 0
        """How many of the first records need not be fed; 0 where none can be left out."""

    @property
    def done(self) -> bool:
        """Whether more input cannot change the answer."""
        return bool(self._run.done)

    @property
    def full(self) -> bool:
        """Whether only documents that follow the present one could change the answer."""
        return bool(self._run.full)

    def feed(self, block: bytes) -> None:
        """Take the next block of decoded text."""
        if self._whole is not None:
            self._hold(block)
        elif self._walker is not None:
            self._pass(self._walker.feed(block))
        else:
            self._pending.append(block)
            self._held += len(block)
            if self._held >= HEAD_BYTES:
                self._begin()

    def resume(self, number: int, line: int) -> None:
        """Hear that the next block begins with a record of a number, on a line, both from 0."""
        walker: Any = self._walker
        self.skippable = 0
        self._run.passed(number)
        self._walker = walker.resume(number, line)

    def end(self) -> None:
        """Hear that the content ended."""
        if self._walker is None and self._whole is None:
            self._begin()
        if self._whole is not None:
            self._pass([Found((), b"".join(self._whole))])
        elif self._walker is not None and not self.done:
            self._pass(self._walker.finish())

    def finish(self) -> Any:
        """Give the answer."""
        return self._run.finish()

    def _begin(self) -> None:
        data = b"".join(self._pending)
        self._pending, self._held = [], 0
        shape = shape_of(data[:HEAD_BYTES])
        walk = self._run.walk(shape)
        is_list = walk.records is not None and not walk.values and record_path(data[:HEAD_BYTES]) == walk.records
        if shape == "rows" or is_list:
            self.skippable = self._run.skippable
        if walk.is_whole and shape == "document":
            self._whole = []
        else:
            # By module: looking formats up by name would read every installed package's metadata.
            self._walker = (jsonl if shape == "rows" else json).FORMAT.walk(walk, strict=self._strict)
        self.feed(data)

    def _hold(self, block: bytes) -> None:
        assert self._whole is not None
        self._held += len(block)
        if self._held > DOCUMENT_MAX_BYTES:
            raise BoundExceeded(
                "the document",
                f"a query over the whole of it loads at most {DOCUMENT_MAX_BYTES:,} bytes",
                "Walk its records (.items[] | … or items[?…]), or use run",
                limit="DOCUMENT_MAX_BYTES",
                value=DOCUMENT_MAX_BYTES,
                unit="bytes",
            )
        self._whole.append(block)

    def _pass(self, events: Iterable[Event]) -> None:
        for event in events:
            self._run.feed(event)
