"""What stands on a store that this process opened: handles and workspaces."""

from __future__ import annotations

from typing import Any, NoReturn, Self

from kmnb.errors import BadRequest


class Standing:
    """A copy of it is the thing itself, and no other process can have it."""

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: Any) -> Self:
        return self

    def __reduce__(self) -> NoReturn:
        told = "stands on a store that this process opened, and cannot be pickled"
        raise BadRequest(repr(self), told, "Hand over its address, uri or url, and open that in the other process.")
