"""Read YAML documents into JSON values by the rules of YAML 1.2, and write them as JSON."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

from kmnb.errors import BadRequest, clip

_NODES_MAX = 2_000_000
_SCALARS = (
    ("tag:yaml.org,2002:null", re.compile(r"(?:~|null|Null|NULL|)\Z"), ["~", "n", "N", ""]),
    ("tag:yaml.org,2002:bool", re.compile(r"(?:true|True|TRUE|false|False|FALSE)\Z"), list("tTfF")),
    ("tag:yaml.org,2002:int", re.compile(r"[-+]?(?:0|[1-9][0-9]*)\Z"), list("-+0123456789")),
    (
        "tag:yaml.org,2002:float",
        re.compile(r"[-+]?(?:0|[1-9][0-9]*)(?:\.[0-9]+(?:[eE][-+]?[0-9]+)?|[eE][-+]?[0-9]+)\Z"),
        list("-+0123456789"),
    ),
)


@cache
def _loader() -> Any:
    """Make a loader class with just the types of JSON; C where the library was built with it."""
    import yaml
    from yaml.constructor import SafeConstructor

    parser = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    class Loader(parser):  # type: ignore[misc, valid-type]
        yaml_implicit_resolvers: dict[str, Any] = {}
        yaml_constructors = dict(SafeConstructor.yaml_constructors)

    for tag, pattern, first in _SCALARS:
        Loader.add_implicit_resolver(tag, pattern, first)
    Loader.yaml_constructors[None] = _any_tag
    for tag in ("int", "float"):
        Loader.yaml_constructors[f"tag:yaml.org,2002:{tag}"] = _number
    for tag in ("timestamp", "binary"):
        Loader.yaml_constructors[f"tag:yaml.org,2002:{tag}"] = _plain_text
    return Loader


def _number(loader: Any, node: Any) -> Any:
    try:
        return int(node.value)
    except ValueError:
        value = float(node.value)
        return value if value - value == 0 else str(node.value)


def _plain_text(loader: Any, node: Any) -> str:
    return str(node.value)


def _any_tag(loader: Any, node: Any) -> Any:
    """Read a value with a tag of its own as if it had none."""
    kind = type(node).__name__
    if kind == "MappingNode":
        return loader.construct_mapping(node, deep=True)
    return loader.construct_sequence(node, deep=True) if kind == "SequenceNode" else str(node.value)


def read_document(text: bytes) -> Any:
    """Read one document into JSON values.

    Args:
        text: The document, without its mark.

    Raises:
        BadRequest: It is no YAML, or its aliases expand to too much.
    """
    import yaml

    try:
        value = yaml.load(text, Loader=_loader())  # noqa: S506 - the loader makes JSON values only
    except (yaml.YAMLError, ValueError, RecursionError) as fault:
        raise BadRequest("a YAML document", clip(" ".join(str(fault).split()), 200)) from None
    _weigh(value)
    return value


def _weigh(value: Any) -> None:
    """Refuse documents whose aliases make a little text huge, or a loop."""
    left, stack = _NODES_MAX, [(value, 0)]
    while stack:
        node, depth = stack.pop()
        left -= 1
        if left < 0 or depth > 200:
            raise BadRequest("a YAML document", "its aliases or levels expand without end", "Look at it with lines")
        if isinstance(node, dict):
            stack.extend((inner, depth + 1) for inner in node.values())
        elif isinstance(node, list):
            stack.extend((inner, depth + 1) for inner in node)


def to_json(value: Any) -> bytes:
    """Write a value as compact JSON; keys become text."""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str, skipkeys=False).encode(
            "utf-8", "replace"
        )
    except (TypeError, ValueError):
        raise BadRequest("a YAML document", "it holds keys or values that JSON cannot hold") from None
