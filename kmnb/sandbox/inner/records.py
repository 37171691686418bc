"""Classes of plain fields, for the spawner's interpreter.

``dataclasses`` imports ``inspect`` and what that needs, and ``typing`` is not small either. Every fork of the spawner
copies its memory's tables and gives them back at its end, twice in the time of one run: what is not imported there is
what makes a run quick. Type checkers see dataclasses.
"""

from __future__ import annotations

__all__ = ["field", "record"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from dataclasses import dataclass as record
    from dataclasses import field
else:

    class field:
        """A default that is made anew for each object."""

        def __init__(self, *, default_factory: Callable[[], object]) -> None:
            self.make = default_factory

    def record(**_: object) -> Callable[[type], type]:
        """Give a class an initialiser for its annotated fields, in their order, as a dataclass has it."""
        return _complete

    def _complete(cls: type) -> type:
        names = tuple(cls.__annotations__)
        defaults = {name: cls.__dict__[name] for name in names if name in cls.__dict__}

        def initialise(self: object, *given: object, **named: object) -> None:
            told = dict(zip(names, given, strict=False), **named)
            for name in names:
                if name not in told and name not in defaults:
                    raise TypeError(f"{cls.__name__} needs {name}")
                value = told.pop(name) if name in told else defaults[name]
                setattr(self, name, value.make() if isinstance(value, field) else value)
            if told or len(given) > len(names):
                raise TypeError(f"{cls.__name__} takes {', '.join(names)}, not {sorted(told)}")
            if hasattr(self, "__post_init__"):
                self.__post_init__()

        cls.__init__ = initialise
        return cls
