"""Convert text that looks like numbers, times or truth values, where that was asked for and changes nothing else."""

from __future__ import annotations

from typing import Any

_EXACT_DIGITS = 15
"""Whole numbers of so many digits are exact as floats."""
_FLAGS = {"true": True, "false": False}


def inferred(column: Any) -> Any:
    """Convert a column of text as a whole; it stays as it is where one of its values does not fit.

    Args:
        column: A column of a frame.

    Returns:
        A column of numbers, times (ISO 8601: other ways to write a date mean different days to different people), or
        truth values. Empty texts are missing then. Columns of other types stay what they are.
    """
    if column.dtype != "string":
        return column
    for convert in (_numbers, _times, _flags):
        try:
            return convert(column)
        except (ValueError, TypeError, OverflowError):
            continue
    return column


def _numbers(column: Any) -> Any:
    import pandas

    made = pandas.to_numeric(column).convert_dtypes()
    if made.dtype == "Float64":
        texts = column[column.str.len() > _EXACT_DIGITS]
        if any(_is_whole(text) and int(text) != int(made[at]) for at, text in texts.items()):
            raise ValueError("a float does not hold all the digits of a whole number")
    return made


def _is_whole(text: str) -> bool:
    return text.strip().lstrip("+-").isdigit()


def _times(column: Any) -> Any:
    import pandas

    return pandas.to_datetime(column, format="ISO8601").convert_dtypes()


def _flags(column: Any) -> Any:
    import pandas

    texts = [None if text is pandas.NA else text.lower() or None for text in column]
    return pandas.Series([text and _flag(text) for text in texts], index=column.index, dtype="boolean")


def _flag(text: str) -> bool:
    if text not in _FLAGS:
        raise ValueError("no truth value")
    return _FLAGS[text]
