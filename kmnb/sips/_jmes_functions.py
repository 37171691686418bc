"""The functions of JMESPath: the library's, with messages that say which element is at fault."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache, partial
from typing import Any

from kmnb.errors import ExpressionError, clip

_KINDS = {dict: "object", list: "array", str: "string", int: "number", float: "number", bool: "boolean"}


def kind_of(value: Any) -> str:
    """Name the JSON type of a value."""
    return _KINDS.get(type(value), "null")


def caller(name: str) -> Callable[[list[Any]], Any]:
    """Make a function of a list of arguments.

    Raises:
        ExpressionError: There is no function of that name.
    """
    library = _library()
    if name not in library.FUNCTION_TABLE:
        known = ", ".join(sorted(library.FUNCTION_TABLE))
        raise ExpressionError("jmespath expression", f"there is no function {name[:60]}()", f"Known: {known}")
    return partial(_called, library, name, own=_OWN.get(name))


@cache
def _library() -> Any:
    from jmespath.functions import Functions

    return Functions()


class Part(list[Any]):
    """A part of a list: the elements before it are left out, or one of them stands for all.

    Args:
        values: The elements.
        before: What is to be added to their places to get those in the whole list.
    """

    def __init__(self, values: Iterable[Any], before: int) -> None:
        super().__init__(values)
        self.before = before


def _called(library: Any, name: str, arguments: list[Any], *, own: Callable[..., Any] | None) -> Any:
    from jmespath.exceptions import JMESPathError

    try:
        if own is not None and len(arguments) == 2 and isinstance(arguments[0], list):
            key = getattr(arguments[1], "expression", None)
            if key is not None:
                return own(name, arguments[0], key)
        return library.call_function(name, arguments)
    except ExpressionError:
        raise
    except JMESPathError as error:
        raise ExpressionError("jmespath expression", clip(str(error), 600)) from None
    except (TypeError, ValueError, OverflowError) as error:
        raise ExpressionError("jmespath expression", clip(f"in function {name}(): {error}", 600)) from None


def _sort_keys(name: str, values: list[Any], key: Callable[[Any], Any]) -> list[Any]:
    """Give what elements are ordered by; all must be numbers, or all texts."""
    keys: list[Any] = []
    first = ""
    for place, value in enumerate(values):
        found = key(value)
        kind = kind_of(found)
        if kind not in ("number", "string") or (first and kind != first):
            wanted = first or "number or string"
            at = place + getattr(values, "before", 0)
            reason = f"in function {name}(): element {at} has {kind} where {wanted} is needed"
            raise ExpressionError("jmespath expression", reason, "Leave such elements out with a filter first.")
        first = kind
        keys.append(found)
    return keys


def _sort_by(name: str, values: list[Any], key: Callable[[Any], Any]) -> list[Any]:
    keys = _sort_keys(name, values, key)
    return [values[place] for place in sorted(range(len(values)), key=keys.__getitem__)]


def _extreme_by(choose: Callable[..., Any]) -> Callable[[str, list[Any], Callable[[Any], Any]], Any]:
    def extreme(name: str, values: list[Any], key: Callable[[Any], Any]) -> Any:
        keys = _sort_keys(name, values, key)
        return values[choose(range(len(values)), key=keys.__getitem__)] if values else None

    return extreme


_OWN: dict[str, Callable[..., Any]] = {
    "sort_by": _sort_by,
    "min_by": _extreme_by(min),
    "max_by": _extreme_by(max),
}
