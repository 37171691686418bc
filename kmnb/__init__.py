"""kmnb: work with tool results that are far too large to read. Sip, don't slurp.

Names are loaded on first use, so that ``import kmnb`` costs next to nothing.
"""

from __future__ import annotations

# Without importing typing: the spawner of the sandbox forks all that it has imported.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kmnb import contract as contract
    from kmnb import integrations as integrations
    from kmnb import sandbox as sandbox
    from kmnb import testing as testing
    from kmnb._connect import connect, connect_async, open_store, open_store_async
    from kmnb.errors import KmnbError
    from kmnb.integrations.agent_tools import agent_tools, agent_tools_async
    from kmnb.integrations.duckdb import duckdb

__version__ = "0.1.0"

_WHERE = {
    "agent_tools": "kmnb.integrations.agent_tools",
    "agent_tools_async": "kmnb.integrations.agent_tools",
    "connect": "kmnb._connect",
    "connect_async": "kmnb._connect",
    "duckdb": "kmnb.integrations.duckdb",
    "open_store": "kmnb._connect",
    "open_store_async": "kmnb._connect",
    "KmnbError": "kmnb.errors",
}
_MODULES = frozenset({"contract", "errors", "integrations", "sandbox", "testing"})

__all__ = [
    "KmnbError",
    "__version__",
    "agent_tools",
    "agent_tools_async",
    "connect",
    "connect_async",
    "duckdb",
    "open_store",
    "open_store_async",
]


def __getattr__(name: str) -> Any:
    import importlib

    if name in _WHERE:
        value = getattr(importlib.import_module(_WHERE[name]), name)
    elif name in _MODULES:
        value = importlib.import_module(f"kmnb.{name}")
    else:
        raise AttributeError(f"module 'kmnb' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_WHERE, *_MODULES})


def load_ipython_extension(shell: Any) -> None:
    """Bring ``%artifact`` and ``%%compute``; called by ``%load_ext kmnb``."""
    from kmnb.frontends import magics

    magics.load(shell)


def unload_ipython_extension(shell: Any) -> None:
    """Undo :func:`load_ipython_extension` exactly."""
    from kmnb.frontends import magics

    magics.unload(shell)


def _jupyter_server_extension_points() -> list[dict[str, str]]:
    return [{"module": "kmnb.frontends.server", "name": "kmnb"}]
