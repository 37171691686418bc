"""Tell what happens to artifacts, and follow it: on the bus where there is one, else within this process."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import AsyncIterator, Generator, Sequence
from contextlib import aclosing
from types import TracebackType
from typing import Any, Self

from kmnb._bridge import bridge, run
from kmnb.core.addresses import NamedAddress, discussion_uri
from kmnb.core.events import SAVED, Event, missed, read_event
from kmnb.core.keys import unescape
from kmnb.core.retention import Verdict
from kmnb.core.subjects import EVENTS, event_subject
from kmnb.errors import KmnbError
from kmnb.ops.context import Context
from kmnb.ops.follow import follow
from kmnb.ops.handle import Artifact

GONE_MAX = 100
"""Most objects whose deletion at once is told one by one; events of others must not be pushed out of their stream."""
WAITING_MAX = 10_000
"""Events that a follower may lag behind; then the oldest are dropped."""

_log = logging.getLogger("kmnb.events")
_followers: dict[object, list[asyncio.Queue[Event]]] = {}


async def tell(context: Context, kind: str, what: NamedAddress | str, **facts: Any) -> None:
    """Tell what happened to an artifact. A bus that fails is logged: what happened has happened.

    Args:
        context: The workspace.
        kind: Type of the event.
        what: Address of a named artifact, or key of a discussion artifact.
        facts: Further facts; None means unknown.
    """
    names = context.names
    if isinstance(what, NamedAddress):
        scope, filename = (what.app, what.user, what.session or names.session), what.name
    else:
        places = [unescape(segment) for segment in what.split("/", 3)[:3]]
        scope = (places[0], places[1], places[2]) if len(places) == 3 else (names.namespace, names.crew, names.thread)
        filename = what
    known = {name: value for name, value in facts.items() if value is not None}
    event = Event(
        kind, scope, isinstance(what, NamedAddress), filename, await context.now(), known, uuid.uuid4().hex[:16]
    )
    bus = context.backend.bus
    if bus is None:
        for queue in _followers.get(_home(context), ()):
            if queue.full():
                queue.get_nowait()
            queue.put_nowait(event)
        return
    try:
        await bus.publish(event_subject(*scope), event.to_bytes(), stored=True)
    except (KmnbError, OSError, TimeoutError) as error:
        _log.warning("event %s of %s was not published: %s", kind, filename, error)


async def tell_saved(context: Context, artifact: Artifact, what: NamedAddress | str, **facts: Any) -> None:
    """Tell that an artifact was saved; called once its metadata can be read."""
    told = {
        "version": artifact.version,
        "mime_type": artifact.media_type,
        "size_bytes": artifact.size,
        "uri": artifact.uri,
        **facts,
    }
    await tell(context, SAVED, what, **told)


async def tell_gone(context: Context, kind: str, verdicts: Sequence[Verdict]) -> None:
    """Tell what a collection deleted: each object, or each thread where more than :data:`GONE_MAX` went at once.

    Args:
        context: The workspace.
        kind: Type of the events.
        verdicts: Verdicts on what is gone.
    """
    threads: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        threads.setdefault("/".join(verdict.key.split("/")[:3]), []).append(verdict)
    for thread, group in threads.items():
        if len(verdicts) > GONE_MAX and len(group) > 1:
            size, reasons = sum(one.size or 0 for one in group), sorted({str(one.reason) for one in group})
            facts = {"objects": len(group), "size_bytes": size, "reason": ", ".join(reasons)}
            await tell(context, kind, f"{thread}/", **facts)
            continue
        told = [
            tell(
                context,
                kind,
                one.key,
                uri=discussion_uri(one.key),
                size_bytes=one.size,
                reason=str(one.reason),
                detail=one.detail or None,
            )
            for one in group
        ]
        await asyncio.gather(*told)


def _home(context: Context) -> object:
    # Two private stores in memory have the same URL and nothing else in common.
    url = context.backend.url
    return url if url != "memory://" else id(context.backend)


class Events:
    """Events of a workspace's scope from now on, or from behind a cursor; for ``for`` and ``async for``, without end.

    Args:
        context: The workspace.
        after: Cursor of the last event that was seen; None for only what comes.
    """

    def __init__(self, context: Context, after: str | None = None) -> None:
        self._context, self._after = context, after
        self._queue: asyncio.Queue[Event] = asyncio.Queue(WAITING_MAX)
        self._pump: asyncio.Task[None] | None = None

    def __repr__(self) -> str:
        return "<events(): each as it happens, without end; close() stops following>"

    async def _open(self) -> Self:
        if self._context.backend.bus is None:
            _followers.setdefault(_home(self._context), []).append(self._queue)
            return self
        standing = asyncio.Event()
        self._pump = asyncio.get_running_loop().create_task(self._fill(standing))
        # It ends with an error when the store is closed first, which nobody may ask for.
        self._pump.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
        waiting = asyncio.ensure_future(standing.wait())
        await asyncio.wait({waiting, self._pump}, return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        if self._pump.done():
            self._pump.result()
        return self

    async def _fill(self, standing: asyncio.Event) -> None:
        bus = self._context.backend.bus
        if bus is None:
            return
        kept: list[Event] = []
        seen: set[str] = set()
        async with aclosing(follow(bus, f"{EVENTS}.>")) as walk:  # type: ignore[type-var]
            async for message in walk:
                if message is None:
                    for event in missed(kept, self._after) if self._after is not None else ():
                        await self._queue.put(event)
                    seen = {event.identity for event in kept[-1000:]}
                    kept = []
                    standing.set()
                    continue
                found = read_event(message.data)
                if found is not None and not standing.is_set():
                    kept.append(found)
                elif found is not None and found.identity not in seen:
                    await self._queue.put(found)

    async def _next(self) -> Event:
        while True:
            taken = asyncio.ensure_future(self._queue.get())
            waiting: set[asyncio.Future[Any]] = {taken} if self._pump is None else {taken, self._pump}
            try:
                await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            finally:
                if not taken.done():
                    taken.cancel()
            if not taken.done() or taken.cancelled():
                raise StopAsyncIteration
            event = taken.result()
            if concerns(event, self._context.names):
                return event

    async def _close(self) -> None:
        queues = _followers.get(_home(self._context), [])
        if self._queue in queues:
            queues.remove(self._queue)
        if self._pump is not None:
            self._pump.cancel()
            await asyncio.gather(self._pump, return_exceptions=True)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Event:
        try:
            return run(self._next())
        except StopAsyncIteration:
            raise StopIteration from None

    def __aiter__(self) -> AsyncIterator[Event]:
        return self

    async def __anext__(self) -> Event:
        return await bridge(self._next())

    def close(self) -> None:
        """Stop following."""
        run(self._close())

    async def close_async(self) -> None:
        """Coroutine twin of :meth:`close`, safe to await on any loop."""
        await bridge(self._close())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def concerns(event: Event, names: Any) -> bool:
    """Whether an event is of a workspace's scope: its session and user, or its crew."""
    one, two, three = event.scope
    if not event.named:
        return (one, two) == (names.namespace, names.crew)
    app = (names.component or names.app) if names.scope == "component" else names.app
    return (one, two) == (app, names.user) and (three == names.session or event.filename.startswith("user:"))


async def open_events(context: Context, after: str | None = None) -> Events:
    """Begin to follow; nothing that happens after the return is missed."""
    return await Events(context, after)._open()


class OpeningEvents:
    """Events that are not followed yet: awaited it gives them, and ``async for`` follows them from its first step on.

    Args:
        context: The workspace.
        after: As for :class:`Events`.
    """

    def __init__(self, context: Context, after: str | None) -> None:
        self._context, self._after = context, after

    def __await__(self) -> Generator[Any, None, Events]:
        return bridge(open_events(self._context, self._after)).__await__()

    async def __aiter__(self) -> AsyncIterator[Event]:
        events = await self
        try:
            async for event in events:
                yield event
        finally:
            await events.close_async()
