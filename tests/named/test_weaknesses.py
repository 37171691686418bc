"""The page on the peers' weaknesses names tests that exist, and those that stand nowhere else."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

import pytest

import kmnb
from kmnb._bridge import run
from kmnb.core.config import Names, Settings
from kmnb.ops.context import Context
from kmnb.ops.workspace import Workspace
from kmnb.storage import open_backend
from kmnb.storage._wrappers import CountingBackend
from tests.source import ROOT

PAGE = (ROOT / "docs/explain/peer-weaknesses.md").read_text("utf-8")
NAMED = re.findall(r"`([\w/]+\.py)::(test_\w+)`", PAGE)


def test_the_page_names_a_test_in_every_row() -> None:
    rows = [
        line for line in PAGE.splitlines() if line.startswith("| ") and not line.startswith(("| ---", "| weakness"))
    ]
    assert len(rows) >= 40
    assert [row for row in rows if not re.search(r"`[\w/]+\.py::test_\w+` \|$", row)] == []


@pytest.mark.parametrize(("file", "test"), NAMED)
def test_every_test_that_the_page_names_exists(file: str, test: str) -> None:
    tree = ast.parse((ROOT / file).read_text("utf-8"))
    found = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == test
    ]
    assert len(found) == 1
    assert [node for node in ast.walk(found[0]) if isinstance(node, ast.Assert | ast.Call)]


@pytest.fixture
def ws() -> Iterator[Workspace]:
    with kmnb.connect("memory://", config={"sweep_on_connect": False}) as workspace:
        yield workspace


@pytest.mark.parametrize("layout", ["kmnb", "agent-mesh", "adk"])
def test_a_session_is_listed_in_one_listing_of_each_scope(layout: str) -> None:
    counted = CountingBackend(run(open_backend("memory://", layout=layout)))
    ws = Workspace(Context(counted, Names(), Settings(layout=layout)))
    for number in range(20):
        ws.save(f"f{number:02}.txt", "x")
        ws.save(f"user:f{number:02}.txt", "x")
    counted.counts.calls.clear()
    assert len(ws.filenames()) == 40
    assert dict(counted.counts.calls) == {"list": 2}
    ws.close()


@pytest.mark.parametrize("media_type", ["text/csv", "text/csv; charset=utf-8", "TEXT/CSV"])
@pytest.mark.parametrize(
    "data", [b"name,pods\na,1\nb,2\n", b"name;pods\na;1\nb;2\n", b"\xef\xbb\xbfname\tpods\na\t1\nb\t2\n"]
)
def test_columns_are_told_whatever_dialect_bom_and_mime_parameter(ws: Workspace, data: bytes, media_type: str) -> None:
    ws.save("r.csv", data, media_type=media_type)
    schema: dict[str, Any] = ws.metadata("r.csv")["schema"]
    assert (schema["columns"], schema["rows"], schema["inferred"]) == (["name", "pods"], 2, True)


@pytest.mark.parametrize("encoding", ["cp1252", "latin-1", "utf-8"])
def test_text_of_a_code_page_is_not_read_as_utf_16(ws: Workspace, encoding: str) -> None:
    """The peer tries UTF-16 before the code pages: text of an even length becomes CJK characters."""
    text = "Grüße aus Köln, Straße 12\n"
    assert len(text.encode("cp1252")) % 2 == 0
    ws.save("letter.txt", text.encode(encoding), media_type="text/plain")
    tools = {tool.__name__: tool for tool in kmnb.agent_tools(ws)}
    assert tools["load_artifact"]("letter.txt")["data"]["content"] == text
