"""Content that is no text: pictures, documents, archives. It has no records and is never shown as it stands."""

from __future__ import annotations

from kmnb.core.records import Batch, Dialect
from kmnb.formats._encoding import is_binary


class _NoSplitter:
    columns = None

    def feed(self, block: bytes) -> Batch:
        return Batch()

    def finish(self) -> Batch:
        return Batch()


class _Binary:
    name = "binary"
    kind = "binary"
    media_types = ("application/octet-stream", "application/pdf", "image/png", "image/jpeg", "application/zip")
    suffixes = (".bin", ".pdf", ".png", ".jpg", ".xlsx", ".zip")
    samples = (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",)

    def sniff(self, head: bytes) -> float:
        """Tell how surely content is no text."""
        return 0.9 if is_binary(head) else 0.0

    def split(self, dialect: Dialect) -> _NoSplitter:
        """Make a splitter that gives nothing."""
        return _NoSplitter()


FORMAT = _Binary()
