"""What kmnb's own tests and those of others' plug-ins stand on: contract suites and throw-away services."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kmnb.testing._scratch import Scratch, ScratchUnavailable, scratch

if TYPE_CHECKING:
    from kmnb.testing._contract import StoreContract
    from kmnb.testing._contract_named import NamedContract

__all__ = ["NamedContract", "Scratch", "ScratchUnavailable", "StoreContract", "scratch"]


def __getattr__(name: str) -> Any:
    # The suites need pytest and hypothesis, which whoever only starts a service need not have.
    if name == "StoreContract":
        from kmnb.testing._contract import StoreContract

        return StoreContract
    if name == "NamedContract":
        from kmnb.testing._contract_named import NamedContract

        return NamedContract
    raise AttributeError(f"module 'kmnb.testing' has no attribute {name!r}")
