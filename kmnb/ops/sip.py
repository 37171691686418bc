"""The sip driver: brings an object, its format and a sip together, and tells what it cost."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

from kmnb import _plugins
from kmnb.core.arguments import checked
from kmnb.core.bounds import ANSWER_CEILING_BYTES, ANSWER_MAX_BYTES
from kmnb.core.cursors import seal, unseal
from kmnb.core.describe import Operation, Param
from kmnb.core.progress import tally

if TYPE_CHECKING:
    from kmnb.core.metadata import ObjectInfo
    from kmnb.core.slice import Slice
    from kmnb.ops._feeding import Feeding
    from kmnb.storage._protocols import ObjectArea

NUMBERS_TEXT_MAX = 4096
"""Longest answer in characters whose receipt lists the answer's numbers."""
_COMMON = (
    Param(
        "max_bytes", "integer", "Cap of the answer in bytes, at most 64 MiB.", minimum=1, below="default", advanced=True
    ),
    Param("section", "text", "Name of the [section] to read where a text holds several.", advanced=True),
)


@dataclass(frozen=True, slots=True)
class Source:
    """What a sip reads from."""

    area: ObjectArea
    """Where the object is."""
    info: ObjectInfo
    """Facts of the object; a missing size is asked for."""


def sip_names() -> tuple[str, ...]:
    """List the sips that there are, in alphabetical order."""
    return _plugins.names("kmnb.sips", "kmnb.sips")


def sip_plugin(name: str) -> Any:
    """Load a sip by name.

    Raises:
        UnknownPlugin: There is none of that name.
    """
    return _plugins.load("kmnb.sips", "kmnb.sips", name, "SIP")


@cache
def sip_operation(name: str) -> Operation:
    """Give the declaration of a sip, the arguments included that every sip takes."""
    operation: Operation = sip_plugin(name).operation
    own = {param.name for param in operation.params}
    return replace(operation, params=(*operation.params, *(param for param in _COMMON if param.name not in own)))


async def run_sip(
    source: Source | tuple[ObjectArea, ObjectInfo | str], name: str, arguments: Mapping[str, Any]
) -> Slice:
    """Run a sip over an object.

    Args:
        source: The object; a key is looked up.
        name: Which sip.
        arguments: Its arguments by name, unchecked.

    Returns:
        A bounded answer.

    Raises:
        BadRequest: Arguments that cannot be meant, or content that cannot be read as asked.
        ArtifactNotFound: The object is gone.
        BoundExceeded: A limit was passed that has no bounded answer.
        StoreError: The store failed.
    """
    # What reads content is not needed to tell which sips there are.
    from kmnb.ops._feeding import Feeding
    from kmnb.ops._line_index import bound_to
    from kmnb.ops._windows import WindowReader

    plugin, operation = sip_plugin(name), sip_operation(name)
    values = checked(operation, arguments)
    where = await _resolved(source)
    asked = {key: value for key, value in values.items() if value is not None and key != "cursor"}
    if values.get("cursor"):
        values["cursor"] = json.dumps(unseal(values["cursor"], name, bound_to(where.info)))
    cap = min(values["max_bytes"] or ANSWER_MAX_BYTES, ANSWER_CEILING_BYTES)
    reader = WindowReader(where.area, where.info)
    feeding = Feeding(plugin, values, reader=reader, info=where.info)
    with tally(name, where.info.size):
        answer = await feeding.answer(cap)
    return _completed(_capped(answer, cap), name, asked, where=where, feeding=feeding)


async def _resolved(source: Source | tuple[ObjectArea, ObjectInfo | str]) -> Source:
    area, info = (source.area, source.info) if isinstance(source, Source) else (source[0], source[1])
    if isinstance(info, str) or info.size is None:
        info = await area.head(info if isinstance(info, str) else info.key)
    return Source(area, info)


def _capped(answer: Slice, cap: int) -> Slice:
    """Cut a text that has not one whole character within the cap: a bad byte is shown as one of three bytes."""
    raw = answer.text.encode("utf-8", "replace")
    if len(raw) <= cap:
        return answer
    return replace(answer, text=raw[:cap].decode("utf-8", "ignore"), complete=False)


def _completed(answer: Slice, name: str, asked: Mapping[str, Any], *, where: Source, feeding: Feeding) -> Slice:
    """Seal the cursor and add what only the driver knows."""
    from kmnb.core.numbers import find_numbers
    from kmnb.core.proofs import sip_digest, text_digest
    from kmnb.ops._line_index import bound_to

    cursor = answer.cursor
    receipt = {
        "op": name,
        "parameters": dict(asked),
        "key": where.info.key,
        "artifactDigest": where.info.digest,
        "textDigest": text_digest(answer.text),
        # Small answers, as counts and statistics give, carry their numbers, so that the contract can quote them.
        "numbers": [asdict(one) for one in find_numbers(answer.text)] if len(answer.text) <= NUMBERS_TEXT_MAX else [],
    }
    return replace(
        answer,
        cursor=seal(name, bound_to(where.info), json.loads(cursor)) if cursor is not None else None,
        fetched_bytes=feeding.reader.fetched,
        scanned_bytes=feeding.scanned,
        notes=(*answer.notes, *feeding.notes),
        receipt=receipt | {"digest": sip_digest(receipt)},
    )
