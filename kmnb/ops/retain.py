"""Apply a retention policy to the named artifacts of a session and its user; dry run unless told otherwise."""

from __future__ import annotations

import time
from dataclasses import replace
from itertools import islice

from kmnb.core.addresses import NamedAddress, parse_version_key, scope_prefix
from kmnb.core.policy import Policy, Version, judge_versions
from kmnb.core.report import Failure, Report
from kmnb.core.versions import Counter
from kmnb.errors import KmnbError
from kmnb.ops.claims import CLAIM_KEYS_MAX, claimed, mark_of
from kmnb.ops.context import Context
from kmnb.ops.holds import active_holds, hold_key
from kmnb.ops.metrics import counted
from kmnb.ops.named import VERSIONS, address_of, address_of_key, remove_version
from kmnb.ops.numbers import read_counter
from kmnb.ops.reap import spared


async def retain(context: Context, policy: Policy, *, dry_run: bool = True) -> Report:
    """Judge, and unless it is a dry run remove, old versions of the session's and the user's named artifacts.

    Args:
        context: The workspace.
        policy: What stays.
        dry_run: Whether only to tell what would go.

    Returns:
        A verdict with a reason for each version. Removed ones leave tombstones; their numbers are not used again.
    """
    began, now = time.monotonic(), await context.now()
    here = address_of(context, "x")
    start = "/".join(here.key.split("/")[:2])
    holds = await active_holds(context, now, start)
    versions = await _versions(context, here, set(holds))
    verdicts = judge_versions(versions, policy, now=now)
    scope = scope_prefix(here.app, here.user, here.session) + "/"
    report = Report("retain", scope, now, tuple(verdicts), dry_run=dry_run)
    if dry_run:
        return replace(report, seconds=time.monotonic() - began)
    done = [verdict for verdict in verdicts if not verdict.deletes]
    failures: list[Failure] = []
    waiting = iter([verdict for verdict in verdicts if verdict.deletes])
    while batch := list(islice(waiting, CLAIM_KEYS_MAX)):
        async with claimed(context, [mark_of(verdict.key) for verdict in batch]):
            holds = await active_holds(context, await context.now(), start)
            batch = [spared(verdict, holds) for verdict in batch]
            failures += [failed for one in batch if one.deletes and (failed := await _remove(context, one.key))]
        done += batch
    seconds = time.monotonic() - began
    return counted(replace(report, verdicts=tuple(done), failures=tuple(failures), seconds=seconds))


async def _remove(context: Context, key: str) -> Failure | None:
    try:
        address = await address_of_key(context, key)
        if address is not None:
            await remove_version(context, address, int(key.rpartition("/")[2]))
    except (KmnbError, OSError, TimeoutError) as error:
        return Failure(key, str(error))
    return None


async def _versions(context: Context, here: NamedAddress, holds: set[str]) -> list[Version]:
    found: list[Version] = []
    counters: dict[str, Counter] = {}
    for session in (here.session, None):
        async for info in context.backend.named.list(scope_prefix(here.app, here.user, session)):
            parsed = parse_version_key(info.key)
            if parsed is None:
                continue
            name = info.key.rpartition("/")[0]
            if name not in counters:
                counters[name], _ = await read_counter(context, f"{VERSIONS}/{name}")
            held = hold_key(info.key) in holds
            labelled = parsed[1] in counters[name].labels.values()
            found.append(Version(info.key, name, parsed[1], info.size or 0, info.created_at, labelled, held))
    return found
