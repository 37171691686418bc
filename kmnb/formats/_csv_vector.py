"""Count records of quoted text in whole-array steps; exact, or no answer where quotes stand in doubtful places.

A block is turned into rows of bits, one bit a byte for each kind of mark, and 64 places are looked at in one step.
Whether a place is inside of quotes is the parity of the quotes up to it, a prefix sum without carry.
"""

from __future__ import annotations

from typing import Any

_STEPS = (1, 2, 4, 8, 16, 32)


def excess_lines(body: bytes, delimiter: bytes, quote: bytes) -> tuple[int, int] | None:
    """Tell by how much filled lines exceed records in whole records.

    Each quote opens or closes in turn; a doubled one closes and opens again. That is the right reading only where
    each opening quote follows a delimiter, a line end or the quote that closed just before, and each closing one is
    followed by such.

    Args:
        body: Whole lines; it begins outside of quotes and ends with LF.
        delimiter: One byte between cells.
        quote: The quote, one byte.

    Returns:
        The excess, and where the last whole record ends; None where a quote stands elsewhere.
    """
    marks = _Marks(body, delimiter, quote)
    if not marks.is_closed:
        end = marks.last_record_end()
        if not end:
            return 0, 0
        marks = _Marks(body[:end], delimiter, quote)
    return (marks.excess(), marks.size) if marks.is_plain() else None


class _Marks:
    """Rows of bits of one text: where its quotes, delimiters and line ends are."""

    def __init__(self, body: bytes, delimiter: bytes, quote: bytes) -> None:
        import numpy

        self._numpy, self.size = numpy, len(body)
        self._data = numpy.frombuffer(body, dtype=numpy.uint8)
        self._quote, self._break = self._bits(quote[0]), self._bits(10)
        self._comma, self._return = self._bits(delimiter[0]), self._bits(13) if b"\r" in body else None
        self._inside = self._parity()

    def _bits(self, byte: int) -> Any:
        """Give a bit for each byte that has a value, 64 a word, the first one lowest."""
        packed = self._numpy.packbits(self._data == byte, bitorder="little")
        words = self._numpy.zeros(len(packed) // 8 + 1, dtype="<u8")
        words.view(self._numpy.uint8)[: len(packed)] = packed
        return words

    def _parity(self) -> Any:
        """Give a bit for each byte with an odd number of quotes up to it, itself included."""
        numpy = self._numpy
        inside = self._quote.copy()
        for step in _STEPS:
            inside ^= inside << numpy.uint64(step)
        odd = inside >> numpy.uint64(63)
        before = numpy.bitwise_xor.accumulate(odd) ^ odd
        # A word that begins inside of quotes is turned over.
        return inside ^ (numpy.uint64(0) - before)

    def _after(self, bits: Any, *, start: int = 0) -> Any:
        """Give the places right after those of a row; ``start`` is the bit for the first place."""
        one = self._numpy.uint64(1)
        moved = bits << one
        moved[1:] |= bits[:-1] >> self._numpy.uint64(63)
        moved[0] |= self._numpy.uint64(start)
        return moved

    def _before(self, bits: Any) -> Any:
        """Give the places right before those of a row."""
        moved = bits >> self._numpy.uint64(1)
        moved[:-1] |= bits[1:] << self._numpy.uint64(63)
        return moved

    @property
    def is_closed(self) -> bool:
        """Whether the text ends outside of quotes."""
        return not int(self._inside[-1]) >> 63

    def last_record_end(self) -> int:
        """Find the end of the last line end outside of quotes; 0 when there is none."""
        kept = self._break & ~self._inside
        words = self._numpy.flatnonzero(kept)
        return int(words[-1]) * 64 + int(kept[words[-1]]).bit_length() if len(words) else 0

    def is_plain(self) -> bool:
        """Tell whether every quote stands at a border of a cell."""
        opens, closes = self._quote & self._inside, self._quote & ~self._inside
        border = self._comma | self._break
        ends = border | opens
        if self._return is not None:
            ends |= self._return & self._before(self._break)
        bad_opens = opens & ~self._after(border | closes, start=1)
        bad_closes = closes & ~self._before(ends)
        return not (bad_opens.any() or bad_closes.any())

    def excess(self) -> int:
        """Tell by how much filled lines exceed filled records."""
        kept = self._break & ~self._inside
        return 0 if (kept == self._break).all() else self._filled(self._break) - self._filled(kept)

    def _filled(self, breaks: Any) -> int:
        """Count the stretches between line ends that hold more than a CR."""
        starts = self._after(breaks, start=1)
        empty = breaks & starts
        if self._return is not None:
            empty |= breaks & self._after(self._return & starts)
        return self._ones(breaks) - self._ones(empty)

    def _ones(self, bits: Any) -> int:
        return int(self._numpy.count_nonzero(self._numpy.unpackbits(bits.view(self._numpy.uint8))))
