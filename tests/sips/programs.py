"""Programs of jq and expressions of JMESPath, made up from their grammars."""

from __future__ import annotations

from hypothesis import strategies as st

_KEYS = st.sampled_from(["a", "b", "c", "d", "items", "meta"])
_JQ_STEPS = st.one_of(
    _KEYS.map(lambda key: f".{key}"),
    st.sampled_from(
        [".[]", ".[0]", ".[-1]", ".[:2]", ".[1:]", ".[3:1]", '.["x y"]', '."a"', ".a?", ".[]?", ".[0]?", ".[:2]?"]
    ),
)
_JQ_LITERALS = st.sampled_from(["0", "1", "-1", "2.5", '"x"', '""', "null", "true", "false", "[]", "{}", "[1]"])
_JQ_FUNCTIONS = st.sampled_from(
    """length keys not type add min max sort unique first last reverse any all tostring tojson values empty to_entries
    flatten paths explode @csv @json @base64 env recurse .. error map(.) map(.a) group_by(.a) unique_by(.a) sort_by(.a)
    sort_by(-.a) min_by(.a) max_by(.b) with_entries(.) del(.a) path(.a) getpath(["a"]) has("a") test("a") splits(",")
    ltrimstr("x") startswith("x") limit(2;.[]) limit(0;.[]) first(.[]) nth(1;.[]) isempty(.[]) any(.a==1) IN(1,2)
    tostream $__loc__ {input,debug:.a} input_line_number? todate? "\\(.a)-\\(.b)" @sh"\\(.a)" fromjson?
    try(error("x"))catch(.) label$f|1,break$f,2""".split()  # noqa: SIM905
)
_COMPARE = st.sampled_from(["==", "!=", "<", "<=", ">", ">=", "and", "or", "+", "-", "*", "/", "%", "//"])


def _jq_larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    pairs = st.tuples(inner, inner)
    return st.one_of(
        pairs.map(lambda two: f"{two[0]} | {two[1]}"),
        pairs.map(lambda two: f"({two[0]}), ({two[1]})"),
        st.tuples(inner, _COMPARE, inner).map(lambda three: f"({three[0]}) {three[1]} ({three[2]})"),
        inner.map(lambda one: f"select({one})"),
        inner.map(lambda one: f"map({one})"),
        inner.map(lambda one: f"[{one}]"),
        inner.map(lambda one: f"({one})[0]"),
        inner.map(lambda one: f"-({one})"),
        inner.map(lambda one: f"({one})?"),
        inner.map(lambda one: f"{{k: ({one}), a}}"),
        inner.map(lambda one: f"{one} # to the end\n"),
        inner.map(lambda one: f"first({one})"),
        inner.map(lambda one: f"limit(2; {one})"),
        inner.map(lambda one: f"[{one}] | length"),
        inner.map(lambda one: f". as $x | [$x, ({one})]"),
        inner.map(lambda one: f"reduce .[]? as $i (0; . + 1) | . + ({one})"),
        inner.map(lambda one: f"[foreach .[]? as $i (0; . + 1; [., $i])] | ({one})"),
        inner.map(lambda one: f"def f(x): [x, x]; f({one})"),
        pairs.map(lambda two: f"if {two[0]} then {two[1]} else 0 end"),
        pairs.map(lambda two: f"try ({two[0]}) catch ({two[1]})"),
        inner.map(lambda one: f"group_by({one})"),
        inner.map(lambda one: f"sort_by({one})"),
    )


_JQ_SMALL = st.one_of(
    st.lists(_JQ_STEPS, min_size=1, max_size=3).map(lambda steps: " | ".join(steps)), _JQ_LITERALS, _JQ_FUNCTIONS
)
_JQ_BODIES = st.recursive(_JQ_SMALL, _jq_larger, max_leaves=6)
JQ = st.one_of(
    _JQ_BODIES,
    st.tuples(
        st.sampled_from(
            [
                ".items[] | {}",
                ".items[]?|{}",
                ".[] | {}",
                ".items | {}",
                "[.items[] | {}] | add",
                ".items | map({})",
                "[.[] | {}] | max",
                "first(.items[] | {})",
                "limit(2; .items[] | {})",
                ".meta | {}",
                ".items[1:] | {}",
            ]
        ),
        _JQ_BODIES,
    ).map(lambda two: two[0].replace("{}", two[1])),
)
"""Programs of jq; some of them do not compile."""

_JMES_LITERALS = st.sampled_from(["`0`", "`1`", "`2.5`", "'x'", "`null`", "`true`", "`[]`", "`{}`", "`[1]`"])
_JMES_SUFFIXES = st.one_of(
    _KEYS.map(lambda key: f".{key}"),
    st.sampled_from(
        [
            "[]",
            "[*]",
            ".*",
            "[0]",
            "[-1]",
            "[:2]",
            "[::-1]",
            "[1:3]",
            ".[a, b]",
            ".{k: a, n: b}",
            "[?a]",
            "[?a == `1`]",
            "[?b > `0`]",
            "[?!c]",
            "[?a == 'x' || b]",
            " | [0]",
            " | [:2]",
            " | length(@)",
        ]
    ),
)
_JMES_FUNCTIONS = (
    "length", "keys", "values", "sort", "sum", "max", "min", "avg", "type", "to_string", "to_number", "to_array",
    "reverse", "abs", "not_null",
)  # fmt: skip


def _jmes_larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    pairs = st.tuples(inner, inner)
    return st.one_of(
        pairs.map(lambda two: f"{two[0]} | {two[1]}"),
        st.tuples(inner, st.sampled_from(["==", "!=", "<", ">=", "&&", "||"]), inner).map(
            lambda three: f"({three[0]}) {three[1]} ({three[2]})"
        ),
        st.tuples(inner, _JMES_SUFFIXES).map(lambda two: f"({two[0]}){two[1]}"),
        st.tuples(st.sampled_from(_JMES_FUNCTIONS), inner).map(lambda two: f"{two[0]}({two[1]})"),
        st.tuples(st.sampled_from(["sort_by", "max_by", "min_by"]), inner, inner).map(
            lambda three: f"{three[0]}({three[1]}, &({three[2]}))"
        ),
        pairs.map(lambda two: f"map(&({two[0]}), {two[1]})"),
        pairs.map(lambda two: f"{{k: {two[0]}, a: {two[1]}}}"),
        pairs.map(lambda two: f"[{two[0]}, {two[1]}]"),
        inner.map(lambda one: f"!({one})"),
        inner.map(lambda one: f"items[?{one}].a"),
        inner.map(lambda one: f"[?{one}]"),
    )


_JMES_SMALL = st.one_of(
    st.tuples(_KEYS, st.lists(_JMES_SUFFIXES, max_size=3)).map(lambda two: two[0] + "".join(two[1])),
    _JMES_LITERALS,
    st.just("@"),
)
JMESPATH = st.recursive(_JMES_SMALL, _jmes_larger, max_leaves=5)
"""Expressions of JMESPath."""
