"""Odd arguments and odd content: a sip answers or refuses with an error of ours, and an index changes no answer."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kmnb.errors import BadRequest, KmnbError
from kmnb.formats._inspect import inspect
from tests.sips.driving import sip_bytes

FILES = sorted(path for path in (Path(__file__).parents[1] / "corpus" / "files").rglob("*") if path.is_file())
VARIANTS: list[Callable[[bytes], bytes]] = [
    lambda content: content,
    gzip.compress,
    lambda content: b"[tool_a]\n" + content + b"\n[tool_b]\nx\n",
    lambda content: content[: len(content) // 2],
    lambda content: gzip.compress(content)[:-9],
    lambda content: content.decode("utf-8", "replace").encode("utf-16"),
    lambda content: gzip.compress(gzip.compress(content)),
]
ASKED: list[tuple[str, dict[str, Any]]] = [
    ("head", {"lines": 10**12}),
    ("tail", {"lines": 10**15, "max_bytes": 97}),
    ("lines", {"start": 3, "limit": 0, "max_bytes": 1}),
    ("count", {}),
    ("grep", {"pattern": "a", "context": 3, "max": 2}),
    ("select", {"columns": ["*", "*"], "limit": 3}),
    ("select", {"columns": ["line"], "encoding": "utf-16"}),
    ("stats", {"decimal": ",", "top": 0}),
    ("schema", {}),
    ("sample", {"rows": 4, "seed": "ß", "delimiter": '"'}),
    ("outline", {"section": "tool_b"}),
]


@pytest.mark.parametrize("place", range(len(FILES)), ids=[path.name for path in FILES])
def test_every_file_of_the_corpus_is_answered_or_refused(place: int) -> None:
    whole = FILES[place].read_bytes()[:20_000]
    for turn, (name, arguments) in enumerate(ASKED):
        content = VARIANTS[(turn + place) % len(VARIANTS)](whole)
        found = [told(content, name, arguments, indexed=indexed) for indexed in (False, True)]
        # What the store knows of types may be more than a beginning tells.
        assert found[0] == found[1] or name == "schema" or "encoding" in arguments, (name, arguments)


def told(content: bytes, name: str, arguments: dict[str, Any], *, indexed: bool) -> str:
    """The text of an answer, or the kind of the error."""
    try:
        answer = sip_bytes(content, name, arguments, indexed=indexed)
    except KmnbError as error:
        return type(error).__name__
    size = len(answer.text.encode())
    strictly = json.loads(answer.to_json(), parse_constant=lambda word: pytest.fail(word))
    assert (size <= arguments.get("max_bytes", 65_536), len(strictly)) == (True, answer.shown)
    return answer.text


@pytest.mark.parametrize("path", [path for path in FILES if path.suffix == ".json"], ids=lambda path: path.name)
def test_half_a_document_without_a_name_is_looked_at(path: Path) -> None:
    whole = path.read_bytes()[:200_000]
    found = inspect(whole[: len(whole) // 2])
    assert found.preview
    assert len(found.preview.encode()) <= 2048


@pytest.mark.parametrize(
    "arguments",
    [{"quote": "''"}, {"quote": "\n"}, {"delimiter": "\r"}, {"delimiter": ";", "quote": ";"}, {"quote": ","}],
)
def test_what_cannot_cut_cells_is_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(BadRequest, match=r"quote|delimiter"):
        sip_bytes(b"a,b\n1,2\n", "select", {"columns": ["*"], **arguments})


def test_of_a_delimiter_the_first_character_counts() -> None:
    """As with the peer; a tab may be written as on a command line."""
    assert sip_bytes(b"a;b\n1;2\n", "select", {"columns": ["b"], "delimiter": ";;"}).text == "b\n2\n"
    tabbed = sip_bytes(b"a\tb\n1\t2\n", "select", {"columns": ["b", "a"], "delimiter": "\\t"})
    assert tabbed.text == "b\ta\n2\t1\n"
    quotes = sip_bytes(b'a"b\n1"2\n', "select", {"columns": ["b"], "delimiter": '"'})
    assert quotes.values == [{"b": "2"}]


TABLE = b"name,n\n" + b"".join(b"row %d,%d\n" % (n, n) for n in range(30))


@pytest.mark.parametrize(
    ("content", "rows"), [(b"pod-a\npod-b\n", 2), (TABLE, 30), (b'{"a":1}\n{"a":2}\n', 2), (b'[{"a":1}, {"a":2}]', 2)]
)
def test_what_is_stored_of_a_text_with_sections_is_of_the_first(content: bytes, rows: int) -> None:
    whole = b"[one]\n" + content + b"\n[two]\nx\n"
    assert inspect(whole).rows == rows
    assert inspect(whole).lines == whole.count(b"\n")
    for indexed in (True, False):
        assert sip_bytes(whole, "count", {}, indexed=indexed).values == [rows]


def test_an_encoding_that_content_is_not_in_is_an_error_or_an_answer() -> None:
    with pytest.raises(BadRequest, match="encoding"):
        sip_bytes(b"no mark here", "count", {"encoding": "utf-16"})
    assert sip_bytes(b"a+b\n", "count", {"encoding": "utf-7"}).values == [1]
