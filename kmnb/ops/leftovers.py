"""What else piles up.

Forgotten registry entries, counters, holds that ended, folders of killed runs, half-written objects of killed writers.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from stat import S_ISDIR

from kmnb.core.keys import crew_prefix
from kmnb.core.registry import Entry, crew_records, may_forget
from kmnb.core.report import Failure
from kmnb.core.retention import Reason, Verdict
from kmnb.core.versions import Counter
from kmnb.errors import KmnbError
from kmnb.ops.claims import MARK_CHARACTERS, ended_claims, mark_of
from kmnb.ops.context import Context
from kmnb.ops.holders import started_at
from kmnb.ops.holds import COPIES, HELD_KEY, find_hold, list_holds
from kmnb.ops.named import address_of
from kmnb.ops.numbers import COUNTERS
from kmnb.ops.room import claimed_or_full
from kmnb.ops.threads import read_entry
from kmnb.sandbox.inner.folders import remove_folder
from kmnb.sandbox.inner.users import may_own_leftovers

COUNTER_SECONDS = 90 * 24 * 3600
"""How long a counter of sequence numbers is kept after its last number."""
COPY_SECONDS = 3600
"""How long a held copy may be without its hold: the hold is written down once the copy is complete."""
FOLDER_SECONDS = 2 * 3600
"""How long a temporary folder that names no process may lie untouched."""
FOLDER_PREFIXES = (
    "kmnb-turn-",
    "kmnb-compute-",
    "kmnb-run-",
    "kmnb-cell-",
    "kmnb-kernel-",
    "kmnb-try-",
    "kmnb-artifacts-",
)
"""Beginnings of the names of temporary folders."""
SHORT_PARENT = Path("/tmp")  # noqa: S108
"""Where kernels make theirs, whose sockets need a short path."""
START_SECONDS = 24 * 3600.0
"""How long after a folder's last change a process must have started to be another one surely: clocks are put right."""


@dataclass(frozen=True, slots=True)
class Leftover:
    """Something that nobody owns any more."""

    verdict: Verdict
    """What it is and why it goes."""
    remove: Callable[[], Awaitable[None]]
    """Removes it."""


async def find_leftovers(context: Context, now: datetime) -> list[Leftover]:
    """Find what nobody owns any more; nothing is changed."""
    return [
        *await _ended_holds(context, now),
        *await _lost_copies(context, now),
        *await _ended_claims(context, now),
        *await _forgotten_threads(context, now),
        *await _old_counters(context, now),
        *await _stale_folders(),
    ]


async def _ended_holds(context: Context, now: datetime) -> list[Leftover]:
    named = "/".join(address_of(context, "x").key.split("/")[:2])
    holds = [found for start in (None, named) async for found in list_holds(context, start)]
    found = []
    for key, hold in dict(holds).items():
        if hold is None or now < hold.until:
            continue

        async def remove(key: str = key, held: str = hold.key) -> None:
            async with claimed_or_full(context, [mark_of(held)]):
                present = await find_hold(context, held)
                if present is not None and now < present.until:
                    return  # somebody holds it again
                await context.backend.records.delete(key)
                if present is not None and present.copy is not None:
                    await context.backend.named.delete(present.copy)

        detail = f"the hold of {hold.key} ended at {hold.until.isoformat(timespec='seconds')}"
        found.append(Leftover(Verdict(f"record:{key}", Reason.LEFTOVER, None, detail), remove))
    return found


async def _lost_copies(context: Context, now: datetime) -> list[Leftover]:
    """Find held copies without a hold: whoever copied was killed before the hold was written down."""
    copies = [info async for info in context.backend.named.list(COPIES)]
    known = {hold.copy async for _, hold in list_holds(context, "") if hold is not None} if copies else set()
    found = []
    for info in copies:
        young = info.created_at is None or (now - info.created_at).total_seconds() < COPY_SECONDS
        if info.key in known or young:
            continue

        async def remove(copy: str = info.key) -> None:
            async with claimed_or_full(context, [copy.rpartition("/")[2][:MARK_CHARACTERS]]):
                told = (await context.backend.named.head(copy)).attributes
                held = told.get(HELD_KEY)
                if held is None or await find_hold(context, held) is None:
                    await context.backend.named.delete(copy)

        detail = "a held copy without a hold"
        found.append(Leftover(Verdict(f"copy:{info.key}", Reason.LEFTOVER, info.size, detail), remove))
    return found


async def _ended_claims(context: Context, now: datetime) -> list[Leftover]:
    found = []
    for name in await ended_claims(context, now):

        async def remove(name: str = name) -> None:
            await context.backend.records.delete(name)

        detail = "the claim of a collection that was killed"
        found.append(Leftover(Verdict(f"record:{name}", Reason.LEFTOVER, None, detail), remove))
    return found


async def _forgotten_threads(context: Context, now: datetime) -> list[Leftover]:
    names, settings = context.names, context.settings
    ages = {"ttl_seconds": settings.ttl_seconds, "grace_seconds": settings.grace_seconds}
    found = []
    async for record in context.backend.records.list(crew_records(names.namespace, names.crew)):
        entry = Entry.from_bytes(record.value)
        if entry is None or not may_forget(entry, now, **ages):
            continue

        async def remove(key: str = record.key) -> None:
            present, _, damaged = await read_entry(context, key)
            if damaged is None and present is not None and may_forget(present, now, **ages):
                await context.backend.records.delete(key)

        detail = f"its thread ended at {entry.ended_at().isoformat(timespec='seconds')}"
        found.append(Leftover(Verdict(f"record:{record.key}", Reason.LEFTOVER, None, detail), remove))
    return found


async def _old_counters(context: Context, now: datetime) -> list[Leftover]:
    """Find counters that gave out no number for so long that every reference to one of theirs has expired for long."""
    names = context.names
    found = []
    async for record in context.backend.records.list(f"{COUNTERS}/{crew_prefix(names.namespace, names.crew)}"):
        counter = Counter.from_bytes(record.value)
        if counter is None or counter.moved_at is None or (now - counter.moved_at).total_seconds() < COUNTER_SECONDS:
            continue

        async def remove(key: str = record.key) -> None:
            await context.backend.records.delete(key)

        detail = f"no number since {counter.moved_at.isoformat(timespec='seconds')}"
        found.append(Leftover(Verdict(f"record:{record.key}", Reason.LEFTOVER, None, detail), remove))
    return found


async def _stale_folders() -> list[Leftover]:
    found = []
    tops = dict.fromkeys((Path(tempfile.gettempdir()), SHORT_PARENT))
    found_paths = await asyncio.to_thread(lambda: [path for top in tops for path in stale_folders(top)])
    for path in found_paths:

        async def remove(path: Path = path) -> None:
            # A program that was killed may have left anything there, nested as deep as it liked.
            if not await asyncio.to_thread(remove_folder, str(path)):
                raise OSError(0, "cannot be removed", str(path))

        found.append(Leftover(Verdict(f"folder:{path}", Reason.LEFTOVER, None, "its run or turn was killed"), remove))
    return found


def stale_folders(top: Path) -> list[Path]:
    """Find folders of this user's runs and turns that nobody uses any more; root's runs have users of their own.

    Args:
        top: Where such folders are made.

    Returns:
        Folders whose process is gone, and those without a process in their name that nothing has touched for
        :data:`FOLDER_SECONDS`.
    """
    stale = []
    for prefix in FOLDER_PREFIXES:
        for path in sorted(top.glob(f"{prefix}*")):
            try:
                state = path.lstat()
            except OSError:
                continue
            owner = path.name.removeprefix(prefix).partition("-")[0]
            numbered = owner.isascii() and owner.isdigit()
            old = time.time() - state.st_mtime > FOLDER_SECONDS
            ours = may_own_leftovers(state.st_uid)
            if S_ISDIR(state.st_mode) and ours and (_is_gone(owner, state.st_ctime) if numbered else old):
                stale.append(path)
    return stale


def _is_gone(process: str, changed: float) -> bool:
    """Whether the process is gone that made a folder: its number may belong to a later one by now."""
    started = started_at(int(process))
    return started is None or started > changed + START_SECONDS


async def collect_store(context: Context, *, dry_run: bool) -> tuple[list[Verdict], list[Failure]]:
    """Have the store remove what killed writers left and what else is no object; a failure is reported."""
    try:
        found = await context.backend.collect(dry_run=dry_run)
    except (KmnbError, OSError, TimeoutError) as error:
        return [], [Failure("store:", str(error))]
    return [Verdict(f"store:{one.name}", Reason.LEFTOVER, one.size, one.reason) for one in found], []


async def collect_leftovers(context: Context, leftovers: list[Leftover]) -> tuple[list[Verdict], list[Failure]]:
    """Remove leftovers; a failure is reported and the rest goes on."""
    failures = []
    for leftover in leftovers:
        try:
            await leftover.remove()
        except FileNotFoundError:
            continue  # another sweep was faster
        except (KmnbError, OSError, TimeoutError) as error:
            failures.append(Failure(leftover.verdict.key, str(error)))
    return [leftover.verdict for leftover in leftovers], failures
