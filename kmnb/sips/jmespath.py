"""jmespath: evaluate a JMESPath expression."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from kmnb.core.bounds import DOCUMENT_MAX_BYTES
from kmnb.core.describe import Example, Operation, Param
from kmnb.core.slice import Slice
from kmnb.errors import BoundExceeded, ExpressionError


class JmespathRun:
    """An expression under way; the content is collected, then evaluated."""

    done = False

    def __init__(self, expression: str, *, max_bytes: int) -> None:
        import jmespath
        from jmespath.exceptions import JMESPathError

        try:
            self._compiled = jmespath.compile(expression)
        except JMESPathError as error:
            raise ExpressionError("jmespath expression", str(error)) from None
        self._cap = max_bytes
        self._blocks: list[bytes] = []
        self._size = 0

    def feed(self, item: Any) -> None:
        """Take the next block."""
        self._size += len(item)
        if self._size > DOCUMENT_MAX_BYTES:
            raise BoundExceeded("the document", f"at most {DOCUMENT_MAX_BYTES} bytes are loaded", "Use run.")
        self._blocks.append(item)

    def finish(self) -> Slice:
        """Give the value."""
        from jmespath.exceptions import JMESPathError

        text = b"".join(self._blocks).removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")
        try:
            documents = [json.loads(text)]
        except ValueError as error:
            try:
                documents = [json.loads(line) for line in text.split("\n") if line.strip()]
            except ValueError:
                raise ExpressionError("the content", f"it is not JSON: {error}") from None
        try:
            values = [self._compiled.search(document) for document in documents]
        except (JMESPathError, TypeError) as error:
            raise ExpressionError("jmespath expression", str(error)) from None
        lines = [json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n" for value in values]
        if sum(map(len, lines)) > self._cap:
            raise BoundExceeded(
                "the value", f"it has more than {self._cap} bytes", "Ask for less, or raise max_bytes=."
            )
        return Slice(values, "".join(lines), True, len(values), len(values))


class JmespathSip:
    """The plug-in."""

    feeds = "blocks"
    isolated = True
    operation = Operation(
        "jmespath",
        "Evaluate a JMESPath expression.",
        (Param("expression", "text", "A JMESPath expression.", required=True, positional=True),),
        (
            Example(b'{"items":[{"n":1},{"n":2}]}', {"expression": "items[].n"}, ([1, 2],), "[1,2]\n"),
            Example(b'{"a":0}', {"expression": "a"}, (0,), "0\n"),
        ),
    )

    def start(self, arguments: Mapping[str, Any], *, max_bytes: int) -> JmespathRun:
        """Begin."""
        return JmespathRun(arguments["expression"], max_bytes=max_bytes)


SIP = JmespathSip()
