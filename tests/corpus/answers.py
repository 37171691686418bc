"""How the operations of the corpus map to kmnb: each gives what the case expects, or raises."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from kmnb.errors import BadRequest, BoundExceeded, ExpressionError, StoreError
from kmnb.ops.handle import Artifact

MAX = 64 << 20
REFUSED = (BadRequest, BoundExceeded, ExpressionError)

NOT_YET: dict[str, str] = {}
"""Operations of the corpus that kmnb does not have, with the reason; empty: all are there."""


OWN_RULES: dict[str, tuple[Any, str]] = {
    "S237": (2, "a CR before LF belongs to the line end, so that $ stands before it; the case leaves that open"),
}
"""Cases that leave the answer open, with ours and the rule behind it."""


def dialect(args: Mapping[str, Any]) -> dict[str, Any]:
    """What a case says of the content, in the words of the sips."""
    if args.get("format") != "csv":
        return {}
    names = {"sep": "delimiter", "encoding": "encoding", "header": "header", "quote": "quote"}
    return {own: args[name] for name, own in names.items() if name in args}


def spellings(lines: list[str], *, encoding: str = "utf-8") -> Iterator[bytes]:
    """Lines as bytes, with both line ends, with and without the last one."""
    for end in ("\n", "\r\n"):
        text = end.join(lines)
        yield (text + end if lines else "").encode(encoding)
        yield text.encode(encoding)


def same_bytes(lines: list[str], expected: Mapping[str, Any], key: str = "sha256") -> bool:
    """Whether some spelling of the lines has the digest."""
    wanted = expected[key]
    return any(
        hashlib.sha256(raw).hexdigest() == wanted
        for encoding in ("utf-8", "cp1252")
        for raw in _encoded(lines, encoding)
    )


def _encoded(lines: list[str], encoding: str) -> list[bytes]:
    try:
        return list(spellings(lines, encoding=encoding))
    except UnicodeEncodeError:
        return []


def whole_text(art: Artifact) -> list[str]:
    """Every line of the decoded content."""
    answer = art.lines(0, 0, max_bytes=MAX)
    assert answer.complete
    return answer.values


def _lines(art: Artifact, args: Any, expected: Any) -> None:
    assert art.lines(0, 1).total == expected
    assert art.tail(1).total == expected


def _grep_count(art: Artifact, args: Any, expected: Any) -> None:
    answer = art.grep(
        args["pattern"],
        max=1,
        count_all=True,
        ignore_case=args.get("ignore_case", False),
        fixed=args.get("fixed", False),
        strip_ansi=args.get("after") == "strip-ansi",
    )
    assert answer.total == expected
    assert not answer.total_is_lower_bound


def _grep_lines(art: Artifact, args: Any, expected: Any) -> None:
    found = art.grep(args["pattern"], max=args["max"]).values
    assert [[match.number, match.text] for match in found] == expected
    for match in found:
        assert art.lines(match.index, 1).values == [match.text]


def _head(art: Artifact, args: Any, expected: Any) -> None:
    assert same_bytes(art.head(args["lines"], max_bytes=MAX).values, expected)


def _tail(art: Artifact, args: Any, expected: Any) -> None:
    assert same_bytes(art.tail(args["lines"], max_bytes=MAX).values, expected)


def _jmespath(art: Artifact, args: Any, expected: Any) -> None:
    if isinstance(expected, dict) and "error" in expected:
        with pytest.raises(REFUSED, match=expected.get("message_contains", "")):
            art.jmespath(args["expr"], max_bytes=MAX)
        return
    assert art.jmespath(args["expr"], max_bytes=MAX).values[0] == expected


def _jq(art: Artifact, args: Any, expected: Any) -> None:
    assert art.jq(args["program"], max_bytes=MAX).values == expected


def _ndjson(art: Artifact, args: Any, expected: Any) -> None:
    answer = art.jq("[1]", max_bytes=MAX)
    assert answer.shown == expected["json_rows"]
    # A line that holds nothing but blanks is no row of any kind.
    assert answer.skipped <= expected["other_rows"]
    blank = sum(1 for line in whole_text(art) if not line.strip())
    assert answer.skipped + blank >= expected["other_rows"]


def _ndjson_jmespath(art: Artifact, args: Any, expected: Any) -> None:
    assert art.jmespath(args["expr"]).values[: args.get("limit")] == expected


def _json_parse(art: Artifact, args: Any, expected: Any) -> None:
    if expected["error"] == "extra data":
        assert len(art.jmespath("@").values) > 1
        return
    if expected["error"] == "invalid-utf8":
        assert "\ufffd" in str(art.jmespath("@").values)
        return
    with pytest.raises(REFUSED):
        art.jmespath("@")


def _json_documents(art: Artifact, args: Any, expected: Any) -> None:
    assert art.jq(".").shown == expected


def _rows(art: Artifact, args: Any, expected: Any) -> None:
    assert art.count(**dialect(args)).values == [expected]
    assert art.count().values == [expected]


def _columns(art: Artifact, args: Any, expected: Any) -> None:
    names = [column["name"] for column in art.schema(**dialect(args)).values]
    assert names[: len(expected)] == expected
    assert [column["name"] for column in art.schema().values] == names


def _select(art: Artifact, args: Any, expected: Any) -> None:
    answer = art.select(args["columns"], limit=args["limit"], **dialect(args))
    assert [list(row.values()) for row in answer.values] == expected


def column_of(art: Artifact, args: Mapping[str, Any]) -> str:
    """Name of the column that a case means."""
    if "column" in args:
        return str(args["column"])
    return str(art.schema(**dialect(args)).values[args["column_index"]]["name"])


def _stats(art: Artifact, args: Any, expected: Any) -> None:
    if args.get("format") == "prometheus-matrix":
        column, more = "value", {}
    else:
        column, more = column_of(art, args), dialect(args)
    decimal = {"decimal": args["decimal"]} if "decimal" in args else {}
    (facts,) = art.stats([column], **decimal, **more).values
    for name in set(expected) - {"count"}:
        # The recorded sums are rounded to six places.
        assert float(facts[name]) == pytest.approx(expected[name], rel=1e-9, abs=5.1e-7)
    assert facts["count"] >= expected["count"]


def _group_count(art: Artifact, args: Any, expected: Any) -> None:
    if "expr" in args:
        values = [
            value
            for found in art.jmespath(args["expr"], max_bytes=MAX).values
            for value in (found if isinstance(found, list) else [found])
        ]
    elif args.get("format") == "regex":
        texts = [match.text for match in art.grep(args["pattern"], max=10**6, max_bytes=MAX).values]
        values = [found.group(1) for text in texts if (found := re.search(args["pattern"], text))]
    else:
        column = column_of(art, args)
        answer = art.select([column], max_bytes=MAX, **dialect(args))
        values = [row[column] for row in answer.values if row[column] is not None]
    counts = Counter(values)
    if isinstance(expected, list):
        assert [counts[name] for name, _ in expected] == [count for _, count in expected]
        assert counts.most_common(1)[0][1] == expected[0][1]
    else:
        assert dict(counts) == expected


def _rows_by_width(art: Artifact, args: Any, expected: Any) -> None:
    answer = art.select(["*"], max_bytes=MAX)
    ragged = sum(count for count in expected.values()) - max(expected.values())
    assert answer.total == max(expected.values())
    assert answer.skipped == ragged
    assert all(problem.line for problem in answer.problems)


def _distinct_lines(art: Artifact, args: Any, expected: Any) -> None:
    assert len(set(whole_text(art))) == expected


def _decompressed(art: Artifact, args: Any, expected: Any) -> None:
    lines = whole_text(art)
    assert len(lines) == expected["lines"]
    assert same_bytes(lines, expected)


def _decoded(art: Artifact, args: Any, expected: Any) -> None:
    lines = whole_text(art)
    assert same_bytes(lines, expected, "utf8_sha256")
    assert len(lines) in (expected["newlines"], expected["newlines"] + 1)


def _prom_samples(art: Artifact, args: Any, expected: Any) -> None:
    assert art.count().values == [expected]


def _prom_families(art: Artifact, args: Any, expected: Any) -> None:
    assert art.grep("^# TYPE ", count_all=True).total == expected


def _prom_top_series(art: Artifact, args: Any, expected: Any) -> None:
    names = art.grep(r"^[a-zA-Z_:]", max=10**6, max_bytes=MAX).values
    counts = Counter(re.split(r"[{ ]", match.text)[0] for match in names)
    assert [counts[name] for name, _ in expected] == [count for _, count in expected]


def _yaml_documents(art: Artifact, args: Any, expected: Any) -> None:
    answer = art.jq("[1]", max_bytes=MAX)
    assert answer.shown == expected.get("total", expected.get("parsable"))
    assert answer.skipped == expected.get("not_parsable", 0)


def _looks_binary(art: Artifact, args: Any, expected: Any) -> None:
    assert art.preview is not None
    assert all(sign.isprintable() or sign in "\n\t" for sign in art.preview)
    assert "bytes" in art.preview


def _parquet_verify(art: Artifact, args: Any, expected: Any) -> None:
    with pytest.raises(StoreError, match=r"(?i)checksum|damaged|crc"):
        art.select(["*"], max_bytes=MAX)


def _bytes(art: Artifact, args: Any, expected: Any) -> None:
    assert art.size == expected


CHECKS: dict[str, Callable[[Artifact, Any, Any], None]] = {
    "bytes": _bytes,
    "lines": _lines,
    "grep_count": _grep_count,
    "grep_lines": _grep_lines,
    "head": _head,
    "tail": _tail,
    "jmespath": _jmespath,
    "yaml_jmespath": _jmespath,
    "jq": _jq,
    "ndjson": _ndjson,
    "ndjson_jmespath": _ndjson_jmespath,
    "json_parse": _json_parse,
    "json_documents": _json_documents,
    "rows": _rows,
    "columns": _columns,
    "select": _select,
    "stats": _stats,
    "group_count": _group_count,
    "rows_by_width": _rows_by_width,
    "distinct_lines": _distinct_lines,
    "decompressed": _decompressed,
    "decoded": _decoded,
    "prom_samples": _prom_samples,
    "prom_families": _prom_families,
    "prom_top_series": _prom_top_series,
    "yaml_documents": _yaml_documents,
    "looks_binary": _looks_binary,
    "parquet_verify": _parquet_verify,
}
"""A check for every operation that is there."""
