"""Read the beginning of a JSON document whose end is not there: what is whole of it, with its containers closed."""

from __future__ import annotations

import re
from typing import Any

from kmnb.core.lenient import TooDeep, slow_value

_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[\[\]{},:]|[^\s\[\]{},:"]+|"', re.DOTALL)
_CLOSING = {ord("["): b"]", ord("{"): b"}"}
_DEPTH_MAX = 200
_BYTES_MAX = 32_768


def read_prefix(head: bytes, *, whole: bool) -> Any:
    """Read a document, or as much of it as its beginning holds.

    Args:
        head: The beginning, UTF-8.
        whole: Whether it is the whole document.

    Returns:
        The value; values of numbers beyond floats are text.

    Raises:
        ValueError: It is not JSON, or nested deeper than 200.
    """
    text = head.removeprefix(b"\xef\xbb\xbf")
    if whole:
        try:
            return slow_value(text)
        except ValueError:
            if len(text) <= _BYTES_MAX:
                raise
    return slow_value(_closed(text[:_BYTES_MAX]))


def _closed(text: bytes) -> bytes:
    """Cut a text behind its last whole value and close the containers that are open there."""
    stack: list[int] = []
    cut, is_open = 0, stack
    for token in _TOKEN.finditer(text):
        first = text[token.start()]
        if first in b"[{":
            stack.append(first)
            if len(stack) > _DEPTH_MAX:
                raise TooDeep
            cut, is_open = token.end(), stack.copy()
        elif first in b"]}":
            if not stack:
                break
            stack.pop()
            cut, is_open = token.end(), stack.copy()
        elif token.group() == b'"':
            break
        elif first == 0x2C:
            cut, is_open = token.start(), stack.copy()
        if not stack:
            break
    return text[:cut] + b"".join(_CLOSING[each] for each in reversed(is_open))
