"""Describe JSON documents and records: the list that matters, what names its elements, shape and outcome."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import Any

from kmnb.core.lenient import documents, told
from kmnb.core.shape import PathTypes
from kmnb.errors import KmnbError
from kmnb.formats._description import Description
from kmnb.formats._json_prefix import read_prefix

_NAMES = (
    "metadata.name", "name", "id", "metric", "title", "key", "pod", "labels.alertname", "stream", "uid", "msg",
    "message", "time", "timestamp", "@timestamp", "ts", "userData",
)  # fmt: skip
_OUTCOMES = (
    "status", "error", "errors", "error_message", "errorType", "phase", "message", "reason", "code", "success", "ok",
    "failed", "warnings", "state", "result", "exitCode", "exit_code",
)  # fmt: skip
_RECORD_OUTCOMES = (
    "status.phase", "status", "phase", "level", "log.level", "severity", "state", "type", "health", "error", "reason",
)  # fmt: skip
_SAMPLE = 2000


def describe_document(head: bytes, *, whole: bool, is_spaced: bool = True, sampled: bool = False) -> Description:
    """Describe a JSON document, or several that follow one another, by the beginning.

    Args:
        head: The beginning, UTF-8.
        whole: Whether it is all.
        is_spaced: Whether the content itself is JSON, in which line breaks mean nothing.
        sampled: Whether there are more records than the text holds.
    """
    try:
        value = read_prefix(head, whole=whole)
    except ValueError as fault:
        return _unreadable(head, whole, fault)
    path, records = find_records(value)
    if records is None:
        return _describe_single(value, is_spaced=is_spaced)
    is_cut = not whole and len(records) > 1
    found = describe_records(records[:-1] if is_cut else records, sampled=sampled or not whole)
    kind = value.get("kind") if isinstance(value, dict) else None
    place = "." + ".".join(path) if path else "a list"
    outcome = _top_outcome(value) if isinstance(value, dict) else ""
    return Description(
        noun="items" if path == ("items",) else "records",
        key=found.key,
        firsts=found.firsts,
        columns=found.columns,
        shape="\n".join(part for part in (f"records: {place}", found.shape) if part),
        outcome="\n".join(part for part in (outcome, found.outcome) if part),
        is_spaced=is_spaced,
        note=kind if isinstance(kind, str) else "",
    )


def _unreadable(head: bytes, whole: bool, fault: ValueError) -> Description:
    """Describe what is no single document: several ones, or no JSON at all."""
    found: list[Any] = []
    with suppress(ValueError):
        found.extend(documents(head.removeprefix(b"\xef\xbb\xbf")))
    if len(found) > 1:
        return describe_records(found)
    line = head[:200].decode("utf-8", "replace")
    return Description("documents", "begins", [line], note=told(fault)[:120])


def find_records(value: Any) -> tuple[tuple[str, ...], list[Any] | None]:
    """Find the list whose elements are the records: the document, ``items``, or the first list of objects near the top.

    Returns:
        Its path and the list; None when there is none.
    """
    if isinstance(value, list):
        return (), value
    if not isinstance(value, dict):
        return (), None
    if isinstance(value.get("items"), list):
        return ("items",), value["items"]
    for key, inner in value.items():
        if _is_records(inner):
            return (key,), inner
        if isinstance(inner, dict):
            for name, deeper in inner.items():
                if _is_records(deeper):
                    return (key, name), deeper
    return (), None


def _is_records(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict)


def describe_records(records: Sequence[Any], *, noun: str = "records", sampled: bool = False) -> Description:
    """Describe records by the first of them; bytes are read as JSON.

    Args:
        records: The first records.
        noun: What they are called.
        sampled: Whether there are more.
    """
    values = [_value(record) for record in records[:_SAMPLE]]
    types = PathTypes()
    for value in values[:200]:
        types.add(value)
    columns = types.columns()
    key, firsts = _naming(values)
    shape = "fields: " + ", ".join(f"{column['name']} {column['type']}" for column in columns) if columns else ""
    return Description(noun, key, firsts, columns, shape=shape, outcome=_record_outcomes(values, sampled))


def _value(record: Any) -> Any:
    if not isinstance(record, bytes):
        return record
    try:
        return read_prefix(record, whole=True)
    except (ValueError, KmnbError):
        return record.decode("utf-8", "replace")


def _describe_single(value: Any, *, is_spaced: bool) -> Description:
    if not isinstance(value, dict):
        return Description("documents", "value", [_short(value)])
    types = PathTypes()
    types.add(value)
    shape = "fields: " + ", ".join(f"{column['name']} {column['type']}" for column in types.columns())
    kind = value.get("kind")
    name = at_path(value, "metadata.name") or value.get("name")
    key, firsts = ("metadata.name", [str(name)]) if isinstance(name, str) else ("keys", list(value)[:30])
    return Description(
        "documents",
        key,
        firsts,
        types.columns(),
        shape=shape,
        outcome=_top_outcome(value),
        is_spaced=is_spaced,
        note=kind if isinstance(kind, str) else "",
    )


def at_path(value: Any, path: str) -> Any:
    """Follow a dotted path through objects; None when it leads nowhere."""
    # What is read from JSON has no other mappings; to ask for any takes ten times as long.
    if isinstance(value, dict) and path in value:
        return value[path]
    for part in _parts(path):
        if not isinstance(value, dict):
            return None
        value = value.get(part)
    return value


@cache
def _parts(path: str) -> tuple[str, ...]:
    return tuple(path.split("."))


def _naming(values: Sequence[Any]) -> tuple[str, list[str]]:
    """Choose the path that tells records apart, and give its first values."""
    sample = values[:100]
    best = ""
    for path in _NAMES:
        found = [at_path(value, path) for value in sample]
        filled = [each for each in found if each is not None and not isinstance(each, bool)]
        if len(filled) >= max(1, len(sample) // 2) and (len({_short(each) for each in filled}) > 1 or len(filled) < 2):
            best = path
            break
    if best:
        named = [at_path(value, best) for value in sample[:50]]
        return best, [_short(each) for each in named if each is not None]
    return ("first", [_short(sample[0])]) if sample else ("", [])


def _short(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping) and "__name__" in value:
        labels = ",".join(f"{key}={text}" for key, text in value.items() if key != "__name__")
        return f"{value['__name__']}{{{labels}}}"
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)


def _top_outcome(value: Mapping[str, Any]) -> str:
    found = []
    for name in _OUTCOMES:
        inner = value.get(name)
        if isinstance(inner, Mapping):
            inner = {
                key: each for key, each in inner.items() if key in _OUTCOMES and not isinstance(each, (dict, list))
            }
            if not inner:
                continue
        if name in value and not isinstance(inner, list) and (inner is not None or name.startswith("error")):
            found.append(f"{name}: {_short(inner)}"[:200])
    return "\n".join(found)


def _record_outcomes(values: Sequence[Any], sampled: bool) -> str:
    """Count the values of outcome fields; where only the first records were looked at it is said."""
    lines = []
    of = f" (of the first {len(values)})" if sampled else ""
    for path in _RECORD_OUTCOMES:
        found = [at_path(value, path) for value in values]
        texts = [_short(each)[:60] for each in found if isinstance(each, (str, bool, int)) and each != ""]
        counts = Counter(texts)
        if len(texts) >= max(1, len(values) // 4) and len(counts) <= 12:
            told = ", ".join(f"{text} {times}" for text, times in counts.most_common(6))
            lines.append(f"{path}{of}: {told}")
        if len(lines) == 2:
            break
    return "\n".join(lines)
