"""The part of a workspace for threads, holds and garbage collection."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from kmnb._bridge import blocking, bridged
from kmnb.core.answers import Answer, table
from kmnb.core.display import count_text
from kmnb.core.registry import State
from kmnb.ops import threads
from kmnb.ops.context import Context
from kmnb.ops.holds import list_holds
from kmnb.ops.metrics import PROCESS, counted

if TYPE_CHECKING:
    from kmnb.core.report import Report


def _time(moment: datetime | None) -> str:
    return "" if moment is None else moment.isoformat(timespec="seconds")


class ThreadFace:
    """Open and close threads, list them, sweep."""

    context: Context

    async def _open_thread(self, thread: str) -> None:
        """Register a thread as active; a closed one is opened again. Spill, put and publish do it by themselves.

        Args:
            thread: The thread.

        Raises:
            KeySyntaxError: No thread can be called that.
        """
        await threads.touch_thread(self.context, thread, reopen=True)

    async def _close_thread(self, thread: str | None = None, *, dry_run: bool = False) -> Report:
        """Close a thread: everything below its prefix is deleted at once, but for what is held.

        Args:
            thread: The thread; the workspace's own.
            dry_run: Whether only to tell what would go; the thread stays open.

        Returns:
            A verdict for each object. Closing twice is harmless; failed deletions are reported and swept later.

        Raises:
            KeySyntaxError: No thread can be called that.
            StoreError: The registry or the listing failed; nothing was deleted.
        """
        from kmnb.ops import reap

        own = self.context.names.thread if thread is None else thread
        report = await reap.close_thread(self.context, own, dry_run=dry_run)
        return report if dry_run else counted(report)

    async def _threads(self) -> Answer:
        """List the threads of the workspace's crew that the registry knows, closed ones included.

        Returns:
            A table; walking it gives each :class:`~kmnb.ops.threads.Thread`.
        """
        found = [thread async for thread in threads.list_threads(self.context)]
        rows = [(item.thread, str(item.state), _time(item.lease_until), _time(item.closed_at)) for item in found]
        active = sum(item.state is State.ACTIVE for item in found)
        names, total = self.context.names, count_text(len(found), "threads")
        title = f"{active} active of {total} of {names.namespace}/{names.crew}"
        return table(title, ("thread", "state", "lease until", "closed at"), rows, items=found)

    async def _sweep(self, *, dry_run: bool = False, foreign: bool = False) -> Report:
        """Delete what belongs to no active thread and is older than the grace window.

        Args:
            dry_run: Whether only to tell what would go.
            foreign: Whether threads that this registry never held may go too.

        Returns:
            A verdict with a reason for each object. A registry that cannot be read deletes nothing.

        Raises:
            StoreError: The store cannot be listed.
        """
        from kmnb.ops import sweeping

        return await sweeping.sweep(self.context, dry_run=dry_run, foreign=foreign)

    async def _holds(self) -> Answer:
        """List what is held in the workspace's crew.

        Returns:
            A table; walking it gives each :class:`~kmnb.ops.holds.Hold`.
        """
        found = [hold async for _, hold in list_holds(self.context) if hold is not None]
        rows = [(hold.key, _time(hold.until), hold.by, hold.reason) for hold in found]
        title = f"held: {count_text(len(found), 'artifacts')}"
        return table(title, ("key", "until", "by", "reason"), rows, items=found)

    async def _lifecycle(self, *, apply: bool = False) -> Answer:
        """Tell the native lifecycle rules of the cloud store, and the command that applies them.

        Args:
            apply: Whether to put them into the bucket, beside the rules of others, and read them back.

        Raises:
            NotSupported: The store has no such rules, or they cannot be applied from here; the text says how.
            StoreDenied: These credentials may not.
        """
        from kmnb.ops.lifecycle import lifecycle_answer

        return await lifecycle_answer(self.context, apply=apply)

    lifecycle, lifecycle_async = blocking(_lifecycle), bridged(_lifecycle)

    def metrics(self) -> str:
        """Write what the collections of this process add up to, in Prometheus' text format."""
        return PROCESS.text()

    holds, holds_async = blocking(_holds), bridged(_holds)

    async def _doctor(self, *, fix: bool = False) -> Answer:
        """Look at store, registry, sweep and sandbox, and say what to do.

        Args:
            fix: Whether to put right what can be put right: the TTL of the store.

        Returns:
            A table of findings; what cannot be looked at is a finding too.
        """
        from kmnb.ops import doctor

        return await doctor.examine(self.context, fix=fix)

    doctor, doctor_async = blocking(_doctor), bridged(_doctor)
    open_thread, open_thread_async = blocking(_open_thread), bridged(_open_thread)
    close_thread, close_thread_async = blocking(_close_thread), bridged(_close_thread)
    threads, threads_async = blocking(_threads), bridged(_threads)
    sweep, sweep_async = blocking(_sweep), bridged(_sweep)
