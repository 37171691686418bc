"""Count the records of a delimited text exactly, without cutting lines where quotes hold no line break."""

from __future__ import annotations

from kmnb.core.bounds import LINE_MAX_BYTES
from kmnb.formats._counting import LineCounter
from kmnb.formats._csv_dialect import CsvDialect
from kmnb.formats._csv_records import RecordCutter


class QuoteCounter:
    """Count how many lines are no records of their own because they stand inside quotes.

    Args:
        dialect: How the text is written.
    """

    def __init__(self, dialect: CsvDialect) -> None:
        self._cutter = RecordCutter(dialect.delimiter, dialect.quote)
        self._quote, self._delimiter = dialect.quote.encode(), dialect.delimiter.encode()
        self._newline = dialect.newline
        self._carry = b""
        self._records = 0
        self.excess = 0

    def feed(self, block: bytes) -> None:
        """Take the next block of decoded text."""
        if not self._carry and not self._cutter.is_open and self._newline == b"\n" and self._quote not in block:
            # The beginning of a line without quotes matters only when quotes follow in the same line.
            self._carry = block[block.rfind(b"\n") + 1 :] if self._quote else b""
            return
        data = self._carry + block if self._carry else block
        cut = data.rfind(self._newline) + 1
        if not cut and len(data) > LINE_MAX_BYTES:
            cut = len(data)
        self._carry = data[cut:]
        if cut:
            self._count(data[:cut] if self._carry else data)

    def finish(self) -> None:
        """Count what is left."""
        if self._carry:
            self._count(self._carry)
        if self._cutter.is_open:
            self._records += 1
            self.excess -= 1

    @property
    def records(self) -> int:
        """Number of records where lines do not end at LF, or where an excess has to be taken off."""
        return self._records

    def _count(self, body: bytes) -> None:
        if self._newline == b"\n" and not self._cutter.is_open and self._is_plain(body):
            return
        lines = body.split(self._newline)
        for line in lines if lines[-1] else lines[:-1]:
            is_line = bool(line) and line != b"\r"
            is_record = is_line
            if self._cutter.is_open or self._quote in line:
                is_record = self._cutter.take(line) is not None
                if self._cutter.open_bytes > LINE_MAX_BYTES:
                    self._cutter.release()
                    is_record = True
            self._records += is_record
            self.excess += is_line - is_record

    def _is_plain(self, body: bytes) -> bool:
        """Tell whether surely no line break of some whole lines stands inside quotes.

        With doubled quotes taken out, every second quote closes. That holds only where each opening quote follows a
        delimiter or a line end and each closing one is followed by such; else the answer is no, and lines are looked
        at one by one.
        """
        if not self._quote or self._quote not in body:
            return True
        parts = body.replace(self._quote * 2, b"").split(self._quote)
        if len(parts) % 2 == 0 or b"\n" in b"".join(parts[1::2]):
            return False
        outside = self._quote.join(parts[0::2])
        pairs = len(parts) // 2
        opened = outside.count(self._delimiter + self._quote) + outside.count(b"\n" + self._quote)
        closed = outside.count(self._quote + self._delimiter) + outside.count(self._quote + b"\n")
        closed += outside.count(self._quote + b"\r\n")
        return opened + (not parts[0]) == pairs and closed + (not parts[-1]) == pairs


class CsvCounter:
    """Count records, a header left out.

    Args:
        dialect: How the text is written.
        indexed: Whether places of lines are noted.
    """

    def __init__(self, dialect: CsvDialect, *, indexed: bool) -> None:
        self.lines: LineCounter | None = LineCounter(indexed=indexed, blank="empty")
        self._quotes = QuoteCounter(dialect)
        self._header, self._newline = dialect.header, dialect.newline

    def feed(self, block: bytes) -> None:
        """Take the next block of decoded text."""
        self._quotes.feed(block)

    def finish(self) -> int:
        """Give the number of records."""
        self._quotes.finish()
        is_usual = self._newline == b"\n"
        filled = self.lines.filled if self.lines else 0
        records = filled - self._quotes.excess if is_usual else self._quotes.records
        return max(0, records - (records > 0 and self._header))
