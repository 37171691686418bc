"""The sip driver: reads decoded windows from a store, feeds them to a sip, and tells what it cost."""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from kmnb import _plugins
from kmnb.core.arguments import checked
from kmnb.core.bounds import ANSWER_CEILING_BYTES, ANSWER_MAX_BYTES, MIB, WINDOW_BYTES
from kmnb.core.cursors import seal, unseal
from kmnb.core.describe import Operation, Param
from kmnb.core.metadata import ObjectInfo
from kmnb.core.ranges import Facts, Plan, PlannedRun, windows
from kmnb.core.slice import Slice
from kmnb.errors import NotSupported
from kmnb.ops._isolated import IsolatedRun
from kmnb.storage._protocols import ObjectArea

COUNT_ON_BYTES = 32 * MIB
"""A full answer reads on to tell the exact total when at most so much is left."""

_COMMON = (
    Param("max_bytes", "integer", "Cap of the answer in bytes.", ANSWER_MAX_BYTES, minimum=1, advanced=True),
    Param("section", "text", "Name of the [section] to read where a text holds several.", advanced=True),
)


@dataclass(frozen=True, slots=True)
class Source:
    """What a sip reads from."""

    area: ObjectArea
    """Where the object is."""
    info: ObjectInfo
    """Facts of the object; its size must be known."""


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
        source: The object.
        name: Which sip.
        arguments: Its arguments by name, unchecked.

    Returns:
        A bounded answer.

    Raises:
        BadRequest: Arguments that cannot be meant.
        ArtifactNotFound: The object is gone.
        BoundExceeded: A limit was passed that has no bounded answer.
        StoreError: The store failed.
    """
    plugin, operation = sip_plugin(name), sip_operation(name)
    values = checked(operation, arguments)
    cap = min(values["max_bytes"], ANSWER_CEILING_BYTES)
    where = await _resolved(source)
    identity = where.info.digest or where.info.identity or where.info.key
    if values.get("cursor"):
        state = unseal(values["cursor"], name, identity)

        values["cursor"] = json.dumps(state)
    reader = _Reader(where)
    answer = (
        await _run_isolated(plugin, name, values, cap, reader)
        if getattr(plugin, "isolated", False)
        else (await _run_local(plugin, values, cap, reader))
    )
    return _completed(answer, name, values, where=where, reader=reader, identity=identity)


async def _run_local(plugin: Any, values: Mapping[str, Any], cap: int, reader: _Reader) -> Slice:
    if plugin.feeds != "blocks":
        raise NotSupported(f"sip {plugin.operation.name}", "record sips are not served yet")
    run = plugin.start(values, max_bytes=cap)
    planned = run if isinstance(run, PlannedRun) else None
    plan = planned.plan(reader.facts) if planned is not None else Plan()
    ended = True
    async for block in reader.blocks(plan):
        run.feed(block)
        if run.done or (planned is not None and planned.full and reader.left > COUNT_ON_BYTES):
            ended = reader.left == 0
            break
    if ended and planned is not None:
        planned.end()
    result: Slice = run.finish()
    return result


async def _run_isolated(plugin: Any, name: str, values: Mapping[str, Any], cap: int, reader: _Reader) -> Slice:
    run = IsolatedRun(name)
    try:
        await run.start(values, max_bytes=cap)
        ended = True
        async for block in reader.blocks(Plan()):
            await run.feed(block)
            if run.done:
                ended = reader.left == 0
                break
        return await run.finish(ended=ended)
    finally:
        await run.close()


async def _resolved(source: Source | tuple[ObjectArea, ObjectInfo | str]) -> Source:
    if isinstance(source, Source):
        area, info = source.area, source.info
    elif isinstance(source[1], str):
        area, info = source[0], await source[0].head(source[1])
    else:
        area, info = source[0], source[1]
    if info.size is None:
        info = await area.head(info.key)
    return Source(area, info)


class _Reader:
    """Reads windows and counts what it moved."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._size = source.info.size or 0
        self.fetched = 0
        self.scanned = 0
        self.left = self._size
        self.facts = Facts(size=self._size, seekable=True)

    async def blocks(self, plan: Plan) -> AsyncIterator[bytes]:
        end = self._size if plan.end is None else min(plan.end, self._size)
        for start, stop in windows(plan.start, end, WINDOW_BYTES):
            block = await self._source.area.get_range(self._source.info.key, start, stop, info=self._source.info)
            self.fetched += len(block)
            self.scanned += len(block)
            self.left = self._size - stop
            yield block


def _completed(
    answer: Slice, name: str, values: Mapping[str, Any], *, where: Source, reader: _Reader, identity: str
) -> Slice:
    cursor = None
    if answer.cursor is not None:
        cursor = seal(name, identity, json.loads(answer.cursor))
    given = {key: value for key, value in values.items() if value is not None and key != "cursor"}
    receipt = {
        "op": name,
        "parameters": given,
        "artifact": where.info.key,
        "artifactDigest": where.info.digest,
        "textDigest": "sha256:" + hashlib.sha256(answer.text.encode("utf-8", "replace")).hexdigest(),
    }
    return replace(answer, cursor=cursor, fetched_bytes=reader.fetched, scanned_bytes=reader.scanned, receipt=receipt)
