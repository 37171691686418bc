"""A store that is full takes no record: neither mark of a closed thread nor claim. Some of what goes, goes first."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TypeVar

from kmnb.errors import StoreError
from kmnb.ops.claims import claimed
from kmnb.ops.context import Context

T = TypeVar("T")

ROOM_OBJECTS = 8
"""Objects that are deleted at once to make room for a record."""


def is_full(error: BaseException) -> bool:
    """Tell whether a store took something not, since it has no more room."""
    return getattr(error, "full", False) is True


async def with_room(step: Callable[[], Awaitable[T]], free: Callable[[], Awaitable[bool]]) -> T:
    """Do a step that writes a record.

    Args:
        step: The step.
        free: Deletes some of what is to go anyway; tells whether it did.

    Raises:
        StoreError: It failed for another reason, or there is nothing more to delete.
    """
    while True:
        try:
            return await step()
        except StoreError as error:
            if not is_full(error) or not await free():
                raise


@asynccontextmanager
async def claimed_or_full(context: Context, marks: Collection[str]) -> AsyncIterator[float | None]:
    """Claim objects, and tell until when; None in a store that is too full for a claim, and so for a new hold."""
    async with AsyncExitStack() as stack:
        deadline = None
        try:
            deadline = await stack.enter_async_context(claimed(context, marks))
        except StoreError as error:
            if not is_full(error):
                raise
        yield deadline
