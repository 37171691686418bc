"""Steps of jq paths as functions, and runs of stages over rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from kmnb.sips._jq_nodes import Step
from kmnb.sips._jq_values import Doubt, One, each

Many = Callable[[Any], Iterable[Any]]
Stage = tuple[str, Callable[[Any], Any]]
"""``map`` with a function of one output, ``filter`` with a condition, or ``flat`` with a function of several."""


def _key_step(name: str) -> One:
    def step(value: Any) -> Any:
        if type(value) is dict:
            return value.get(name)
        if value is None:
            return None
        raise Doubt

    return step


def _index_step(place: int) -> One:
    def step(value: Any) -> Any:
        if type(value) is list:
            return value[place] if -len(value) <= place < len(value) else None
        if value is None:
            return None
        raise Doubt

    return step


def _slice_step(bounds: tuple[int | None, int | None]) -> One:
    def step(value: Any) -> Any:
        if type(value) is list or type(value) is str:
            return value[bounds[0] : bounds[1]]
        if value is None:
            return None
        raise Doubt

    return step


_STEPS: dict[str, Callable[[Any], One]] = {"key": _key_step, "index": _index_step, "slice": _slice_step}


def _quiet(step: Many) -> Many:
    def quiet(value: Any) -> Iterable[Any]:
        try:
            return step(value)
        except Doubt:
            if isinstance(value, dict):
                raise
            return ()

    return quiet


def stage_of(step: Step) -> Stage:
    """Make the stage of a step."""
    if step.kind == "each":
        return ("flat", _quiet(each) if step.is_quiet else each)
    function = _STEPS[step.kind](step.value)
    if step.is_quiet:
        return ("flat", _quiet(lambda value: (function(value),)))
    return ("map", function)


def chain(steps: list[One]) -> One:
    """Make one function of several that follow each other."""
    if not steps:
        return lambda value: value
    if len(steps) == 1:
        return steps[0]
    if len(steps) == 2:
        first, second = steps
        return lambda value: second(first(value))

    def chained(value: Any) -> Any:
        for step in steps:
            value = step(value)
        return value

    return chained


def run_stages(stages: list[Stage], rows: list[Any]) -> list[Any]:
    """Run stages over rows; all outputs in order.

    Raises:
        Doubt: libjq is to be asked.
    """
    for kind, step in stages:
        if kind == "map":
            rows = [step(row) for row in rows]
        elif kind == "filter":
            rows = [row for row in rows if step(row)]
        else:
            rows = [output for row in rows for output in step(row)]
    return rows
