"""How IPython shows an error of kmnb that a cell raised: the caller's own lines and the message, none of our frames.

An interrupt of a call, and arguments that it does not take, are shown in the same way.

Plain Python, and IPython in ``%xmode Verbose`` or with ``%config KmnbMagics.short_errors = False``, show every frame.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from types import TracebackType
from typing import Any, TypeVar

T = TypeVar("T")


def begun(method: Callable[..., T], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> T:
    """Call a coroutine function, whose body waits: what Python says of the arguments is the caller's own error."""
    try:
        return method(*args, **kwargs)
    except TypeError as error:
        shorten(error)
        raise


def shorten(error: Any) -> None:
    """Have IPython show an error of Python as it shows ours."""
    error._render_traceback_ = partial(rendered, error)


def rendered(error: Any) -> list[str]:
    """Give what IPython shows in the place of a traceback.

    Args:
        error: An error that reached a cell.

    Returns:
        Parts of a text, as IPython's own ones are.
    """
    shell: Any = sys.modules["IPython"].get_ipython()
    traces = shell.InteractiveTB
    magics = shell.magics_manager.registry.get("KmnbMagics")
    parts: list[str]
    if traces.mode == "Verbose" or not getattr(magics, "short_errors", True):
        parts = traces.structured_traceback(type(error), error, error.__traceback__)
        return parts
    # A copy: what it was raised from belongs to our own frames, and its text is a part of the message.
    from kmnb.core.visible import visible

    alone = copy.copy(error)
    alone.__dict__.update(error.__dict__)
    for name in ("thing", "reason", "next_step"):
        if hasattr(error, name):
            setattr(alone, name, visible(getattr(error, name)))
    parts = traces.structured_traceback(type(error), alone, _rebuilt(_own(error.__traceback__)), tb_offset=0)
    return parts


def _own(trace: TracebackType | None) -> Iterator[TracebackType]:
    """Walk the frames of the caller: neither IPython's at the beginning, nor kmnb's with the library between them."""
    begun = inside = False
    while trace is not None:
        top = str(trace.tb_frame.f_globals.get("__name__")).partition(".")[0]
        begun = begun or top != "IPython"
        inside = top == "kmnb" or (inside and top in sys.stdlib_module_names)
        if begun and not inside:
            yield trace
        trace = trace.tb_next


def _rebuilt(kept: Iterator[TracebackType]) -> TracebackType | None:
    found: TracebackType | None = None
    for trace in reversed(list(kept)):
        found = TracebackType(found, trace.tb_frame, trace.tb_lasti, trace.tb_lineno)
    return found
