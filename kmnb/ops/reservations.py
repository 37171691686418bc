"""Numbers of versions that are being written: kept alive by their writers, waited for, and given up once one died.

The record of a name remembers who is writing which number since when. A writer renews that while its stream goes on,
so one that is slow is waited for and one that died is not. Whoever waits gives a dead one up in the record first, so
a writer that only slept finds out and does not complete behind the back of those who went past it.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from datetime import datetime

from kmnb.core.addresses import NamedAddress
from kmnb.core.metadata import ObjectInfo
from kmnb.core.versions import Counter
from kmnb.errors import KmnbError, VersionConflict
from kmnb.ops.context import Context
from kmnb.ops.named import counter_of, list_versions
from kmnb.ops.numbers import change_counter, read_counter
from kmnb.storage._threads import settle

PREDECESSOR_SECONDS = 30.0
"""How long the writer of a version may give no sign of life before others go past it."""
CLOCK_SECONDS = 300.0
"""How much clocks may differ: a sign of life that is older by as much is taken for old at once."""
_CROWD = 64
# Reservations of quick writers are left to age, which spares a request; with so many they are taken back at once.


class _GivenUp(Exception):
    """Others went past the number."""


class Reservation:
    """A number that this process is writing."""

    def __init__(self, context: Context, address: NamedAddress, number: int) -> None:
        self.number = number
        self._context, self._address = context, address
        self._renewed()

    def _renewed(self) -> None:
        self._seen = time.monotonic(), time.time()

    def _is_old(self) -> bool:
        # A machine that slept may not have counted the time.
        return max(time.monotonic() - self._seen[0], time.time() - self._seen[1]) > PREDECESSOR_SECONDS / 2

    async def _renew(self) -> None:
        now = await self._context.now()

        def change(counter: Counter) -> Counter:
            if self.number not in counter.writing:
                raise _GivenUp
            return counter.written_by(self.number, now)

        await change_counter(self._context, counter_of(self._address), change)
        self._renewed()

    async def confirm(self) -> None:
        """Make sure that nobody went past the number; costs nothing within half of the time.

        Raises:
            VersionConflict: Others took the writer for dead.
        """
        try:
            if self._is_old():
                await self._renew()
        except _GivenUp:
            raise VersionConflict(
                f"artifact {self._address.name!a:.200}",
                f"version {self.number} was silent for {PREDECESSOR_SECONDS:g} s and others went past it",
                "Load the latest version and try again.",
            ) from None

    async def settle(self) -> None:
        """Confirm once more when the version is there; it is taken back where others went past it meanwhile.

        Raises:
            VersionConflict: They did.
        """
        try:
            await self.confirm()
        except VersionConflict:
            now = await self._context.now()
            name = counter_of(self._address)
            await change_counter(self._context, name, lambda counter: counter.without(self.number, now))
            await self._context.backend.named.delete(self._address.version_key(self.number))
            raise
        except (KmnbError, OSError, TimeoutError):
            return  # the version is there; that nobody can be asked changes nothing

    async def keep(self) -> None:
        """Renew the reservation again and again, until others went past it."""
        with contextlib.suppress(_GivenUp):
            while True:
                await asyncio.sleep(PREDECESSOR_SECONDS / 4)
                with contextlib.suppress(KmnbError, OSError, TimeoutError):
                    await self._renew()


async def reserve(context: Context, address: NamedAddress, change: Callable[[Counter], Counter]) -> Counter:
    """Change a name's record so that a number is reserved; whoever is cancelled meanwhile leaves none reserved.

    Args:
        context: The workspace.
        address: The name.
        change: Gives the record in which the number is the last that was given out.

    Returns:
        The record as it was before.
    """
    changing = asyncio.ensure_future(change_counter(context, counter_of(address), change))
    try:
        return await settle(changing)
    except asyncio.CancelledError:
        if not changing.cancelled() and changing.exception() is None:
            await _let_go(context, address, change(changing.result()).following - 1)
        raise


async def _let_go(context: Context, address: NamedAddress, number: int) -> None:
    """Take a reservation back; one that cannot be taken back now grows old by itself."""
    with contextlib.suppress(KmnbError, OSError, TimeoutError):
        await change_counter(context, counter_of(address), lambda counter: counter.given_up(number))


@contextlib.asynccontextmanager
async def writing(context: Context, address: NamedAddress, reserved: tuple[Counter, int]) -> AsyncIterator[Reservation]:
    """Keep a number reserved while a block writes its version; a block that fails gives it up at once.

    Args:
        context: The workspace.
        address: The name.
        reserved: The name's record before the number was reserved, and the number.

    Raises:
        VersionConflict: The writer slept, and others went past the number.
    """
    before, number = reserved
    held = Reservation(context, address, number)
    keeper = asyncio.create_task(held.keep())
    done = False
    try:
        yield held
        await held.settle()
        done = True
    finally:
        keeper.cancel()
        await asyncio.gather(keeper, return_exceptions=True)
        if not done or len(before.writing) >= _CROWD:
            await _let_go(context, address, number)


async def predecessor(context: Context, address: NamedAddress, version: int) -> ObjectInfo | None:
    """Wait until every number below is a version or given up; gives the highest that is there, None for none."""
    watched: dict[int, tuple[datetime, float]] = {}
    pause = 0.005
    while True:
        # The record first: whatever left it by then is in the listing.
        counter, _ = await read_counter(context, counter_of(address))
        top = max((number for number in await list_versions(context, address) if number < version), default=-1)
        waiting = [number for number in counter.writing if top < number < version and not counter.is_gone(number)]
        if not waiting:
            return await context.backend.named.head(address.version_key(top)) if top >= 0 else None
        now = await context.now()
        for number in waiting:
            beat = counter.writing[number]
            if number not in watched or watched[number][0] != beat:
                watched[number] = beat, time.monotonic()
            silent = time.monotonic() - watched[number][1]
            if max(silent, (now - beat).total_seconds() - CLOCK_SECONDS) > PREDECESSOR_SECONDS:
                await _give_up(context, address, number=number, beat=beat)
        await asyncio.sleep(pause)
        pause = min(pause * 1.5, 0.25)


async def _give_up(context: Context, address: NamedAddress, *, number: int, beat: datetime) -> None:
    """Give up a number whose writer is silent, unless it spoke just now."""

    def change(counter: Counter) -> Counter:
        return counter.given_up(number) if counter.writing.get(number) == beat else counter

    await change_counter(context, counter_of(address), change)
