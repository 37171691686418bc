"""The grammar of embeds: what is one, how a stream is cut, chains, specs and quotes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kmnb.core.embed_grammar import (
    EMBED_MAX_CHARS,
    Chain,
    Embed,
    Scanner,
    Step,
    cut_text,
    parse_chain,
    parse_spec,
    split_argument,
    unquote,
)


def chain(text: str) -> Chain:
    (embed,) = cut_text(text)
    assert isinstance(embed, Embed)
    return parse_chain(embed)


def test_a_text_is_cut_into_plain_text_and_embeds() -> None:
    assert list(cut_text("a «math:1+1 | .2f» b")) == ["a ", Embed("math", "1+1", ".2f", "«math:1+1 | .2f»"), " b"]


@pytest.mark.parametrize("text", ["« bonjour »", "«a b:c»", "«math:1\n»", "«math»", "«:x»", "«math:1", "«", "«" * 50])
def test_what_is_no_embed_stays_as_it_is(text: str) -> None:
    cuts = list(cut_text(text))
    assert not any(isinstance(cut, Embed) for cut in cuts)
    assert "".join(map(str, cuts)) == text


def test_a_chain_has_a_pinned_artifact_steps_and_a_format() -> None:
    found = chain("«artifact_content:data.csv:2 >>> select_cols:a,b >>> head:3 >>> format:json_pretty»")
    assert found == Chain("data.csv", 2, (Step("select_cols", "a,b"), Step("head", "3")), "json_pretty")


def test_a_step_without_a_colon_or_an_argument_is_dropped_and_a_format_counts_only_at_the_end() -> None:
    found = chain("«artifact_content:x >>> head >>> tail: >>> format:json >>> head:1»")
    assert [step.name for step in found.steps] == ["format", "head"]
    assert found.format is None


def test_a_bar_ends_the_expression_unless_it_is_quoted() -> None:
    assert chain("«artifact_content:x >>> grep:Bob|Al»").steps == (Step("grep", "Bob"),)
    (step,) = chain('«artifact_content:x >>> grep:"Bob|Al » >>> \\"x"»').steps
    assert unquote(step.argument) == 'Bob|Al » >>> "x'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a.txt", ("a.txt", None)),
        ("a.txt:3", ("a.txt", 3)),
        ("a.txt:latest", ("a.txt", None)),
        ("user:a.txt", ("user:a.txt", None)),
        ("user:a.txt:0", ("user:a.txt", 0)),
        ('"a:1":2', ("a:1", 2)),
        ("a:b", ("a:b", None)),
    ],
)
def test_a_spec_is_a_name_and_perhaps_a_version(text: str, expected: tuple[str, int | None]) -> None:
    assert parse_spec(text) == expected


def test_arguments_are_split_outside_their_quotes() -> None:
    assert split_argument('a, "b,c" ,d', ",") == ["a", "b,c", "d"]
    assert split_argument('"k:x":v:w', ":", 1) == ["k:x", "v:w"]


pieces = st.lists(
    st.sampled_from(
        [
            "«",
            "»",
            '"',
            ":",
            "|",
            ">>>",
            "\n",
            " ",
            ",",
            "\\",
            "math",
            "artifact_content",
            "x",
            "«artifact_content:a",
            "é",
        ]
    ),
    max_size=40,
)


@given(pieces, st.lists(st.integers(0, 200), max_size=10))
def test_cutting_a_stream_anywhere_changes_nothing(words: list[str], places: list[int]) -> None:
    text = "".join(words)
    scanner, found = Scanner(), []
    cuts = sorted(min(place, len(text)) for place in places)
    for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True):
        found += list(scanner.feed(text[start:end]))
    found += list(scanner.finish())
    assert _merged(found) == _merged(list(cut_text(text)))
    assert "".join(cut if isinstance(cut, str) else cut.raw for cut in found) == text


def _merged(cuts: list[str | Embed]) -> list[str | Embed]:
    merged: list[str | Embed] = []
    for cut in cuts:
        if isinstance(cut, str) and merged and isinstance(merged[-1], str):
            merged[-1] += cut
        else:
            merged.append(cut)
    return merged


@pytest.mark.parametrize("unit", ["«", "«a:", '«artifact_content:a:"»" ', "«a:\n", '«artifact_content:":"'])
def test_hostile_text_is_cut_in_one_walk(unit: str) -> None:
    text = unit * 100_000
    assert "".join(cut if isinstance(cut, str) else cut.raw for cut in cut_text(text)) == text


def test_the_longest_embed_is_one_and_a_longer_one_is_text() -> None:
    for extra, is_embed in ((0, True), (1, False)):
        text = "«math:" + "1" * (EMBED_MAX_CHARS - 7 + extra) + "»"
        assert any(isinstance(cut, Embed) for cut in cut_text(text)) is is_embed


def test_no_more_is_held_back_than_the_longest_embed() -> None:
    scanner, out = Scanner(), 0
    for _ in range(200):
        out += sum(len(str(cut)) for cut in scanner.feed("«math:" + "1" * 94))
        assert scanner.held < EMBED_MAX_CHARS
    out += sum(len(str(cut)) for cut in scanner.finish())
    assert out == 200 * 100
