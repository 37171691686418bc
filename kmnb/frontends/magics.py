"""``%load_ext kmnb``: brings ``%artifact`` and ``%%compute``, and takes them away again exactly.

Nothing of the store, the sips or the widgets is imported before a magic is used.
"""

from __future__ import annotations

from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from kmnb import _bridge
from kmnb.frontends._carried import carry_receipts
from kmnb.frontends._frontend import Frontend

_KINDS = ("line", "cell")
_NAMES = ("artifact", "compute")


class _Loaded(NamedTuple):
    """What was loaded, and what was there before, so that it can be put back."""

    magics: Any
    matcher: Any
    before: dict[tuple[str, str], Any]
    registered: Any
    patience: Any
    own_patience: Any
    receipts: Any


_loaded: WeakKeyDictionary[Any, _Loaded] = WeakKeyDictionary()


def load(shell: Any) -> None:
    """Register the magics and their completion; calling it again changes nothing.

    Args:
        shell: An IPython shell.
    """
    if shell in _loaded:
        return
    from kmnb.frontends._magic_class import KmnbMagics

    manager = shell.magics_manager
    before = {(kind, name): manager.magics[kind].get(name) for kind in _KINDS for name in _NAMES}
    registered = manager.registry.get(KmnbMagics.__name__)
    magics = KmnbMagics(shell=shell)
    manager.register(magics)
    matcher = _matcher(magics)
    shell.Completer.custom_matchers.append(matcher)
    earlier, patience = _bridge.patience, _patience(shell)
    _loaded[shell] = _Loaded(magics, matcher, before, registered, earlier, patience, carry_receipts(shell))
    _bridge.patience = patience


def unload(shell: Any) -> None:
    """Take the magics and their completion away and put back what was there before.

    Args:
        shell: The IPython shell that they were loaded into; another one is left alone.
    """
    state = _loaded.pop(shell, None)
    if state is None:
        return
    manager = shell.magics_manager
    for (kind, name), magic in state.before.items():
        # What somebody else has put in our place since is theirs.
        if getattr(manager.magics[kind].get(name), "__self__", None) is state.magics:
            _restore(manager.magics[kind], name, magic)
    if manager.registry.get(type(state.magics).__name__) is state.magics:
        _restore(manager.registry, type(state.magics).__name__, state.registered)
    for group, member in ((shell.configurables, state.magics), (shell.Completer.custom_matchers, state.matcher)):
        if any(found is member for found in group):
            group.remove(member)
    state.magics.let_go()
    state.receipts()
    if _bridge.patience is state.own_patience:
        _bridge.patience = state.patience


def _matcher(magics: Any) -> Any:
    """Make what IPython asks on Tab; its work is imported when it is asked first."""

    def kmnb_matcher(context: Any) -> Any:
        from kmnb.frontends._complete import answer

        return answer(context, magics)

    kmnb_matcher.matcher_api_version = 2  # type: ignore[attr-defined]
    kmnb_matcher.matcher_identifier = "kmnb"  # type: ignore[attr-defined]
    kmnb_matcher.matcher_priority = 100  # type: ignore[attr-defined]
    return kmnb_matcher


def _patience(shell: Any) -> Any:
    """Make what waits for blocking calls; what it shows is imported when a call takes longer than a second."""

    def wait(outcome: Any) -> None:
        from kmnb.frontends._progress import notebook_show, patience, terminal_show

        show = notebook_show() if hasattr(shell, "kernel") else terminal_show()
        if show is not None:
            patience(show)(outcome)

    return wait


def _restore(table: dict[str, Any], name: str, before: Any) -> None:
    if before is None:
        table.pop(name, None)
    else:
        table[name] = before


FRONTEND = Frontend("The magics %artifact and %%compute of notebooks.")
