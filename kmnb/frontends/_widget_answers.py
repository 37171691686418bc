"""Answer the message of a browser out of a closed table of questions."""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, TypeAlias

from kmnb.core.arguments import checked
from kmnb.core.describe import Operation
from kmnb.core.jsonable import jsonable
from kmnb.errors import BadRequest, KmnbError

_log = logging.getLogger("kmnb.widget")

Table: TypeAlias = Mapping[str, tuple[Operation, Callable[[Any, Mapping[str, Any]], Coroutine[Any, Any, Any]]]]
"""Questions by name: their arguments, and what answers them."""


async def answered(asked: Any, table: Table, message: Any) -> dict[str, Any]:
    """Answer one message.

    Args:
        asked: What the table's functions are called with.
        table: The questions there are.
        message: What came: a dict with ``id``, ``ask`` and ``arguments``; untrusted.

    Returns:
        Plain JSON with the same ``id``, and either ``answer`` or ``error`` (its code and one line of text).
    """
    told = message if isinstance(message, dict) else {}
    reply: dict[str, Any] = {"id": told.get("id") if isinstance(told.get("id"), int) else None}
    try:
        ask, given = told.get("ask"), told.get("arguments")
        if not isinstance(ask, str) or ask not in table:
            raise BadRequest("widget", "there is no such question", f"Known: {', '.join(table)}.")
        operation, handler = table[ask]
        arguments = checked(operation, given if isinstance(given, dict) else {})
        return reply | {"answer": jsonable(await handler(asked, arguments))}
    except KmnbError as error:
        return reply | {"error": {"code": error.code, "text": str(error)}}
    except Exception as error:
        # Whoever asked waits for an answer. What the error says stays here: it may tell too much.
        _log.exception("a question of a browser failed")
        kind = type(error).__name__
        return reply | {"error": {"code": "internal", "text": f"The kernel could not answer ({kind}). Ask again."}}
