"""The tree of a JSON document, one level at a time."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from kmnb.core.bounds import MIB
from kmnb.errors import BadRequest

DOCUMENT_BYTES = 16 * MIB
"""Up to this size a whole document is looked into; of larger ones, and of many documents, the records are shown."""
PATH_MAX = 64
"""Deepest place that is looked at."""
CHILDREN_MAX = 100
"""Most children of one answer."""
_TEXT = 200
"""Longest value that is sent, in characters."""

_PROGRAM = """\
def told: {t: type, n: (if type == "object" or type == "array" then length else null end),
  v: (if type == "object" or type == "array" then null else tostring[0:LENGTH] end)};
getpath(PATH) | told + {c: (if type == "object" then [to_entries[START:END][] | {k: .key} + (.value | told)]
  elif type == "array" then [.[START:END] | to_entries[] | {k: (.key + START)} + (.value | told)] else [] end)}
"""


async def tree_of(artifact: Any, rows: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """Give the children of a place.

    Args:
        artifact: The handle.
        rows: Reads its records.
        given: ``path`` (a list of names and numbers, untrusted), ``start`` and ``limit``.

    Returns:
        ``type``, ``count``, ``text`` for a value, and ``children`` with ``key``, ``type``, ``count`` and ``text``.

    Raises:
        BadRequest: Not a path.
    """
    path = given["path"] if given["path"] is not None else []
    if not isinstance(path, list) or len(path) > PATH_MAX or not all(isinstance(p, str | int) for p in path):
        raise BadRequest("path", f"must be a list of at most {PATH_MAX} names and numbers")
    start, end = given["start"], given["start"] + min(given["limit"], CHILDREN_MAX)
    is_document = "ndjson" not in (artifact.media_type or "") and (artifact.size or 0) <= DOCUMENT_BYTES
    if is_document:
        return await _in_document(artifact, path, slice(start, end))
    return await _in_records(artifact, rows, path, wanted=slice(start, end))


async def _in_document(artifact: Any, path: list[Any], wanted: slice) -> dict[str, Any]:
    program = (
        _PROGRAM.replace("LENGTH", str(_TEXT + 1)).replace("START", str(wanted.start)).replace("END", str(wanted.stop))
    )
    # The path goes in last and as JSON, so that nothing in it can be read as a part of the program.
    answer = await artifact.jq_async(program.replace("PATH", json.dumps(path)))
    if len(answer.values) != 1:
        raise BadRequest("tree", f"there are {len(answer.values)} documents", "Look at the records instead.")
    found = answer.values[0]
    children = [_child(child) for child in found["c"]]
    told = {"type": found["t"], "count": found["n"], "children": children, "code": _code(path)}
    return told | _short(found["v"])


def _child(child: Mapping[str, Any]) -> dict[str, Any]:
    return {"key": child["k"], "type": child["t"], "count": child["n"]} | _short(child["v"])


def _short(text: str | None) -> dict[str, Any]:
    """Tell a value, and whether it was cut."""
    return {"text": text} if text is None or len(text) <= _TEXT else {"text": f"{text[:_TEXT]}…", "cut": True}


def _code(path: list[Any]) -> str:
    place = "".join(f"[{json.dumps(part, ensure_ascii=False)}]" for part in path)
    return f"art.jq({'.' + place!r})"


async def _in_records(artifact: Any, rows: Any, path: list[Any], *, wanted: slice) -> dict[str, Any]:
    """Look at records one by one; the first part of the path is the number of a record."""
    if not path:
        page = await rows.page(wanted.start, wanted.stop - wanted.start)
        records = [dict(zip(page.columns, row, strict=True)) for row in page.rows]
        children = [_told(number, record) for number, record in zip(page.numbers, records, strict=True)]
        code = f"art.lines({wanted.start}, {wanted.stop - wanted.start})"
        return {"type": "records", "count": page.total, "text": None, "children": children, "code": code}
    if not isinstance(path[0], int) or path[0] < 0:
        raise BadRequest("path", "begins with the number of a record")
    page = await rows.page(path[0], 1)
    value: Any = dict(zip(page.columns, page.rows[0], strict=True)) if page.rows else None
    value = {name: item for name, item in value.items() if item is not None} if value else value
    for part in path[1:]:
        value = _step(value, part)
    pairs = (
        list(value.items()) if isinstance(value, dict) else list(enumerate(value)) if isinstance(value, list) else []
    )
    told = _told("", value)
    children = [_told(name, item) for name, item in pairs[wanted]]
    return {name: told[name] for name in told if name != "key"} | {"children": children, "code": ""}


def _step(value: Any, part: str | int) -> Any:
    if isinstance(value, dict):
        return value.get(str(part))
    if isinstance(value, list) and isinstance(part, int) and -len(value) <= part < len(value):
        return value[part]
    return None


_TYPES = {bool: "boolean", int: "number", float: "number", str: "string", type(None): "null", list: "array"}


def _told(key: Any, value: Any) -> dict[str, Any]:
    if isinstance(value, dict | list):
        kind = "object" if isinstance(value, dict) else "array"
        return {"key": key, "type": kind, "count": len(value), "text": None}
    text = value if isinstance(value, str) else json.dumps(value)
    return {"key": key, "type": _TYPES.get(type(value), "string"), "count": None} | _short(text)
