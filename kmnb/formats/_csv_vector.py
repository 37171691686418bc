"""Count records of quoted text in whole-array steps; exact, or no answer where quotes stand in doubtful places."""

from __future__ import annotations

from typing import Any


def excess_lines(body: bytes, delimiter: bytes, quote: bytes) -> int | None:
    """Tell by how much filled lines exceed records in whole records.

    Each quote opens or closes in turn; a doubled one closes and opens again. That is the right reading only where
    each opening quote follows a delimiter, a line end or the quote that closed just before, and each closing one is
    followed by such.

    Args:
        body: Whole records; it begins outside of quotes and ends with LF.
        delimiter: One byte between cells.
        quote: The quote, one byte.

    Returns:
        The excess; None where a quote stands elsewhere.
    """
    import numpy

    data = numpy.frombuffer(body, dtype=numpy.uint8)
    marks = numpy.flatnonzero((data == quote[0]) | (data == 10))
    is_quote = data[marks] == quote[0]
    quotes = marks[is_quote]
    if len(quotes) % 2:
        return None
    if not len(quotes):
        return 0
    opens, closes = quotes[0::2], quotes[1::2]
    before, after = data[opens - 1], data[closes + 1]
    good = (before == delimiter[0]) | (before == 10)
    good[1:] |= opens[1:] - 1 == closes[:-1]
    good[0] |= opens[0] == 0
    ended = (after == delimiter[0]) | (after == 10)
    ended[:-1] |= closes[:-1] + 1 == opens[1:]
    returns = numpy.flatnonzero(after == 13)
    ended[returns] = data[numpy.minimum(closes[returns] + 2, len(data) - 1)] == 10
    if not (good.all() and ended.all()):
        return None
    inside = numpy.cumsum(is_quote) % 2 == 1
    breaks = marks[~is_quote]
    kept = marks[~is_quote & ~inside]
    return 0 if len(kept) == len(breaks) else _filled(data, breaks) - _filled(data, kept)


def _filled(data: Any, breaks: Any) -> int:
    """Count the stretches between line ends that hold more than a CR."""
    import numpy

    starts = numpy.concatenate(([0], breaks[:-1] + 1))
    sizes = breaks - starts
    empty = (sizes == 0) | ((sizes == 1) & (data[starts] == 13))
    return int(len(breaks) - numpy.count_nonzero(empty))
