"""Run queries in this process, as the isolated one does, and compare with the libraries."""

from __future__ import annotations

import json
from typing import Any

from kmnb.core.arguments import checked
from kmnb.core.slice import Slice
from kmnb.errors import KmnbError
from kmnb.ops._walking import Walking
from kmnb.ops.sip import sip_plugin

JQ_PROGRAMS = (
    ".",
    ".items",
    ".items[]",
    ".items[].a",
    ".items[] | select(.a > 1) | .b",
    '.items[] | select(.a == "x")',
    '.items[]|select(.a=="x" or .b==1)|{a, n: .b}',
    "[.items[] | select(.a > 1)] | length",
    "[.items[].a] | add",
    "[.items[].a] | min",
    "[.items[].a] | max",
    "[.items[].b] | unique",
    "[.items[].b] | group_by(.) | map({k: .[0], n: length})",
    ".items | length",
    ".items | map(.a)",
    ".items | map(select(.b)) | length",
    ".items | group_by(.b) | map({k: .[0].b, n: length})",
    ".items | sort_by(.a) | .[0:2]",
    ".items | min_by(.a)",
    ".items | max_by(.b) | .a",
    ".items[0]",
    ".items[1].a",
    ".items[1:3] | length",
    ".items[-1]",
    'first(.items[] | select(.a == "x"))',
    "limit(2; .items[] | .a)",
    ".items[].c[]",
    ".items[].c[]?",
    ".items[] | .c[]? | .d",
    ".items[] | [.c[]?.d] | length",
    ".items[] | .a, .b",
    '.items[] | if .a == 1 then "one" elif .a == "x" then .b else empty end',
    '.items[] | (.a // "none")',
    ".items[] as $x | $x.a",
    "keys",
    ".items | keys",
    ".meta.x",
    ".meta | keys",
    ".missing",
    ".missing[]",
    ".missing[]?",
    ".meta[]",
    "length",
    "map(.)",
    ".[]",
    ".items[] | .a * 2 - 1",
    '.items[] | has("a")',
    ".items[] | .b | not",
    ".items[] | type",
    ".items[] | tostring",
    ".items[] | keys",
    '.items[] | "\\(.a)-\\(.b)"',
    "reduce .items[] as $i (0; . + 1)",
    ".items[] | reduce .c[]? as $c (0; . + 1)",
    ".items[] | .a as $x | [$x, .b]",
    "def f: .a; .items[] | f",
    ".items[] | .. | numbers",
    ".items[] | del(.a)",
    ".items[] | try error catch .",
    "{n: (.items|length), k: .meta}",
    ".items, .meta",
    ".items[] | empty",
    ".items | unique_by(.b) | map(.a)",
    ".items | to_entries | map(.key)",
    "(.items | map(.b) | add) / (.items | length)",
)

JMESPATH_EXPRESSIONS = (
    "@",
    "items",
    "items[]",
    "items[*].a",
    "items[].a",
    "items[?a > `1`].b",
    "items[?a == 'x' || b == `1`].{a: a, n: b}",
    "items[?a > `1`] | length(@)",
    "length(items)",
    "length(items[].c)",
    "items[].c[]",
    "items[].c[].d",
    "items[*].c[*].d[]",
    "items[].c[?d == `1`].d",
    "sum(items[].b)",
    "max(items[].b)",
    "min(items[].a)",
    "avg(items[?b].b)",
    "sort(items[].b)[:2]",
    "max_by(items, &b).a",
    "min_by(items[?b], &b)",
    "sort_by(items, &b)[].a",
    "items[0].a",
    "items[1].c[0].d",
    "items[-1].a",
    "items[:2].a",
    "items[::-1].a",
    "items[].a | [0]",
    "items[].a | [:2]",
    "items[?a] | [0].a",
    "meta.x.y",
    "meta.*",
    "*.x",
    "keys(meta)",
    "{n: length(items), m: meta.s}",
    "{all: items, n: length(items)}",
    "missing[]",
    "length(missing)",
    "items[].{a: a, c: length(c || `[]`)}",
    "items[?!b].a",
    "items[?c[0].d == `1`].a",
    "items[*].type(a)",
    "items[].not_null(b, a)",
    "map(&a, items)[0]",
    "items[].[a, b]",
    "items[][]",
    "[].a",
    "[?a].b",
    "[0]",
    "length(@)",
    "items | [0]",
    "(items)[0].a",
    "items[].a || meta",
    "items.a",
    "!items",
    "reverse(items)[0]",
    "merge(meta, items[0])",
    "items[?nested.deep.v == `3`].nested.deep",
    "sort_by(items[?b], &b)[-1].b",
)


def query(
    name: str, program: str, content: bytes, *, size: int = 1 << 20, max_bytes: int = 1 << 16, cursor: str | None = None
) -> Slice:
    """Run a query over content that comes in blocks of a size."""
    plugin = sip_plugin(name)
    first = plugin.operation.params[0].name
    walking = Walking(
        plugin.start(checked(plugin.operation, {first: program, "cursor": cursor}), max_bytes=max_bytes), strict=False
    )
    for start in range(0, len(content), size):
        walking.feed(content[start : start + size])
        if walking.done:
            break
    else:
        walking.end()
    answer: Slice = walking.finish()
    return answer


def outcome(name: str, program: str, content: bytes, *, size: int) -> Any:
    """Give the values of a query, or the name of the kind of its failure."""
    try:
        return query(name, program, content, size=size).values
    except KmnbError:
        return "error"


def by_libjq(program: str, content: bytes) -> Any:
    """Give what libjq gives for the whole document; integers exact."""
    import jq

    try:
        return [json.loads(text) for text in jq.compile(f"({program}\n)|tojson").input_text(content.decode())]
    except ValueError:
        return "error"


def by_jmespath(expression: str, document: Any) -> Any:
    """Give what the library gives, one value for one document."""
    import jmespath

    try:
        return [jmespath.search(expression, document)]
    except Exception:
        return "error"


def same(one: Any, other: Any) -> bool:
    """Compare JSON values; 1 and 1.0 are one number, 1 and true are not."""
    return json.dumps(_plain(one), sort_keys=True) == json.dumps(_plain(other), sort_keys=True)


def _plain(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return {key: _plain(item) for key, item in value.items()} if isinstance(value, dict) else value
