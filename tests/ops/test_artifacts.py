"""Get, list and delete by whatever names an artifact."""

from __future__ import annotations

import json
from itertools import islice
from typing import Any

import pytest

from kmnb.errors import ArtifactNotFound, BadRequest, EnvelopeError, KeySyntaxError
from kmnb.ops.workspace import Workspace


def test_every_form_of_a_reference_gives_the_same_artifact(ws: Workspace) -> None:
    spill = ws.spill("row\n" * 2000, tool="t")
    art = spill.artifact
    assert art is not None
    forms: list[Any] = [
        art,
        art.key,
        art.uri,
        art.envelope(),
        json.dumps(art.envelope()),
        json.dumps({"artifact": art.envelope()}).encode(),
        spill.message,
        json.dumps(spill.message),
        spill.message["content"],
        f"see {spill.message['content']} for more",
    ]
    assert {ws.get(form).key for form in forms} == {art.key}
    assert ws.get(art.uri).digest == art.digest
    assert ws.get(spill.message["content"]).size == 8000


def test_an_envelope_costs_no_call_and_a_key_costs_one(ws: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    art = ws.put("d" * 5000, tool="t")
    area, calls = type(ws.context.backend.discussions), []
    for verb in ("head", "get_range", "list"):
        real = getattr(area, verb)

        def spy(self: Any, *args: Any, _real: Any = real, _verb: str = verb, **options: Any) -> Any:
            calls.append(_verb)
            return _real(self, *args, **options)

        monkeypatch.setattr(area, verb, spy)
    shown = ws.get(art.envelope())
    assert (shown.size, shown.preview, repr(shown) != "") == (art.size, art.preview, True)
    assert calls == []
    ws.get(art.key)
    assert calls == ["head"]


def test_a_missing_key_is_not_found_at_get(ws: Workspace, names: dict[str, str]) -> None:
    with pytest.raises(ArtifactNotFound, match="never existed, was deleted or has expired"):
        ws.get(f"{names['namespace']}/pilot/t9/a/x-0")
    with pytest.raises(FileNotFoundError):
        ws.get(f"artifact://discussions/{names['namespace']}/pilot/t9/a/x-0")
    assert ws.put("works on", tool="t").size == 8


def test_a_key_of_a_closed_thread_says_that_it_was_closed(ws: Workspace) -> None:
    art = ws.put("d", tool="t")
    ws.close_thread("t1")
    with pytest.raises(ArtifactNotFound, match="thread was closed at"):
        ws.get(art.key)


@pytest.mark.parametrize("reference", ["", "../x", "/rooted", "a//b", "artifact://discussions/../x", "k" * 1025])
def test_what_no_key_can_be_is_refused(ws: Workspace, reference: str) -> None:
    with pytest.raises(KeySyntaxError):
        ws.get(reference)


@pytest.mark.parametrize("reference", ["{ broken", '{"other": 1}', {"artifact": {}}, b"{}", 7, None, ["a"]])
def test_what_is_no_reference_is_refused(ws: Workspace, reference: Any) -> None:
    with pytest.raises((EnvelopeError, BadRequest)):
        ws.get(reference)


def test_listing_is_by_whole_segments_sorted_and_the_own_thread_by_default(
    ws: Workspace, names: dict[str, str]
) -> None:
    for thread in ("t1", "t10", "t1-x", "t2"):
        for number in range(3):
            ws.put(f"{number}", tool=f"tool{number}", thread=thread)
    own = [art.key for art in ws.list()]
    prefix = f"{names['namespace']}/pilot"
    assert own == [f"{prefix}/t1/kube/tool{number}-0" for number in range(3)]
    assert [art.key for art in ws.list(f"{prefix}/t1/")] == [art.key for art in ws.list(f"{prefix}/t1")] == own
    everything = [art.key for art in ws.list(prefix)]
    assert everything == sorted(everything)
    assert len(everything) == 12
    assert list(ws.list(f"{prefix}/t")) == []
    assert list(ws.list(f"{prefix}/never")) == []


def test_a_listing_is_lazy(ws: Workspace) -> None:
    for number in range(5):
        ws.put(f"{number}", tool="t")
    walk = ws.list()
    assert len(list(islice(walk, 2))) == 2
    walk.close()  # type: ignore[attr-defined]
    assert ws.put("works on", tool="t").size == 8


def test_listing_an_emptied_store_is_empty(ws: Workspace) -> None:
    assert list(ws.list()) == []
    arts = [ws.put("d", tool="t") for _ in range(3)]
    assert len(list(ws.list())) == 3
    for art in arts:
        ws.delete(art)
    assert list(ws.list()) == []


def test_deleting_takes_every_form_and_is_silent_about_what_is_gone(ws: Workspace) -> None:
    arts = [ws.put("d" * 5000, tool="t") for _ in range(5)]
    marker = ws.spill("e" * 5000, tool="t").message["content"]
    for reference in (arts[0], arts[1].key, arts[2].uri, arts[3].envelope(), json.dumps(arts[4].envelope()), marker):
        ws.delete(reference)
        ws.delete(reference)
    assert list(ws.list()) == []
    with pytest.raises(EnvelopeError):
        ws.delete({"nothing": 1})


def test_a_handle_whose_artifact_went_says_so(ws: Workspace) -> None:
    art = ws.put("d" * 5000, tool="t")
    handles = [ws.get(art.key), ws.get(art.envelope())]
    ws.delete(art)
    for handle in handles:
        with pytest.raises(ArtifactNotFound, match="deleted before it expired"):
            handle.head(1)
