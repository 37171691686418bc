"""YAML: one document or several. Records are documents; those of a list, or of its ``items``, are its elements.

Values are read by the JSON-like rules of YAML 1.2, so that ``no``, ``0755``, ``1e5x`` and dates stay text. A document
that cannot be read is reported and hides no other. Aliases are allowed up to a limit of what they expand to.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from kmnb.core.bounds import KIB, LINE_MAX_BYTES
from kmnb.core.records import Batch, Dialect, Problem
from kmnb.core.splitter import LineSplitter
from kmnb.errors import BadRequest, clip
from kmnb.formats._counting import LineCounter
from kmnb.formats._description import Description
from kmnb.formats._json_describe import describe_document, describe_records
from kmnb.formats._yaml_counting import MARK, MarkCounter
from kmnb.formats._yaml_reading import read_document, to_json

DOCUMENT_MAX_BYTES = LINE_MAX_BYTES
"""Largest document that is read."""
READ_MAX_BYTES = 512 * KIB
"""Content above this size is counted by its marks."""
_DESCRIBED_BYTES = 24 * KIB
_KEY_LINE = re.compile(r"(?:- )?[A-Za-z_][\w.-]*:(?: .*)?\Z")


class YamlSplitter:
    """Cut YAML into records; each row is the JSON of one.

    Args:
        whole: Whether documents are kept whole also where they are lists.
    """

    columns = None

    def __init__(self, *, whole: bool = False) -> None:
        self._lines = LineSplitter()
        self._whole = whole
        self._open: list[bytes] = []
        self._held = self._row = 0
        self._begun = 1
        self._has_content = False

    def feed(self, block: bytes) -> Batch:
        """Take the next block and give the records of the documents that ended in it."""
        return self._batch(self._take(self._lines.feed(block)))

    def finish(self) -> Batch:
        """Give what is left."""
        last = [*self._take(self._lines.finish()), *self._close(0)]
        return self._batch(iter(last))

    def _batch(self, found: Iterator[bytes | Problem]) -> Batch:
        rows: list[bytes] = []
        problems: list[Problem] = []
        for each in found:
            rows.append(each) if isinstance(each, bytes) else problems.append(each)
        start = self._row
        self._row += len(rows) + len(problems)
        return Batch(rows, start, problems, kind="json")

    def _take(self, lines: Batch) -> Iterator[bytes | Problem]:
        for number, line in enumerate(lines.rows, lines.start + 1):
            text = line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
            if text[:1] in (b"-", b".") and MARK.match(text):
                yield from self._close(number + 1)
                rest = text[4:].strip() if text.startswith(b"---") else b""
                if rest and not rest.startswith(b"#"):
                    self._keep(text[4:])
            elif not (text[:1] == b"%" and not self._has_content):
                self._keep(text)

    def _keep(self, line: bytes) -> None:
        bare = line.strip()
        if bare and not bare.startswith(b"#"):
            self._has_content = True
        self._held += len(line) + 1
        if self._held <= DOCUMENT_MAX_BYTES:
            self._open.append(line)

    def _close(self, next_line: int) -> Iterator[bytes | Problem]:
        text, held, begun = b"\n".join(self._open), self._held, self._begun
        has_content = self._has_content
        self._open, self._held, self._begun, self._has_content = [], 0, next_line, False
        if not has_content:
            return
        if held > DOCUMENT_MAX_BYTES:
            yield Problem(begun, f"the document has {held:,} bytes; at most {DOCUMENT_MAX_BYTES:,} are read")
            return
        try:
            yield from self._records(read_document(text))
        except BadRequest as fault:
            yield Problem(begun, clip(fault.reason, 200))

    def _records(self, value: Any) -> Iterator[bytes]:
        elements = value
        if isinstance(value, dict) and not self._whole:
            elements = value.get("items")
        if isinstance(elements, list) and not self._whole:
            yield from map(to_json, elements)
        else:
            yield to_json(value)


class _Yaml:
    name = "yaml"
    kind = "json"
    media_types = ("application/yaml", "application/x-yaml", "text/yaml", "text/x-yaml")
    suffixes = (".yaml", ".yml")
    samples = (
        b"kind: Pod\nmetadata:\n  name: a\n---\nkind: Pod\nmetadata: {name: b}\n",
        b"- a: 00010\n- a: no\n",
        b"---\n: [bad\n---\nok: true\n",
    )

    def sniff(self, head: bytes) -> float:
        """Tell how surely a text is YAML: its first lines are keys, and it reads as an object or a list of them."""
        lines = head[:8192].decode("utf-8", "replace").lstrip("\ufeff").split("\n")
        filled = [line.rstrip() for line in lines if line.strip() and not line.lstrip().startswith("#")]
        if not filled or head[:1] in (b"{", b"[", b"<"):
            return 0.0
        is_marked = filled[0] == "---"
        top = [line for line in filled[is_marked:] if line[:1] not in (" ", "-", "\t", "") or line.startswith("- ")]
        keys = [line for line in top if _KEY_LINE.match(line)]
        if len(keys) < max(1, 0.9 * len([line for line in top if line != "---"])):
            return 0.5 if is_marked and len(filled) > 1 else 0.0
        if "apiVersion:" in head[:4096].decode("utf-8", "replace"):
            return 0.9
        return 0.7 if is_marked else 0.45 if len(filled) > 1 and _reads(head) else 0.0

    def split(self, dialect: Dialect) -> YamlSplitter:
        """Make a splitter into records."""
        return YamlSplitter()

    def documents(self) -> YamlSplitter:
        """Make a splitter that keeps documents whole, for queries over documents."""
        return YamlSplitter(whole=True)

    def describe(self, head: bytes, *, whole: bool) -> Description:
        """Describe as the same values in JSON are described."""
        text = head[:_DESCRIBED_BYTES]
        is_cut = not whole or len(head) > _DESCRIBED_BYTES
        splitter = self.documents()
        batches = (splitter.feed(_whole_elements(text) if is_cut else text), splitter.finish())
        documents = [row for batch in batches for row in batch.rows]
        if len(documents) == 1:
            return describe_document(documents[0], whole=True, is_spaced=False, sampled=is_cut)
        return describe_records(documents, noun="documents", sampled=is_cut)

    def counter(self, head: bytes, *, indexed: bool) -> YamlCounter:
        """Make what counts records, large content by its marks alone."""
        return YamlCounter(indexed=indexed)


def _whole_elements(text: bytes) -> bytes:
    """Cut the beginning of a long document behind its last whole list element, or its last document."""
    places = (text.rfind(b"\n- "), text.rfind(b"\n  - ") if b"\n- " not in text else -1, text.rfind(b"\n---"))
    return text[: max(places)] if max(places) > 0 else text[: text.rfind(b"\n") + 1]


class YamlCounter:
    """Counts records: those of the first documents by reading them, the rest by marks and dashes.

    Reading costs a second a megabyte. Beyond :data:`READ_MAX_BYTES` documents count by their marks whether they can
    be read or not, and the elements of their lists by the dashes at the list's own indentation.
    """

    def __init__(self, *, indexed: bool) -> None:
        self.lines: LineCounter | None = LineCounter(indexed=indexed, blank=None)
        self._splitter = YamlSplitter()
        self._rest = MarkCounter()
        self._records = self._read = self.skipped = 0

    def feed(self, block: bytes) -> None:
        """Take the next block."""
        self._rest.feed(block)
        self._read += len(block)
        if self._read <= READ_MAX_BYTES:
            self._add(self._splitter.feed(block))

    def finish(self) -> int:
        """Give the number of records."""
        self._rest.finish()
        if self._read > READ_MAX_BYTES:
            self.skipped = 0
            return self._rest.records
        self._add(self._splitter.finish())
        return self._records

    def _add(self, batch: Batch) -> None:
        self._records += batch.counted
        self.skipped += batch.left_out


def _reads(head: bytes) -> bool:
    cut = head[:4096]
    try:
        return isinstance(read_document(cut if len(head) <= 4096 else cut[: cut.rfind(b"\n") + 1]), (dict, list))
    except BadRequest:
        return False


FORMAT = _Yaml()
