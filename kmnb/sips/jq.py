"""jq: run a jq program."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from kmnb.core.bounds import DOCUMENT_MAX_BYTES
from kmnb.core.describe import Example, Operation, Param
from kmnb.core.slice import Slice
from kmnb.errors import BoundExceeded, ExpressionError

PROGRAM_MAX_BYTES = 64 * 1024
"""Longest program in UTF-8 bytes."""


class JqRun:
    """A program under way; the content is collected, then run."""

    done = False

    def __init__(self, program: str, *, max_bytes: int) -> None:
        self._compiled = _compiled(program)
        self._cap = max_bytes
        self._blocks: list[bytes] = []
        self._size = 0

    def feed(self, item: Any) -> None:
        """Take the next block."""
        self._size += len(item)
        if self._size > DOCUMENT_MAX_BYTES:
            raise BoundExceeded(
                "the document",
                f"a program over the whole of it loads at most {DOCUMENT_MAX_BYTES} bytes",
                "Walk its records (.items[] | …), or use run.",
                limit="DOCUMENT_MAX_BYTES",
                value=DOCUMENT_MAX_BYTES,
                unit="bytes",
            )
        self._blocks.append(item)

    def finish(self) -> Slice:
        """Give the outputs."""
        text = b"".join(self._blocks).removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")
        pieces: list[str] = []
        spent, complete = 0, True
        try:
            for output in self._compiled.input_text(text):
                spent += len(output.encode("utf-8", "replace")) + 1
                if spent > self._cap:
                    complete = False
                    break
                pieces.append(output)
        except ValueError as error:
            raise ExpressionError("jq program", str(error)) from None
        return Slice(
            values=[json.loads(piece) for piece in pieces],
            text="".join(f"{piece}\n" for piece in pieces),
            complete=complete,
            shown=len(pieces),
            total=len(pieces) + (not complete),
            total_is_lower_bound=not complete,
        )


def _compiled(program: str) -> Any:
    import jq

    if len(program.encode("utf-8", "replace")) > PROGRAM_MAX_BYTES:
        raise ExpressionError("jq program", f"it is longer than {PROGRAM_MAX_BYTES} bytes", "Use run.")
    try:
        jq.compile(program)
        return jq.compile(f"({program}\n)|tojson")
    except ValueError as error:
        raise ExpressionError("jq program", str(error)) from None


class JqSip:
    """The plug-in."""

    feeds = "blocks"
    isolated = True
    operation = Operation(
        "jq",
        "Run a jq program.",
        (Param("program", "text", "A program of the jq language.", required=True, positional=True),),
        (
            Example(b'{"items":[{"n":"a"},{"n":"b"}]}', {"program": ".items[].n"}, ("a", "b"), '"a"\n"b"\n'),
            Example(b'{"a":[1,2,3]}', {"program": ".a | length"}, (3,), "3\n"),
            Example(b'{"n":9007199254740993}', {"program": ".n"}, (9007199254740993,), "9007199254740993\n"),
        ),
    )

    def start(self, arguments: Mapping[str, Any], *, max_bytes: int) -> JqRun:
        """Begin."""
        return JqRun(arguments["program"], max_bytes=max_bytes)


SIP = JqSip()
