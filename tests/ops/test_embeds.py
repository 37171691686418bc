"""Embeds in replies: every type, modifier and format, within one scope, and never an error."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import kmnb
from kmnb._bridge import run
from kmnb.errors import BadRequest
from kmnb.ops._embed_budget import Budget
from kmnb.ops.workspace import Workspace

CSV = "name,pods\nkube-system,9\nscraper,15\nidle,0\n"
CAP = 10_000_000


@pytest.fixture(scope="module")
def here() -> Any:
    with kmnb.connect("memory://", user="ann", session="s1", config={"sweep_on_connect": False}) as ws:
        ws.save("pods.csv", CSV)
        ws.save("pods.csv", CSV + "late,1\n")
        ws.save("conf.json", '{"k": "v", "l": [1, 2], "n": {"a": "<b>"}}')
        ws.save("conf.yaml", "k: v\nl: [1, 2]\n")
        ws.save("note.txt", "one\ntwo\nthree\n")
        ws.save("user:mine.txt", "of the user")
        ws.save("dot.png", b"\x89PNG\r\n\x1a\n", media_type="image/png")
        ws.save("outer.md", "<«artifact_content:inner.md» «math:1+1» «artifact_return:note.txt»>")
        ws.save("inner.md", "inner «artifact_content:note.txt >>> head:1»")
        ws.save("loop.md", "l «artifact_content:pool.md»")
        ws.save("pool.md", "p «artifact_content:loop.md» «artifact_content:loop.md»")
        ws.save("t.mustache", "{{#items}}{{k}},{{/items}}{{k}}{{n.a}}{{text}}«math:2*3»", media_type="text/plain")
        ws.save("csv.mustache", "{{#headers}}{{.}};{{/headers}}{{#data_rows}}{{#.}}{{.}} {{/.}}/{{/data_rows}}")
        yield ws


@pytest.mark.parametrize(
    ("chain", "expected"),
    [
        ("note.txt", "one\ntwo\nthree\n"),
        ("user:mine.txt", "of the user"),
        ("pods.csv:0", CSV),
        ("pods.csv:0 >>> select_cols:pods >>> slice_rows:1:2", "pods\r\n15"),
        ("pods.csv:0 >>> select_fields:pods,none >>> slice_rows:-1:", "pods\r\n0"),
        ("pods.csv >>> filter_rows_eq:name:late >>> format:json", '[{"name":"late","pods":"1"}]'),
        ("pods.csv:0 >>> head:2", "name,pods\nkube-system,9\n"),
        ("pods.csv:0 >>> grep:^s", "scraper,15\n"),
        ('pods.csv:0 >>> grep:"^s|^i"', "scraper,15\nidle,0\n"),
        ("note.txt >>> tail:1", "three\n"),
        ("note.txt >>> tail:0", ""),
        ("note.txt >>> slice_lines:1:2", "two\n"),
        ("conf.json >>> jsonpath:$.k", '["v"]'),
        ("conf.json >>> jsonpath:$.l[*] >>> format:json", "[1,2]"),
        ("conf.json >>> jsonpath:$.l >>> format:json_pretty", "[\n  [\n    1,\n    2\n  ]\n]"),
        ("conf.yaml >>> format:json", '{"k":"v","l":[1,2]}'),
        ("conf.json >>> apply_to_template:t.mustache", "v&lt;b&gt;6"),
        ("note.txt >>> head:1 >>> apply_to_template:t.mustache:0", "one\n6"),
        ("pods.csv:0 >>> slice_rows:0:1 >>> apply_to_template:csv.mustache", "name;pods;kube-system 9 /"),
        ("conf.json >>> jsonpath:$.none >>> format:unknown", "[]"),
        ("pods.csv:0 >>> slice_rows:0:1 >>> format:csv", "name,pods\r\nkube-system,9"),
        ("dot.png >>> format:datauri", "data:image/png;base64,iVBORw0KGgo="),
        ("note.txt >>> head:1 >>> format:datauri", "data:text/plain;base64,b25lCg=="),
        ("outer.md", "<inner one\n 2 «artifact_return:note.txt»>"),
    ],
)
def test_an_artifact_stands_in_the_place_of_its_embed(here: Workspace, chain: str, expected: str) -> None:
    resolved = here.resolve(f"[«artifact_content:{chain}»]")
    assert resolved == f"[{expected}]"
    assert resolved.problems == ()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("«artifact_content:none.txt»", r"\[Error loading artifact 'none.txt': there is none of that name\]"),
        ("«artifact_content:note.txt:7»", "Error loading artifact 'note.txt:7'"),
        ("«artifact_content:../../x»", "Error: file name"),
        ("«artifact_content:artifact://apps/a/users/b/artifacts/c»", "Error: file name"),
        ("«artifact_content:»", "names no artifact"),
        ("«artifact_content:note.txt >>> nothing:1»", "modifier 'nothing': is not known"),
        ("«artifact_content:note.txt >>> jsonpath:$.a»", "cannot be read as JSON"),
        ("«artifact_content:conf.json >>> jsonpath:$[»", "Error: jsonpath"),
        ("«artifact_content:note.txt >>> grep:(»", "no regular expression"),
        ("«artifact_content:note.txt >>> head:-1»", "not a number of lines"),
        ("«artifact_content:pods.csv >>> select_cols:none»", "column 'none': is not there"),
        ("«artifact_content:dot.png >>> head:1»", "needs text, not image/png"),
        ("«artifact_return:none.txt»", "Error loading artifact"),
    ],
)
def test_a_failure_is_a_text_in_brackets(here: Workspace, text: str, reason: str) -> None:
    resolved = here.resolve(text)
    assert re.search(reason, resolved)
    assert resolved.problems == (str(resolved),)


def test_a_cycle_is_told_where_it_closes(here: Workspace) -> None:
    resolved = here.resolve("«artifact_content:loop.md»")
    told = "[Error: embed cycle: loop.md > pool.md > loop.md]"
    assert resolved == f"l p {told} {told}"


def test_a_deep_nest_ends_at_the_limit(ws: Workspace) -> None:
    for number in range(20):
        ws.save(f"d{number}.md", f"{number} «artifact_content:d{number + 1}.md»")
    assert (
        ws.resolve("«artifact_content:d0.md»") == f"{' '.join(map(str, range(12)))} [Error: Max embed depth exceeded]"
    )


def test_a_fan_ends_at_the_budget(here: Workspace) -> None:
    here.save("leaf.md", "x")
    for number in range(4):
        inner = "leaf.md" if number == 0 else f"fan{number - 1}.md"
        here.save(f"fan{number}.md", f"«artifact_content:{inner}»" * 12)
    resolved = here.resolve("«artifact_content:fan3.md»")
    assert 0 < resolved.count("x") < 2000
    assert "there are more than 2,000 of them" in resolved.problems[0]


def test_early_embeds_are_resolved_at_the_early_stage_only(here: Workspace) -> None:
    text = "«math:10/3 | .2f» «artifact_content:note.txt» «other:x»"
    assert here.resolve(text, stage="early") == "3.33 «artifact_content:note.txt» «other:x»"
    assert here.resolve(text) == "«math:10/3 | .2f» one\ntwo\nthree\n «other:x»"
    assert here.resolve(text, stage="all") == "3.33 one\ntwo\nthree\n «other:x»"


def test_times_numbers_and_metadata_of_the_early_stage(here: Workspace) -> None:
    early = here.resolve("«datetime:%Y-%m-%d»|«datetime:»|«datetime:timestamp»|«uuid:»", stage="early")
    assert re.fullmatch(r"\d{4}-\d\d-\d\d\|\d{4}-\d\d-\d\dT[\d:.]+\|\d+\.\d+\|[0-9a-f-]{36}", early)
    assert "Error" in here.resolve("«datetime:%99999999d»", stage="early")
    meta = here.resolve("«artifact_meta:pods.csv:0»", stage="early")
    assert meta.startswith("Artifact: 'pods.csv' (version: 0)\n")
    assert "- size_bytes: 42" in meta
    assert "- columns: name, pods\n- rows: 3" in meta


def test_files_and_progress_leave_the_text_as_parts(here: Workspace) -> None:
    resolved = here.resolve("a«status_update:Reading»b«artifact_return:note.txt»c«artifact_content:dot.png»d")
    assert resolved == "abcd"
    status, returned, image = resolved.parts
    assert status == {"type": "agent_progress_update", "status_text": "Reading"}
    assert (returned["type"], returned["name"], returned["version"]) == ("file", "note.txt", 0)
    assert returned["uri"].startswith("artifact://apps/")
    assert (image["type"], image["mime_type"], image["data"]) == ("image", "image/png", "iVBORw0KGgo=")
    assert json.loads(json.dumps(resolved.parts)) == list(resolved.parts)


def test_another_session_and_another_user_are_out_of_reach(url: str, names: dict[str, str]) -> None:
    told = {**names, "config": {"sweep_on_connect": False}}
    with kmnb.connect(url, user="ann", session="s1", **told) as ann:
        ann.save("secret.txt", "secret")
        ann.save("user:key.txt", "secret")
        uri = ann.load("secret.txt").uri
        with kmnb.connect(url, user="ann", session="s2", **told) as later, kmnb.connect(url, user="bob", **told) as bob:
            assert later.resolve("«artifact_content:user:key.txt»") == "secret"
            for spec in ("secret.txt", "s1/secret.txt", "user:key.txt", uri):
                assert "secret" not in bob.resolve(f"«artifact_content:{spec}»").replace(spec, "")
            assert "there is none" in later.resolve("«artifact_content:secret.txt»")


def test_the_cap_is_inclusive_and_decided_before_anything_is_read(connect: Any) -> None:
    ws = connect(config={"embed_max_bytes": 1000})
    ws.save("fits.txt", "x" * 1000)
    ws.save("large.txt", "x" * 1001)
    assert ws.resolve("«artifact_content:fits.txt»") == "x" * 1000
    resolved = ws.resolve("«artifact_content:large.txt >>> head:1»")
    assert json.loads(resolved) == resolved.parts[0]
    assert resolved.parts[0]["type"] == "artifact_reference"
    assert (resolved.parts[0]["name"], resolved.parts[0]["size_bytes"]) == ("large.txt", 1001)
    ws.save("twice.md", "«artifact_content:fits.txt»«artifact_content:fits.txt»")
    assert ws.resolve("«artifact_content:twice.md»").parts[0]["name"] == "twice.md"


def test_ten_million_bytes_are_inlined_and_one_more_is_a_reference(here: Workspace) -> None:
    here.save("cap.txt", b"y" * CAP, media_type="text/plain")
    here.save("over.txt", b"y" * (CAP + 1), media_type="text/plain")
    assert len(here.resolve("«artifact_content:cap.txt»")) == CAP
    assert json.loads(here.resolve("«artifact_content:over.txt»"))["size_bytes"] == CAP + 1


def test_hostile_templates_and_paths_end_in_time_and_read_no_file(here: Workspace) -> None:
    here.save("partial.txt", "{{>/etc/hostname}}{{>secret}}ok")
    assert here.resolve("«artifact_content:conf.json >>> apply_to_template:partial.txt»") == "ok"
    bomb = "b0: &b0 [x,x]\n" + "".join(f"b{n}: &b{n} [*b{n - 1},*b{n - 1}]\n" for n in range(1, 40))
    here.save("bomb.yaml", bomb, media_type="application/yaml")
    assert "Error: yaml" in here.resolve("«artifact_content:bomb.yaml >>> format:json»")


def test_the_steps_of_a_resolution_have_one_limit_of_time(here: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Budget.__init__, "__defaults__", (*Budget.__init__.__defaults__[:-1], 0.000001))
    answer = here.resolve("«artifact_content:conf.json >>> head:1»|" * 2)
    assert answer.count("their steps took more than") == 1


def test_a_stream_gives_the_same_text_however_it_is_cut(here: Workspace) -> None:
    text = "a «artifact_content:note.txt >>> head:1» b « c «artifact_return:note.txt» «artifact_content:x"
    whole = here.resolve(text)
    for size in (1, 2, 7, 50):
        pieces = list(here.resolve(text[place : place + size] for place in range(0, len(text), size)))
        assert "".join(pieces) == whole
        assert [part for piece in pieces for part in piece.parts] == list(whole.parts)


def test_plain_text_of_a_stream_is_not_held_back(here: Workspace) -> None:
    seen: list[str] = []

    def source() -> Any:
        for piece in ("plain ", "more «artifact_content:no", "te.txt >>> head:1»"):
            yield piece
            seen.append(piece)

    walk = here.resolve(source())
    assert (next(walk), seen) == ("plain ", [])
    assert next(walk) == "more "
    assert list(walk) == ["one\n"]


def test_the_coroutine_twins_take_texts_and_both_kinds_of_streams(here: Workspace) -> None:
    async def source() -> AsyncIterator[str]:
        yield "«artifact_content:note.txt "
        yield ">>> head:1»"

    async def use() -> list[Any]:
        one = await here.resolve_async("«artifact_content:note.txt >>> head:1»")
        two = [piece async for piece in here.resolve_async(source())]
        return [one, *two, *[piece async for piece in here.resolve_async(iter(["plain"]))]]

    assert run(use()) == ["one\n", "one\n", "plain"]


def test_an_unknown_stage_and_bytes_are_refused(here: Workspace) -> None:
    with pytest.raises(BadRequest, match="Known: early, late, all"):
        here.resolve("x", stage="soon")
    with pytest.raises(BadRequest, match="is no text"):
        here.resolve(b"x")  # type: ignore[call-overload]


PIECES = (
    *("«artifact_content:", "note.txt", "pods.csv", "user:mine.txt", "..", ">>>", "head:", "1", "grep:", '"', "|"),
    *("»", "«math:", "+", "(", "9**9", "«datetime:%", "\n", "format:json", "loop.md", "select_cols:name", "\ud800"),
)
words = st.lists(st.sampled_from(PIECES), max_size=12)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(words)
def test_no_text_makes_resolution_raise(here: Workspace, pieces: list[str]) -> None:
    text = "".join(pieces)
    resolved = here.resolve(text, stage="all")
    assert isinstance(resolved, str)
    assert "«" in text or resolved == text
