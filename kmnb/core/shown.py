"""What shows itself in a notebook without loading anything before it is shown. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kmnb.core.display import Card


class Shown:
    """Shows itself as a card, however long its own repr is."""

    __slots__ = ()

    def card(self) -> Card:
        """What is to be shown."""
        raise NotImplementedError

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        from kmnb.core.display import bundle

        return bundle(self.card())
