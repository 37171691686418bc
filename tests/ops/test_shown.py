"""What a notebook shows of answers that are long: few lines, the same in every run, nothing read."""

from __future__ import annotations

import copy
import pickle

import pytest

import kmnb
from kmnb import contract
from kmnb.core.display import MARKUP_MAX_BYTES, PLAIN_MAX_LINES
from kmnb.core.receipt import Receipt
from kmnb.core.shown import Shown
from kmnb.errors import BadRequest
from kmnb.ops.verifying import Verification

HOSTILE = "\x1b[31m<script>alert(1)</script>\u202e"


def test_long_answers_are_cards() -> None:
    with kmnb.connect("memory://", thread="t", agent="a") as ws:
        ws.save("r.csv", "a\n" + f"{HOSTILE}\n" * 500, media_type="text/csv")
        ws.save("r.csv", "b\n1\n", media_type="text/csv")
        diff = ws.diff("r.csv", 0, 1)
    claims = contract.check("".join(f"There were {n} pods. " for n in range(100, 300)), [])
    inputs = tuple({"key": f"{HOSTILE}{n}", "digest": "", "size": 1} for n in range(50))
    receipt = Receipt("sha256:0", "python", "cpython", artifacts=inputs)
    shown: list[Shown] = [diff, claims, receipt, Verification("differs", HOSTILE)]
    titles = []
    for one in shown:
        found = one._repr_mimebundle_()
        plain, markup = found["text/plain"], found["text/html"]
        assert len(plain.splitlines()) <= PLAIN_MAX_LINES
        assert len(markup.encode()) <= MARKUP_MAX_BYTES
        assert not {"\x1b", "\u202e"} & set(plain + markup)
        assert "<script" not in markup
        titles.append(plain.splitlines()[0])
    assert titles[0] == "rows: 0 added, 499 removed, 0 changed"
    assert titles[1] == "not ok · 200 numbers, 200 unbacked"
    assert titles[2].startswith(f"receipt · {receipt.digest[:19]} · exit code 0")


def test_a_listing_shows_itself_without_being_read() -> None:
    with kmnb.connect("memory://", thread="t", agent="a") as ws:
        ws.put("x", tool="t")
        listing = ws.list()
        assert repr(listing) == "<list(): one item after the other as they are asked for; list() reads all>"
        assert [art.key for art in listing] == ["default/nocrew/t/a/t-0"]


def test_a_name_in_the_place_of_a_key_is_told_how_it_is_opened() -> None:
    with kmnb.connect("memory://", thread="t", agent="a") as ws:
        ws.save("report.csv", "a\n1\n")
        for reference, step in (("report.csv", r"load\(\) opens it"), ("a/b", "Ask its producer")):
            with pytest.raises(kmnb.errors.ArtifactNotFound, match=step):
                ws.get(reference)


def test_what_is_walked_or_entered_shows_no_address_in_memory() -> None:
    with kmnb.connect("memory://") as ws, ws.events() as events:
        turn = ws.turn([ws.put("x", tool="t")])
        assert repr(turn) == "<turn: not open>"
        with turn:
            assert repr(turn) == "<turn: open, 1 artifact>"
        assert " at 0x" not in repr(events)


def test_what_stands_on_a_store_is_its_own_copy_and_stays_in_its_process() -> None:
    with kmnb.connect("memory://") as ws:
        art = ws.put("x", tool="t")
        for thing in (ws, art):
            assert copy.copy(thing) is thing
            assert copy.deepcopy([thing])[0] is thing
            with pytest.raises(BadRequest, match="open that in the other process"):
                pickle.dumps(thing)


def test_an_outcome_stands_for_its_receipt_and_what_is_none_is_told_without_our_names() -> None:
    with kmnb.connect("memory://") as ws:
        outcome = ws.run("print(1)", artifacts=[])
        assert ws.verify(outcome).status == "verified"
        answer = ws.put("x", tool="t").head(1)
        for given in (answer, answer.receipt, {"a": 1}, None, 5, "[1]", "x"):
            with pytest.raises(BadRequest) as told:
                ws.verify(given)
            assert "__init__" not in str(told.value)
            assert "object" not in str(told.value)
