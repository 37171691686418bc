"""Plain text: one record a line. Everything that is nothing else is text."""

from __future__ import annotations

from kmnb.core.records import Dialect
from kmnb.core.splitter import LineSplitter


class _Text:
    name = "text"
    kind = "text"
    media_types = ("text/plain", "text/x-log", "text/markdown", "text/html", "application/xml", "text/xml")
    suffixes = (".txt", ".log", ".md", ".html", ".xml", ".out")
    samples = (b"alpha\nbravo\n", b"one\r\ntwo", b"")

    def sniff(self, head: bytes) -> float:
        """Tell that anything may be text, though nothing speaks for it."""
        return 0.1

    def split(self, dialect: Dialect) -> LineSplitter:
        """Make a splitter into lines."""
        return LineSplitter()


FORMAT = _Text()
