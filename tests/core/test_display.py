"""What is shown is bounded, deterministic, and never executed."""

from __future__ import annotations

import json
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kmnb.core.display import ARTIFACT_MIME, MARKUP_MAX_BYTES, Card, bundle, markup, plain, size_text
from kmnb.core.visible import visible

HOSTILE = [
    "<script>alert(1)</script>",
    "</pre></td><img src=x onerror=alert(1)>",
    '" onmouseover="alert(1)',
    "<!--", "]]>", "<style>*{display:none}</style>", "<a href=javascript:alert(1)>x</a>", "&lt;b&gt;",
    "\x1b[31mred\x1b[0m", "\x1b]52;c;Z==\x07", "\x1b]8;;http://evil\x1b\\x\x1b]8;;\x1b\\", "\x9b2J", "a\rb", "\x00",
    "\u202egnp.exe", "\u2066x\u2069", "zero\u200bwidth", "\ufeff", "\ud800", "line\u2028sep", "\U000e0041",
]  # fmt: skip
TEXT = st.one_of(st.sampled_from(HOSTILE), st.text(max_size=40), st.text(max_size=3).map(lambda t: t * 500))
CARDS = st.builds(
    Card,
    title=TEXT,
    facts=st.lists(st.tuples(TEXT, TEXT), max_size=30),
    body=st.lists(TEXT, max_size=40).map("\n".join),
    columns=st.lists(TEXT, max_size=8),
    rows=st.lists(st.lists(TEXT, max_size=9), max_size=50),
    more=st.sampled_from([0, 3, None]),
    notes=st.lists(TEXT, max_size=12),
)
ALLOWED = {"details", "summary", "div", "b", "br", "i", "pre", "table", "thead", "tbody", "tr", "th", "td"}


class Reader(HTMLParser):
    """Collects every tag and attribute."""

    def __init__(self):
        super().__init__()
        self.tags, self.attributes, self.open = set(), set(), []

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= set(attrs)
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_comment(self, data):
        raise AssertionError("a comment came through")


@settings(deadline=None)
@given(CARDS)
def test_whatever_is_shown_stays_text(card):
    html = markup(card)
    reader = Reader()
    reader.feed(html)
    reader.close()
    assert reader.tags <= ALLOWED
    assert reader.attributes <= {("scope", "col")}
    assert reader.open == []
    assert len(html.encode()) <= MARKUP_MAX_BYTES
    text = plain(card)
    assert len(text.split("\n")) <= 10
    assert all(len(line) <= 100 for line in text.split("\n"))
    for shown in (html, text):
        assert visible(shown) == shown
        shown.encode("utf-8")


@given(CARDS)
def test_the_same_facts_give_the_same_bytes(card):
    assert json.dumps(bundle(card)) == json.dumps(bundle(card))


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_visible_after_rendering(text):
    assert "\x1b" not in visible(text)
    assert "\u202e" not in visible(text)
    assert "<script" not in markup(Card(text, body=text, columns=[text], rows=[[text]], notes=[text]))


def test_what_does_not_fit_is_counted():
    card = Card("t", columns=["n"], rows=[[i] for i in range(30)], more=70)
    assert plain(card).split("\n")[-1] == "… 93 more rows"
    assert plain(card).split("\n")[:3] == ["t", "n", "0"]
    assert "… 70 more rows" in markup(card)
    assert plain(Card("t", body="\n".join(map(str, range(9))))).count("\n") == 9
    assert plain(Card("t", body="\n".join(map(str, range(10))))).split("\n")[-1] == "… 2 more lines"
    assert plain(Card("t", body="a", more=1, unit="lines of the preview")).endswith("… 1 more line of the preview")
    assert plain(Card("t", body="a", more=1)).split("\n")[-1] == "… 1 more line"
    assert plain(Card("t", body="a", more=None)).split("\n")[-1] == "… and more lines"


def test_a_long_table_ends_inside_the_budget_and_says_so():
    card = Card("t", columns=["a", "b"], rows=[["<" * 80, i] for i in range(1000)])
    html = markup(card)
    assert len(html.encode()) <= MARKUP_MAX_BYTES
    shown = html.count("<tr>") - 1
    assert shown > 10
    assert f"… {1000 - shown} more rows" in html


def test_long_texts_are_folded_and_nothing_is_lost():
    html = markup(Card("t", body="\n".join(f"line {n}" for n in range(50))))
    assert "<summary>30 more lines</summary>" in html
    assert all(f"line {n}" in html for n in range(50))
    assert "details" not in markup(Card("t", body="\n".join(map(str, range(20)))))


def test_a_reference_travels_only_when_there_is_one():
    assert ARTIFACT_MIME not in bundle(Card("t"))
    assert bundle(Card("t", reference={"key": "a/b"}))[ARTIFACT_MIME] == {"key": "a/b"}


def test_sizes_are_written_for_people():
    assert [size_text(n) for n in (None, 0, 1, 1023, 1024, 318_204, 1024**2 - 1, 5 * 1024**3)] == [
        None, "0 bytes", "1 byte", "1,023 bytes", "1.0 KiB", "310.7 KiB", "1.0 MiB", "5.0 GiB",
    ]  # fmt: skip
