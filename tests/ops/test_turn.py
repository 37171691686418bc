"""Turns: exactly the referenced artifacts as files, and gone afterwards."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kmnb._bridge import run
from kmnb.errors import ArtifactNotFound, BadRequest, DigestMismatch, KeySyntaxError
from kmnb.ops.materialise import materialise
from kmnb.ops.workspace import Workspace


def files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file() and path.name[0] != ".")


def test_a_turn_holds_exactly_what_it_was_given_in_every_form(ws: Workspace) -> None:
    spills = [ws.spill(f"{number}\n" * 3000, tool="x") for number in range(6)]
    arts: Any = [spill.artifact for spill in spills]
    forms: list[Any] = [
        spills[0],
        arts[1],
        arts[2].envelope(),
        spills[3].message,
        json.dumps(arts[4].envelope()),
        spills[5].message["content"] + spills[5].message["content"],
    ]
    ws.put("not asked for", tool="x")
    with ws.turn(forms) as turn:
        assert files(turn.folder) == [art.key for art in arts]
        assert (turn.folder / arts[0].key).read_bytes() == b"0\n" * 3000
        folder = turn.folder
    assert not folder.exists()
    assert not folder.parent.exists()
    with pytest.raises(BadRequest, match="not open"):
        turn.folder  # noqa: B018


def test_a_single_reference_needs_no_list(ws: Workspace) -> None:
    art = ws.put("d", tool="x")
    for one in (art, art.key, art.uri, art.envelope()):
        with ws.turn(one) as turn:
            assert [found.key for found in turn.artifacts] == [art.key]
    with ws.turn([]) as turn:
        assert turn.artifacts == ()


def test_turns_nest_and_the_innermost_one_counts(ws: Workspace) -> None:
    one, two = ws.put("1", tool="x"), ws.put("2", tool="x")
    with ws.turn(one), ws.turn(two) as inner:
        assert ws.context.live.turns[-1] is inner
    assert ws.context.live.turns == []


def test_a_turn_over_something_that_is_gone_leaves_no_folder(ws: Workspace, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    art = ws.put("d", tool="x")
    ws.delete(art)
    before = set(tmp_path.iterdir())
    with pytest.raises(ArtifactNotFound), ws.turn([art.envelope()]):
        pass
    assert set(tmp_path.iterdir()) == before
    for wrong in (7, "../x", [None]):
        with pytest.raises((BadRequest, KeySyntaxError)), ws.turn(wrong):
            pass
    assert set(tmp_path.iterdir()) == before


def test_a_turn_ends_when_its_block_fails(ws: Workspace) -> None:
    folders = []

    def use() -> None:
        with ws.turn(ws.put("d", tool="x")) as turn:
            folders.append(turn.folder)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        use()
    assert not folders[0].exists()


def test_an_async_block_works_too(ws: Workspace) -> None:
    art = ws.put("d", tool="x")

    async def use() -> bool:
        async with ws.turn(art) as turn:
            return (turn.folder / art.key).exists()

    assert asyncio.run(use())


def test_runs_read_the_turns_files_and_their_receipts_verify(ws: Workspace) -> None:
    art = ws.put("a\nb\nc\n", tool="x")
    program = f"import os; print(len(open(os.path.join(os.environ['KMNB_ARTIFACTS'], {art.key!r})).readlines()))"
    with ws.turn(art):
        out = ws.run(program, required_level=0)
    assert (out.stdout, out.exit_code) == ("3\n", 0)
    assert out.receipt is not None
    assert [item["digest"] for item in out.receipt.artifacts] == [art.digest]
    assert ws.verify(out.receipt, required_level=0).status == "verified"
    ws.delete(art)
    assert ws.verify(out.receipt, required_level=0).status == "cannot-verify"


LIES = [
    {"digest": "sha256:" + "0" * 64},
    {"bytes": 7},
    {"bytes": 7, "digest": None},
    {"bytes": None, "digest": "sha256:" + "0" * 64},
]


@pytest.mark.parametrize("lie", LIES, ids=str)
def test_an_envelope_that_lies_is_named_and_nothing_is_materialised(ws: Workspace, tmp_path: Path, lie: Any) -> None:
    one = ws.put("a\n", tool="pods")
    told = {name: value for name, value in (one.envelope() | lie).items() if value is not None}

    def in_a_turn() -> None:
        with ws.turn(told):
            pass

    doors = {
        "turn": in_a_turn,
        "run": lambda: ws.run("print(1)", artifacts=[told]),
        "cell": lambda: ws.run_cell("1", artifacts=[told]),
        "folder": lambda: ws.get(told).materialise(tmp_path / "here"),
    }
    for name, door in doors.items():
        with pytest.raises(DigestMismatch, match=f"envelope of '{one.key}'"):
            door()
        assert not list((tmp_path / "here").rglob("*")), name
    lying = ws.get(told)
    with pytest.raises(DigestMismatch):
        lying.materialise(tmp_path / "here")
    assert (lying.digest, lying.size) == (one.digest, one.size)


def test_the_bytes_of_a_store_that_knows_no_digest_are_held_against_the_envelope(ws: Workspace, tmp_path: Path) -> None:
    one, area = ws.put("a\n", tool="pods"), ws.context.backend.discussions
    info = replace(run(area.head(one.key)), digest=None)
    honest, lying = ws.get(one.envelope()), ws.get(one.envelope() | {"digest": "sha256:" + "0" * 64})
    with pytest.raises(DigestMismatch, match="other bytes"):
        run(materialise([(area, lying._as_claimed(info))], tmp_path / "here"))
    assert files(tmp_path / "here") == []
    run(materialise([(area, honest._as_claimed(info))], tmp_path / "here"))
    assert files(tmp_path / "here") == [one.key]
