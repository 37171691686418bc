"""Fenced blocks of what a model writes become artifacts, and the reader gets the rest."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest

import kmnb
from kmnb.errors import BadRequest
from kmnb.ops import fences
from kmnb.ops.workspace import Workspace

HEAD = '«««save_artifact: filename="r.csv" mime_type="text/csv" description="pods" tags="a, b"\n'
TEXT = f"Here: {HEAD}name,pods\nscraper,15\n»»»Done."


@pytest.fixture
def ws() -> Iterator[Workspace]:
    with kmnb.connect("memory://", config={"sweep_on_connect": False}) as workspace:
        yield workspace


def test_a_block_is_the_next_version_of_its_name(ws: Workspace) -> None:
    found = ws.unfence(TEXT)
    assert found == "Here: Done."
    art = ws.load("r.csv")
    assert (art.version, art.media_type, art.select(["pods"]).values) == (0, "text/csv", [{"pods": "15"}])
    told = ws.metadata("r.csv")
    assert (told["description"], told["tags"]) == ("pods", ["a", "b"])
    first = {"type": "artifact_creation_progress", "filename": "r.csv", "status": "in-progress", "bytes_transferred": 0}
    more = {"mime_type": "text/csv", "description": "pods", "tags": ["a", "b"]}
    assert found.parts == (
        {**first, **more},
        {**first, **more, "status": "completed", "bytes_transferred": 21, "version": 0},
    )
    assert ws.unfence(TEXT).parts[-1]["version"] == 1
    assert found.problems == ()


@pytest.mark.parametrize("size", [1, 3, 7, 1000])
def test_a_stream_gives_the_same_however_it_is_cut(ws: Workspace, size: int) -> None:
    pieces = [TEXT[place : place + size] for place in range(0, len(TEXT), size)]

    async def source() -> AsyncIterator[str]:
        for piece in pieces:
            yield piece

    async def walk() -> list[str]:
        return [str(found) async for found in ws.unfence_async(source())]

    assert "".join(ws.unfence(iter(pieces))) == "".join(asyncio.run(walk())) == "Here: Done."
    assert [ws.load("r.csv", version=number).size for number in ws.versions("r.csv")] == [21, 21]


def test_a_long_block_tells_how_far_it_is(ws: Workspace) -> None:
    content = "".join(f"line {number}\n" for number in range(2000))
    pieces = [HEAD, *(content[place : place + 500] for place in range(0, len(content), 500)), "»»»"]
    parts = [part for found in ws.unfence(iter(pieces)) for part in found.parts]
    chunks = [part["artifact_chunk"] for part in parts if "artifact_chunk" in part]
    assert len(chunks) == len(content) // 4500  # nine pieces of 500 are the first that pass 4,096 bytes
    assert content.startswith("".join(chunks))
    assert [part["bytes_transferred"] for part in parts] == sorted(part["bytes_transferred"] for part in parts)


def test_a_block_without_its_end_becomes_text_again(ws: Workspace) -> None:
    text = f"Here: {HEAD}name,pods\n"
    found = ws.unfence(text)
    assert found == text
    assert (found.parts[-1]["status"], found.parts[-1]["rolled_back_text"]) == ("cancelled", f"{HEAD}name,pods\n")
    assert ws.filenames() == []


@pytest.mark.parametrize("name", ["", "..", "../x", "/x", "user:.."])
def test_a_name_that_leaves_its_place_is_told_in_the_text(ws: Workspace, name: str) -> None:
    found = ws.unfence(f'a «««save_artifact: filename="{name}"\nx»»» b')
    assert found.startswith("a [Error: the artifact was not saved.")
    assert found.endswith(" b")
    assert (found.parts[-1]["status"], len(found.problems)) == ("failed", 1)
    assert ws.filenames() == []


def test_blocks_are_bounded_in_size_and_number(ws: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fences, "BLOCK_MAX_BYTES", 10)
    monkeypatch.setattr(fences, "BLOCKS_MAX", 2)
    block = '«««save_artifact: filename="f{}"\n{}»»»'
    found = ws.unfence(block.format(0, "x" * 10) + block.format(1, "x" * 11) + block.format(2, "x"))
    assert ws.filenames() == ["f0"]
    assert [part["status"] for part in found.parts if part["status"] != "in-progress"] == [
        "completed", "failed", "failed",
    ]  # fmt: skip


def test_other_embeds_stay_for_the_resolver(ws: Workspace) -> None:
    text = f"{TEXT} «artifact_content:r.csv >>> head:1» «««template: x »»»"
    kept = ws.unfence(text)
    assert str(kept) == "Here: Done. «artifact_content:r.csv >>> head:1» «««template: x »»»"
    assert ws.resolve(str(kept)).startswith("Here: Done. name,pods")


def test_what_is_no_text_is_refused(ws: Workspace) -> None:
    for wrong in (b"x", 1):
        with pytest.raises(BadRequest, match="is no text"):
            ws.unfence(wrong)  # type: ignore[call-overload]
        with pytest.raises(BadRequest, match="is no text"):
            ws.unfence_async(wrong)  # type: ignore[call-overload]
