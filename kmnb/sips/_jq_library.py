"""Ask libjq. It runs in a process of its own that has no environment and is killed at a deadline."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any

from kmnb.core.finite import DIGITS_MAX
from kmnb.core.lenient import TooDeep, slow_value, without_lone
from kmnb.errors import BoundExceeded, ExpressionError, KmnbError
from kmnb.sips._jq_tokens import check_names, tokens_of

PROGRAM_MAX_BYTES = 64 * 1024
"""Longest program in UTF-8 bytes."""


_LARGE = re.compile(r"[eE]\+?\d{3}")
_LONG = re.compile(rf"\d{{{DIGITS_MAX + 1}}}")
_STEP_BACK = "A ? behind the step passes over such values; outline shows what there is."


class JsonText(str):
    """An output of libjq: the text of a JSON value, digits as they were."""

    __slots__ = ()

    @property
    def is_plain(self) -> bool:
        """Whether no number of it is beyond those that are read."""
        return _LARGE.search(self) is None and (len(self) <= DIGITS_MAX or _LONG.search(self) is None)

    @property
    def value(self) -> Any:
        """The value; integers are exact."""
        import msgspec

        try:
            return msgspec.json.decode(self.encode())
        except (ValueError, RecursionError):
            pass
        try:
            return slow_value(self.encode("utf-8", "surrogatepass"))
        except TooDeep as fault:
            raise BoundExceeded("one output", f"is {fault}", "Ask for a part of it.") from None


def check_program(program: str) -> None:
    """Have libjq look at a program, once it is known to load no file: that would happen while it is compiled.

    Raises:
        ExpressionError: It is too long, asks for what a query must not do, or libjq does not understand it.
    """
    size = len(program.encode("utf-8", "replace"))
    if size > PROGRAM_MAX_BYTES:
        raise ExpressionError("jq program", f"it has {size} bytes; the limit is {PROGRAM_MAX_BYTES}", "Use run.")
    check_names(tokens_of(program))
    _compiled(program)


@lru_cache(maxsize=64)
def _compiled(program: str) -> Any:
    import jq

    try:
        # By itself first, so that no bracket of the program can close the one that is put around it.
        jq.compile(program)
        return jq.compile(f"({program}\n)|tojson")
    except ValueError as error:
        raise ExpressionError("jq program", _told(error)) from None


def outputs(program: str, text: str) -> Iterator[JsonText]:
    """Run a program over JSON documents that stand one after the other.

    Raises:
        ExpressionError: The program failed.
        BoundExceeded: The text is nested deeper than libjq reads.
    """
    compiled = _compiled(program)
    if "\\ud" in text or "\\uD" in text:
        text = without_lone(text.encode("utf-8", "replace")).decode()
    try:
        for output in compiled.input_text(text):
            yield JsonText(output)
    except ValueError as error:
        raise failure(_told(error)) from None


Spreading = Callable[[str, Sequence[str]], Iterator[JsonText]]
"""Gives the first output of a program for each of some texts, in their order."""
_spread: list[Spreading] = []


def spread_by(spreading: Spreading) -> None:
    """Have several texts looked at in another way than one after the other."""
    _spread[:] = [spreading]


def first_outputs(program: str, texts: Sequence[str]) -> Iterator[JsonText]:
    """Give the first output of a program for each text; all of them are looked at.

    Raises:
        ExpressionError: The program failed on one of them.
    """
    if _spread and len(texts) > 1:
        yield from _spread[0](program, texts)
        return
    for text in texts:
        yield next(outputs(program, text))


def failure(reason: str) -> KmnbError:
    """Make the error of what libjq says: of the content where it could not read that, else of the program."""
    if reason.startswith("parse error: Exceeds depth"):
        return BoundExceeded("the content", f"is {TooDeep()}", "Use lines, grep or run.")
    is_usual = reason.startswith(("Cannot iterate over", "Cannot index"))
    return ExpressionError("jq program", reason, _STEP_BACK if is_usual else "")


def _told(error: ValueError) -> str:
    text = str(error).strip()
    lines = [line for line in text.splitlines() if not line.startswith("jq: 1 compile error")]
    return "\n".join(lines).removeprefix("jq: error: ") or "it failed"
