"""How far long work has come. Work says how many bytes it moved; a front end that waits for it may look.

Nothing here reads a clock or shows anything: rates and words are the front end's business.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar


class Tally:
    """One piece of work under way.

    Args:
        name: What is done, in one word.
        total: Bytes in all; None where nobody knows.
    """

    __slots__ = ("done", "name", "retries", "total")

    def __init__(self, name: str, total: int | None) -> None:
        self.name = name
        self.total = total
        self.done = 0
        self.retries = 0


_own: ContextVar[Tally | None] = ContextVar("kmnb_tally", default=None)
_active: list[Tally] = []


@contextmanager
def tally(name: str, total: int | None = None) -> Iterator[Tally]:
    """Count a piece of work while it lasts; work inside it that counts too is a part of it.

    Args:
        name: What is done, in one word.
        total: Bytes in all; None where nobody knows.

    Yields:
        The outermost tally of this piece of work.
    """
    outer = _own.get()
    if outer is not None:
        yield outer
        return
    mine = Tally(name, total)
    token = _own.set(mine)
    _active.append(mine)
    try:
        yield mine
    finally:
        _active.remove(mine)
        _own.reset(token)


def advance(count: int) -> None:
    """Say that some more bytes were moved for the work at hand."""
    mine = _own.get()
    if mine is not None:
        mine.done += count


def retried() -> None:
    """Say that a request of the work at hand was lost and is made again."""
    mine = _own.get()
    if mine is not None:
        mine.retries += 1


def newest() -> Tally | None:
    """Give the work that began last and still lasts."""
    return _active[-1] if _active else None
