"""The browser of a store and the panel of garbage collection: closed questions, a dry run first."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import kmnb
from kmnb import _bridge
from kmnb.frontends._widget_store import StoreQuestions
from tests.moments import set_clock


@pytest.fixture
def workspace(store_url: str) -> Iterator[Any]:
    with kmnb.connect(store_url, thread="t", agent="ada") as workspace:
        for number in range(30):
            workspace.put("x" * 100, tool="small", thread=f"t{number % 3}")
        workspace.put("y" * 9000, tool="large")
        yield workspace


def ask(questions: StoreQuestions, name: str, **arguments: Any) -> dict[str, Any]:
    reply = _bridge.run(questions.answer({"id": 1, "ask": name, "arguments": arguments}))
    json.dumps(reply, allow_nan=False)
    return reply


def test_places_add_up_and_lead_to_their_artifacts(workspace):
    questions = StoreQuestions(workspace)
    told = ask(questions, "places")["answer"]
    assert (told["objects"], told["bytes"], told["complete"]) == (31, 12_000, True)
    assert (told["places"][0]["tool"], told["places"][0]["bytes"]) == ("large", 9000)
    small = next(place for place in told["places"] if place["thread"] == "t1")
    first = ask(questions, "objects", prefix=small["prefix"], tool=small["tool"], limit=6)["answer"]
    rest = ask(questions, "objects", prefix=small["prefix"], tool=small["tool"], start=6)["answer"]
    assert (len(first["objects"]), first["more"], len(rest["objects"]), rest["more"]) == (6, True, 4, False)
    assert {one["key"] for one in first["objects"] + rest["objects"]} == {
        f"{small['prefix']}/small-{n}" for n in range(10)
    }


@pytest.mark.parametrize("prefix", ["", "other/crew/x", "default/nocrewx", "../x"])
def test_nothing_outside_the_crew_is_listed(workspace, prefix):
    assert ask(StoreQuestions(workspace), "objects", prefix=prefix)["error"]["code"] == "bad-request"


def test_nothing_is_deleted_before_a_dry_run(workspace):
    questions = StoreQuestions(workspace)
    assert ask(questions, "collect")["error"]["code"] == "bad-request"
    assert len(list(workspace.list("default/nocrew"))) == 31


def test_a_dry_run_tells_what_the_sweep_then_deletes(workspace, store_url):
    later = datetime.now(UTC) + timedelta(hours=49)
    set_clock(workspace, lambda: later)
    questions = StoreQuestions(workspace)
    told = ask(questions, "look")["answer"]
    assert told["deleted"] == 31
    assert len(list(workspace.list("default/nocrew"))) == 31
    assert ask(questions, "collect")["answer"]["deleted"] == 31
    assert list(workspace.list("default/nocrew")) == []
    assert ask(questions, "collect")["error"]["code"] == "bad-request"


def test_threads_and_unknown_questions(workspace):
    questions = StoreQuestions(workspace)
    assert {one["thread"] for one in ask(questions, "threads")["answer"]["threads"]} >= {"t0", "t1", "t2"}
    assert ask(questions, "__init__")["error"]["code"] == "bad-request"


def test_the_widgets_have_a_static_twin_and_small_state(workspace):
    for widget in (workspace.browser(), workspace.gc_panel()):
        state = json.dumps({name: value for name, value in widget.get_state().items() if name != "layout"})
        assert len(state.encode()) <= 4096
        data, _ = widget._repr_mimebundle_()
        assert "nocrew" in data["text/html"]
        widget.close()
