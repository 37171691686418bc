"""The other end of :mod:`kmnb.ops._embed_engine`: JSONPath, Mustache and YAML in a process of its own."""

from __future__ import annotations

import json
import resource
import sys
from typing import Any

from kmnb.ops._isolated_main import limit_process

ANSWER_MAX_BYTES = 64 * 1024 * 1024
"""Largest answer in bytes."""
MEMORY_BYTES = 1024 * 1024 * 1024
"""Address space of the process."""
ITEMS_MAX = 1_000_000
"""Most values of a YAML document, those behind aliases counted each time."""


def main() -> None:
    """Answer one order from standard input on standard output."""
    limit_process()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    try:
        order = json.loads(sys.stdin.buffer.read())
        reply = json.dumps({"result": _WORK[order["work"]](order["data"], order["argument"])}, default=str)
        if len(reply) > ANSWER_MAX_BYTES:
            reply = json.dumps({"error": "the result is too large"})
    except Exception as error:
        reply = json.dumps({"error": f"{type(error).__name__}: {error}"[:300]})
    sys.stdout.write(reply)


def _jsonpath(data: Any, expression: str) -> list[Any]:
    from jsonpath_ng.ext import parser

    return [match.value for match in parser.parse(expression).find(data)]


def _mustache(data: Any, template: str) -> str:
    import pystache  # type: ignore[import-untyped]

    # Partials come from an empty table: without one they would be looked for on disk.
    return str(pystache.Renderer(partials={}).render(template, data))


def _yaml(data: str, argument: str) -> Any:
    import yaml

    value = yaml.safe_load(data)
    # Aliases cost nothing here and everything once they are written out.
    waiting, count = [value], 0
    while waiting:
        count += 1
        if count > ITEMS_MAX:
            raise ValueError(f"more than {ITEMS_MAX:,} values")
        item = waiting.pop()
        if isinstance(item, dict):
            waiting += item.values()
        elif isinstance(item, list):
            waiting += item
    return value


_WORK = {"jsonpath": _jsonpath, "mustache": _mustache, "yaml": _yaml}
