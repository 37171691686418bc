"""Look at store, registry, sweep and sandbox, and say what is wrong and what to do about it."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from kmnb.core.addresses import scope_prefix
from kmnb.core.answers import Answer
from kmnb.core.display import Card, count_text
from kmnb.core.metadata import Capability
from kmnb.core.registry import State, record_key
from kmnb.errors import DigestMismatch, KmnbError, VersionConflict
from kmnb.ops.context import Context
from kmnb.ops.foreign import foreign_coordinator
from kmnb.ops.holds import list_holds
from kmnb.ops.named import address_of
from kmnb.ops.sweeping import read_mark
from kmnb.ops.threads import list_threads, touch_thread
from kmnb.storage._protocols import ExpiringBackend, PeerBackend

SKEW_SECONDS = 60.0
"""Difference of clocks that is worth a warning."""
FAULTS_MAX = 200
"""Most versions of a peer's store that are looked at."""
DAMAGED_MAX = 10
"""Most damaged records that are named."""
SET_ASIDE = "set-aside"
"""First segment of the records that keep what damaged ones held."""
_SET_ASIDE = "Set them aside with kmnb doctor --fix: they are kept, and their threads count as just seen."
_MOVE = "Copy them to a store in the layout of kmnb with kmnb migrate."


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    name: str
    """What."""
    status: str
    """``ok``, ``warning`` or ``failed``."""
    detail: str
    """What was found."""
    advice: str = ""
    """What to do; empty where nothing needs to be done."""


async def examine(context: Context, *, fix: bool = False) -> Answer:
    """Look at everything that garbage collection and runs depend on.

    Args:
        context: The workspace.
        fix: Whether to put right what can be put right: the TTL of the store, and damaged records of threads.

    Returns:
        A table; walking it gives each :class:`Finding`. What cannot be looked at is a finding too.
    """
    if fix and isinstance(context.backend, ExpiringBackend):
        await context.backend.set_ttl(context.settings.ttl_seconds)
    if fix:
        await _set_aside(context)
    found = [finding async for finding in _all(context)]
    bad = [finding for finding in found if finding.status != "ok"]
    title = "everything is in order" if not bad else f"{len(bad)} of {len(found)} findings need attention"
    rows = [(finding.name, finding.status, finding.detail) for finding in found]
    notes = [f"{finding.name}: {finding.advice}" for finding in bad if finding.advice]
    text = "".join("\t".join((item.name, item.status, item.detail, item.advice)) + "\n" for item in found)
    data = {
        "findings": [
            {"name": item.name, "status": item.status, "detail": item.detail, "advice": item.advice} for item in found
        ]
    }
    card = Card(title, columns=("what", "status", "detail"), rows=rows, notes=notes)
    return Answer(card, data, text, tuple(found))


async def _set_aside(context: Context) -> None:
    """Replace damaged records of threads; what cannot be replaced stands among the findings."""
    with contextlib.suppress(KmnbError, OSError, TimeoutError):
        for thread in [thread async for thread in list_threads(context)]:
            if thread.state is State.UNREADABLE:
                await _keep_value(context, record_key(thread.namespace, thread.crew, thread.thread))
                await touch_thread(context, thread.thread, reopen=True, own=False)


async def _keep_value(context: Context, key: str) -> None:
    """Keep what a damaged record holds; where its bytes cannot even be read, the store keeps its file."""
    try:
        record = await context.backend.records.get(key)
    except DigestMismatch:
        return
    copy = f"{SET_ASIDE}/{hashlib.sha256(key.encode() + record.value).hexdigest()}"
    with contextlib.suppress(VersionConflict):
        await context.backend.records.put(copy, record.value, expected=None)


async def _all(context: Context) -> AsyncIterator[Finding]:
    peers = (_layout,) if isinstance(context.backend, PeerBackend) else ()
    for look in (_store, *peers, _ttl, _clock, _registry, _last_sweep, _holds, _coordinator, _sandbox):
        try:
            yield await look(context)
        except (KmnbError, OSError, TimeoutError) as error:
            yield Finding(look.__name__.strip("_").replace("_", " "), "failed", str(error))


async def _store(context: Context) -> Finding:
    facts: dict[str, Any] = await context.backend.describe()
    powers = ", ".join(sorted(str(power) for power in context.backend.capabilities))
    warnings = facts.get("warnings", ())
    version = f", server {facts['server_version']}" if "server_version" in facts else ""
    detail = f"{context.backend.url}{version}; {powers}"
    return Finding("store", "warning" if warnings else "ok", detail, "; ".join(warnings))


async def _layout(context: Context) -> Finding:
    backend, here = context.backend, context.settings.layout
    assert isinstance(backend, PeerBackend)
    place = address_of(context, "x")
    scopes = tuple(scope_prefix(place.app, place.user, session) for session in (place.session, None))
    faults = [line async for line in backend.faults(place.app, scopes, most=FAULTS_MAX)]
    if not faults:
        return Finding("layout", "ok", f"{here}, nothing wrong with the versions of this session and this user")
    shown = "; ".join(faults[:10]) + (f"; {len(faults) - 10} more" if len(faults) > 10 else "")
    return Finding("layout", "warning", f"{here}, {len(faults)} defects that the peer left: {shown}", _MOVE)


async def _ttl(context: Context) -> Finding:
    return ttl_finding(context)


def ttl_finding(context: Context) -> Finding:
    """Tell whether the store removes discussion artifacts at the age that is set. No I/O."""
    wanted = context.settings.ttl_seconds
    if not isinstance(context.backend, ExpiringBackend):
        return Finding("ttl", "ok", f"{wanted / 3600:g} h, applied by the sweep")
    has = context.backend.ttl_seconds
    if has == wanted:
        return Finding("ttl", "ok", f"{wanted / 3600:g} h, applied by the server")
    told = "none: discussion artifacts never expire by themselves" if has is None else f"{has / 3600:g} h"
    advice = f"Set {wanted / 3600:g} h with kmnb doctor --fix."
    return Finding("ttl", "warning", told, advice)


async def _clock(context: Context) -> Finding:
    skew = abs((await context.now() - datetime.now(UTC)).total_seconds())
    if skew <= SKEW_SECONDS:
        return Finding("clock", "ok", f"the store's clock is {skew:.0f} s from this machine's")
    return Finding("clock", "warning", f"the store's clock is {skew:.0f} s from this machine's", "Set this clock.")


async def _registry(context: Context) -> Finding:
    threads = [thread async for thread in list_threads(context)]
    states = [thread.state for thread in threads]
    detail = f"{states.count(State.ACTIVE)} active of {count_text(len(states), 'threads')}"
    damaged = [thread.thread for thread in threads if thread.state is State.UNREADABLE]
    if damaged:
        names = context.names
        shown = ", ".join(record_key(names.namespace, names.crew, thread) for thread in damaged[:DAMAGED_MAX])
        more = f" and {len(damaged) - DAMAGED_MAX} more" if len(damaged) > DAMAGED_MAX else ""
        return Finding("registry", "warning", f"{detail}, {len(damaged)} damaged: {shown}{more}", _SET_ASIDE)
    return Finding("registry", "ok", detail)


async def _last_sweep(context: Context) -> Finding:
    mark, _ = await read_mark(context)
    if mark.last is None:
        return Finding("last sweep", "ok", "never")
    age = (await context.now() - mark.last).total_seconds()
    late = age > 10 * context.settings.sweep_seconds
    detail = f"{max(age, 0.0) / 60:.0f} min ago"
    return Finding("last sweep", "warning" if late else "ok", detail, "Run kmnb sweep --every 30m." if late else "")


async def _holds(context: Context) -> Finding:
    holds = [hold async for _, hold in list_holds(context)]
    return Finding("holds", "ok", f"held: {count_text(len(holds), 'artifacts')}")


async def _coordinator(context: Context) -> Finding:
    if Capability.BUS not in context.backend.capabilities:
        return Finding("coordinator", "ok", "no bus, so nobody else runs this crew")
    if await foreign_coordinator(context):
        return Finding("coordinator", "warning", *coordinator_advice(context))
    return Finding("coordinator", "ok", "nobody else is known to run this crew")


def coordinator_advice(context: Context) -> tuple[str, str]:
    """Say what it means that a foreign coordinator runs the crew, and what to do."""
    crew = context.names.crew
    return (
        f"a Kubemoot coordinator runs crew {crew}: it deletes artifacts of threads that it does not know after 2 h",
        f"Connect with a crew of your own, for example crew='{crew}-notebook'.",
    )


async def _sandbox(context: Context) -> Finding:
    from kmnb.sandbox import doctor_async

    report = await doctor_async()
    detail = f"level {report.level} by {report.engine}"
    if report.level < 2:
        return Finding("sandbox", "warning", f"{detail}; {'; '.join(report.missing)}", "Runs need level 2 by default.")
    return Finding("sandbox", "ok", detail)
