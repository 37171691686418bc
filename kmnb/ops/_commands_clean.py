"""Commands over threads and garbage collection."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kmnb.core.answers import Answer, line
from kmnb.core.describe import Param
from kmnb.ops._command import FILENAME, REF, command, word

DRY = (
    Param("dry_run", "flag", "Whether only to say what would be deleted.", default=False),
    Param("explain", "text", "Key of an artifact; tell what would happen to it and why, and delete nothing."),
)
"""What every collection can be asked before it deletes."""


@command(
    "close",
    "Close a thread: its discussion artifacts are deleted at once.",
    word("thread", "Thread; the workspace's own when absent.", required=False),
    *DRY,
    effect="delete",
)
async def close(workspace: Any, given: Mapping[str, Any]) -> Any:
    """Close a thread."""
    thread, dry_run = given["thread"] or workspace.names.thread, given["dry_run"] or bool(given["explain"])
    report = await workspace.close_thread_async(thread, dry_run=dry_run)
    return await _told(workspace, report, given)


async def _told(workspace: Any, report: Any, given: Mapping[str, Any]) -> Any:
    """Give the report, or what it says of the one artifact that was asked for."""
    if not given["explain"]:
        return report
    from kmnb.ops.explain import explained

    return await explained(workspace.context, report, given["explain"])


@command(
    "gc",
    "Sweep: delete what belongs to no active thread and is older than the grace window.",
    *DRY,
    Param("foreign", "flag", "Whether threads that this registry never held may go too.", default=False),
    effect="delete",
)
async def sweep(workspace: Any, given: Mapping[str, Any]) -> Any:
    """Sweep once."""
    dry_run = given["dry_run"] or bool(given["explain"])
    report = await workspace.sweep_async(dry_run=dry_run, foreign=given["foreign"])
    return await _told(workspace, report, given)


@command(
    "open", "Register a thread as active; a closed one is opened again.", word("thread", "Thread."), effect="write"
)
async def open_thread(workspace: Any, given: Mapping[str, Any]) -> Answer:
    """Open a thread."""
    await workspace.open_thread_async(given["thread"])
    return line(f"{given['thread']} is open", {"thread": given["thread"]})


@command("threads", "List the threads that the registry knows, with their state.")
async def threads(workspace: Any, given: Mapping[str, Any]) -> Any:
    """List threads."""
    return await workspace.threads_async()


@command(
    "doctor",
    "Check store, registry and sandbox, and say what to do.",
    Param("fix", "flag", "Whether to put right what can be put right: the TTL of the store.", default=False),
    effect="write",
)
async def doctor(workspace: Any, given: Mapping[str, Any]) -> Any:
    """Check everything."""
    return await workspace.doctor_async(fix=given["fix"])


@command("holds", "List the artifacts that are held, with reason and end.")
async def holds(workspace: Any, given: Mapping[str, Any]) -> Any:
    """List holds."""
    return await workspace.holds_async()


@command(
    "lifecycle",
    "Show the native lifecycle rules of a cloud store and how to apply them, or apply them.",
    Param("apply", "flag", "Whether to put them into the bucket, beside the rules of others.", default=False),
    effect="write",
)
async def lifecycle(workspace: Any, given: Mapping[str, Any]) -> Any:
    """Show or apply the rules."""
    return await workspace.lifecycle_async(apply=given["apply"])


@command(
    "retain",
    "Remove old versions of the session's named artifacts by a policy; a dry run unless told otherwise.",
    Param("keep_last", "integer", "How many versions of each name stay.", minimum=1),
    Param("max_age_seconds", "number", "Age above which a version goes; the latest stays.", minimum=0),
    Param("quota_bytes", "integer", "Bytes that all versions together may take; the oldest go first.", minimum=0),
    Param("carry_out", "flag", "Whether to remove them; without it only what would go is said.", default=False),
    effect="delete",
)
async def retain(workspace: Any, given: Mapping[str, Any]) -> Any:
    """Apply a policy."""
    rules = {name: given[name] for name in ("keep_last", "max_age_seconds", "quota_bytes")}
    return await workspace.retain_async(**rules, dry_run=not given["carry_out"])


@command(
    "hold",
    "Keep garbage collection away from an artifact for a while.",
    REF,
    word("reason", "Why it is still needed."),
    Param("seconds", "number", "How long; seven days by default.", minimum=1),
    effect="write",
)
async def hold(workspace: Any, given: Mapping[str, Any]) -> Answer:
    """Hold an artifact."""
    artifact = await workspace.get_async(given["ref"])
    await artifact.hold_async(given["reason"], seconds=given["seconds"])
    from kmnb.ops.holds import find_hold

    held = await find_hold(workspace.context, artifact.key)
    until = "" if held is None else f" until {held.until.isoformat(timespec='seconds')}"
    copied = held is not None and held.copy is not None
    note = "; its bytes were copied, since the store may remove the original at its TTL" if copied else ""
    told = {"key": artifact.key, "reason": given["reason"], "until": held and held.until, "copied": copied}
    return line(f"{artifact.key} is held{until}: {given['reason']}{note}", told)


@command("release", "Let garbage collection have an artifact again.", REF, effect="write")
async def release(workspace: Any, given: Mapping[str, Any]) -> Answer:
    """Release a hold."""
    artifact = await workspace.get_async(given["ref"])
    await artifact.release_async()
    return line(f"{artifact.key} is no longer held", {"key": artifact.key})


@command("keep", "Copy an artifact to a named artifact, which stays.", REF, FILENAME, effect="write")
async def keep(workspace: Any, given: Mapping[str, Any]) -> Any:
    """Keep an artifact for good."""
    artifact = await workspace.get_async(given["ref"])
    return await artifact.keep_async(given["filename"])


COMMANDS = (open_thread, close, sweep, threads, doctor, hold, release, holds, keep, retain, lifecycle)
