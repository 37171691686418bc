"""How a caller says that content is to be read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from kmnb.core.records import Dialect
from kmnb.errors import BadRequest

_BREAKS = ("\n", "\r")
_DIALECT = ("encoding", "delimiter", "quote", "header", "section", "strict")


def dialect_of(values: Mapping[str, Any]) -> Dialect:
    """Take the dialect from arguments; of a delimiter the first character counts, as with the peer.

    Raises:
        BadRequest: Delimiter and quote cannot be told apart, or are no single characters.
    """
    dialect = Dialect(**{name: values[name] for name in _DIALECT if values.get(name) is not None})
    delimiter, quote = dialect.delimiter, dialect.quote
    if delimiter is not None:
        delimiter = delimiter.replace("\\t", "\t")[:1] or None
    if delimiter == '"' and quote is None:
        quote = ""
    if quote is not None and (len(quote) > 1 or (quote and quote == (delimiter or ","))):
        raise BadRequest("quote", f"{quote[:20]!r} is not one character other than the delimiter", "Use '' for none.")
    if delimiter in _BREAKS or quote in _BREAKS:
        raise BadRequest("delimiter or quote", "a line break ends a record", "Name another character.")
    return replace(dialect, delimiter=delimiter, quote=quote)
