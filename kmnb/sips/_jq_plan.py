"""Decide how a jq program is run: which array it walks, what is done per record, what becomes of the outputs.

Nothing is read here. A program that does not fit any of the forms is run by libjq over the whole document.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from kmnb.core.walks import Path
from kmnb.sips._jq_nodes import Step
from kmnb.sips._jq_parse import parse_path
from kmnb.sips._jq_tokens import Token, inside, segments, source, tokens_of
from kmnb.sips._json_values import compact

Fold = Literal["emit", "count", "add", "min", "max", "last", "collect", "nth"]
"""What becomes of the outputs of the records."""
_FOLDS: dict[str, Fold] = {"length": "count", "add": "add", "min": "min", "max": "max", "last": "last"}


@dataclass(frozen=True, slots=True)
class Plan:
    """How a program is run over one document."""

    kind: Literal["records", "value", "keys", "whole"]
    """Whether it walks an array, looks at one value, at the keys of one object, or at everything."""
    wrap: Callable[[str], str]
    """Writes the whole program for a value that stands in place of the path."""
    path: Path = ()
    """Where the array, value or object stands."""
    body: str = "."
    """Program that is run on every record, or on the value."""
    fold: Fold = "emit"
    """What becomes of the outputs."""
    start: int = 0
    """First output that counts, from 0."""
    stop: int | None = None
    """Output before which the walk ends; None for all."""
    rest: str | None = None
    """Program that is run on the folded value, or on every output when nothing is folded."""


def plan_program(program: str) -> Plan:
    """Decide how a program is run.

    Raises:
        ExpressionError: It cannot be cut into tokens.
    """
    parts = segments(tokens_of(program))
    whole = Plan("whole", lambda place: program, body=program)
    # Where a token stands can only be told of the program as it is.
    if "$__loc__" in program:
        return whole
    forms = (_stream, _array, _limited, _joined, _picked, _mapped, _folded, _keys, _value)
    return next((found for form in forms if (found := form(program, parts)) is not None), whole)


Parts = list[list[Token]]


def _text(program: str, parts: Parts) -> str | None:
    """Give the text of some segments; None for none."""
    tokens = [token for part in parts for token in part]
    return source(program, tokens) if tokens else None


def _keys_only(tokens: list[Token]) -> Path | None:
    """Give the keys of a path that has nothing else; None for another program."""
    found = parse_path(tokens) if tokens else None
    if found is None or found[1] or any(step.kind != "key" or step.is_quiet for step in found[0]):
        return None
    return tuple(step.value for step in found[0])


def after(place: str, path: Path) -> str:
    """Write the path to a value below another."""
    return place + "".join(f"[{compact(key)}]" for key in path)


def _follow(text: str, rest: str | None) -> str:
    return text if rest is None else f"{text}\n| {rest}"


def _relative(program: str, tokens: list[Token]) -> str:
    """Write steps that follow something as a program of their own."""
    if not tokens:
        return "."
    text = source(program, tokens)
    return text if text.startswith(".") else f".{text}"


def _stream(program: str, parts: Parts) -> Plan | None:
    """``PATH[] …``: every record on its own."""
    head = parts[0]
    for place in range(len(head) - 1):
        if head[place].text == "[" and head[place + 1].text == "]":
            break
    else:
        return None
    path = _keys_only(head[:place])
    after = head[place + 2 :]
    quiet = bool(after) and after[0].text == "?"
    steps = after[1:] if quiet else after
    whole = parse_path(head)
    if path is None or whole is None or whole[1] or (steps and steps[0].text == "?"):
        return None
    rest = _text(program, parts[1:])
    body = _follow(_relative(program, steps), rest)
    each = "[]?" if quiet else "[]"
    return Plan("records", lambda place: f"({place}{each} | {body}\n)", path, body)


def _array(program: str, parts: Parts) -> Plan | None:
    """``[ PATH[] … ] | …``: the outputs are collected, or folded at once."""
    inner = inside(parts[0]) if parts[0] and parts[0][0].text == "[" else None
    if not inner:
        return None
    pieces = segments(inner)
    found = _stream(program, pieces) or _limited(program, pieces)
    if found is None or found.fold != "emit" or found.rest is not None:
        return None
    wrap, rest = found.wrap, _text(program, parts[1:])
    return replace(_fold_by(found, program, parts[1:]), wrap=lambda place: _follow(f"[{wrap(place)}]", rest))


def _fold_by(plan: Plan, program: str, parts: Parts) -> Plan:
    """Fold outputs by the segment that follows, or collect them for what follows."""
    if parts and len(parts[0]) == 1 and parts[0][0].text in _FOLDS:
        return replace(plan, fold=_FOLDS[parts[0][0].text], rest=_text(program, parts[1:]))
    return replace(plan, fold="collect", rest=_text(program, parts))


def _limited(program: str, parts: Parts) -> Plan | None:
    """``first(PATH[] …)`` and ``limit(n; PATH[] …)``: the walk ends early."""
    head = parts[0]
    if len(head) < 4 or head[0].kind != "name" or head[0].text not in ("first", "limit"):
        return None
    inner, count = inside(head, 1), 1
    if inner is None:
        return None
    if head[0].text == "limit":
        if len(inner) < 3 or not inner[0].text.isdigit() or inner[1].text != ";":
            return None
        count, inner = int(inner[0].text), inner[2:]
    if any(token.text == ";" for token in inner):
        return None
    found = _stream(program, segments(inner))
    if found is None:
        return None
    wrap, rest = found.wrap, _text(program, parts[1:])
    return replace(found, stop=count, rest=rest, wrap=lambda place: _follow(f"limit({count}; {wrap(place)})", rest))


def _joined(program: str, parts: Parts) -> Plan | None:
    """``PATH | .[] …`` and ``PATH | .a …``: one path in two segments."""
    path = _keys_only(parts[0])
    if len(parts) < 2 or path is None:
        return None
    following = parse_path(parts[1])
    if following is None or following[1] or not following[0]:
        return None
    return plan_program(_follow(after(".", path) + _written(following[0])[1:], _text(program, parts[2:])))


def _picked(program: str, parts: Parts) -> Plan | None:
    """``PATH[3] …`` and ``PATH[2:5] …``: the walk ends early."""
    found = parse_path(parts[0]) if parts[0] else None
    if found is None or found[1]:
        return None
    steps: tuple[Step, ...] = found[0]
    place = next((at for at, step in enumerate(steps) if step.kind in ("index", "slice")), None)
    if place is None or any(step.kind != "key" or step.is_quiet for step in steps[:place]) or steps[place].is_quiet:
        return None
    path = tuple(step.value for step in steps[:place])
    bounds = steps[place].value if steps[place].kind == "slice" else (steps[place].value, steps[place].value + 1)
    if any(bound is not None and bound < 0 for bound in bounds):
        return None
    after = _written(steps[place + 1 :])
    rest = _text(program, parts[1:])
    tail = rest if after == "." else _follow(after, rest)
    own = _written((steps[place],))[1:]
    return Plan(
        "records",
        lambda where: _follow(f"{where}{own}", tail),
        path,
        fold="collect" if steps[place].kind == "slice" else "nth",
        start=bounds[0] or 0,
        stop=bounds[1],
        rest=tail,
    )


def _written(steps: tuple[Step, ...]) -> str:
    """Write steps as a path."""
    text = "."
    for step in steps:
        if step.kind == "key":
            text += f"[{compact(step.value)}]"
        elif step.kind == "each":
            text += "[]"
        elif step.kind == "index":
            text += f"[{step.value}]"
        else:
            low, high = ("" if bound is None else str(bound) for bound in step.value)
            text += f"[{low}:{high}]"
        text += "?" if step.is_quiet else ""
    return text


def _mapped(program: str, parts: Parts) -> Plan | None:
    """``PATH | map(…) | …``."""
    path = _keys_only(parts[0])
    if path is None:
        path, used = (), 0
    else:
        used = 1
    if len(parts) <= used:
        return None
    head = parts[used]
    if len(head) < 4 or head[0].text != "map" or (inner := inside(head, 1)) is None:
        return None
    body, rest = source(program, inner), _text(program, parts[used + 1 :])
    plan = Plan("records", lambda place: _follow(f"{place} | map({body}\n)", rest), path, body)
    return _fold_by(plan, program, parts[used + 1 :])


def _folded(program: str, parts: Parts) -> Plan | None:
    """``PATH | length`` and other folds of the records themselves, and whatever looks at parts of them only."""
    path = _keys_only(parts[0])
    path, used = ((), 0) if path is None else (path, 1)
    rest = _text(program, parts[used:])
    if rest is None:
        return None
    plan = Plan("records", lambda place: _follow(place, rest), path)
    if len(parts[used]) == 1 and parts[used][0].text in _FOLDS:
        return _fold_by(plan, program, parts[used:])
    return replace(plan, fold="collect", rest=rest) if _looks_at_items(parts[used:]) else None


def _looks_at_items(parts: Parts) -> bool:
    """Tell whether a program looks only at parts of the elements of its input."""
    from kmnb.sips._jq_eval import Compiler
    from kmnb.sips._jq_nodes import Unsupported
    from kmnb.sips._jq_parse import parse
    from kmnb.sips._json_values import Need

    need = Need()
    try:
        _, end = Compiler().stages(parse(_piped(parts)), need)
    except Unsupported:
        return False
    if end is not None:
        end.whole()
    return not need.is_whole and not need.keys and need.items is not None and not need.items.is_whole


def _piped(parts: Parts) -> list[Token]:
    tokens: list[Token] = []
    for part in parts:
        tokens += [Token("mark", "|", 0, 0), *part] if tokens else part
    return tokens


def _keys(program: str, parts: Parts) -> Plan | None:
    """``PATH | keys | …``."""
    path = _keys_only(parts[0])
    path, used = ((), 0) if path is None else (path, 1)
    if len(parts) <= used or len(parts[used]) != 1 or parts[used][0].text != "keys":
        return None
    rest = _text(program, parts[used + 1 :])
    return Plan("keys", lambda place: _follow(f"{place} | keys", rest), path, rest=rest)


def _value(program: str, parts: Parts) -> Plan | None:
    """``PATH …``: one value is looked at."""
    found = parse_path(parts[0]) if parts[0] else None
    if found is None or found[1]:
        return None
    steps = found[0]
    count = next((at for at, step in enumerate(steps) if step.kind != "key" or step.is_quiet), len(steps))
    if not count:
        return None
    path = tuple(step.value for step in steps[:count])
    after, rest = _written(steps[count:]), _text(program, parts[1:])
    body = _follow(after, rest)
    return Plan("value", lambda place: f"{place} | {body}", path, body)
