"""The tools that a model calls: the peer's names and arguments, bounded answers, no exceptions."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Iterator
from typing import Any

import pytest

import kmnb
from kmnb.ops.workspace import Workspace

CSV = "name,pods\nkube-system,9\nscraper,15\n"


@pytest.fixture
def ws() -> Iterator[Workspace]:
    with kmnb.connect("memory://", config={"sweep_on_connect": False}) as workspace:
        workspace.save("report.csv", CSV, metadata={"description": "pods"})
        yield workspace


@pytest.fixture
def tools(ws: Workspace) -> dict[str, Any]:
    return {tool.__name__: tool for tool in kmnb.agent_tools(ws)}


def test_the_tools_are_plain_functions_with_documented_arguments(tools: dict[str, Any]) -> None:
    assert sorted(tools) == [
        "append_to_artifact",
        "apply_embed_and_create_artifact",
        "artifact_search_and_replace_regex",
        "delete_artifact",
        "list_artifacts",
        "load_artifact",
    ]
    for tool in tools.values():
        assert inspect.isfunction(tool)
        assert not inspect.iscoroutinefunction(tool)
        assert inspect.signature(tool).parameters.keys() <= tool.__annotations__.keys()
        assert not any(isinstance(hint, str) for hint in tool.__annotations__.values())
        assert all(name in (tool.__doc__ or "") for name in inspect.signature(tool).parameters)


def test_a_listing_has_versions_and_a_summary_of_the_latest(tools: dict[str, Any], ws: Workspace) -> None:
    ws.save("report.csv", CSV + "x,1\n", metadata={"description": "more"}, source="kubectl")
    ws.save("user:a.txt", "a")
    first, second = tools["list_artifacts"]()["data"]["artifacts"]
    assert (first["filename"], first["versions"]) == ("report.csv", [0, 1])
    assert first["metadata_summary"] == {
        "description": "more",
        "source": "kubectl",
        "type": "text/csv",
        "size": len(CSV) + 4,
        "schema_type": "text/csv",
        "schema_inferred": True,
    }
    assert second["filename"] == "user:a.txt"


def test_a_version_is_loaded_by_number_and_the_latest_without_one(tools: dict[str, Any], ws: Workspace) -> None:
    ws.save("report.csv", "new\n")
    load = tools["load_artifact"]
    assert load("report.csv", version=0)["data"]["content"] == CSV
    assert load("report.csv", None)["data"]["content"] == "new\n"
    assert load("report.csv:0", include_line_numbers=True)["data"]["content"].startswith("1\tname,pods\n2\t")
    assert "content" not in load("report.csv", 0, True)["data"]


def test_a_long_text_is_cut_and_a_binary_one_is_told_by_its_metadata(tools: dict[str, Any], ws: Workspace) -> None:
    ws.save("long.txt", "é" * 500_000)
    ws.save("dot.png", b"\x89PNG\r\n\x1a\n", media_type="image/png")
    load = tools["load_artifact"]
    for asked, given in ((None, 100_000), (10, 10), (10**9, 200_000)):
        answer = load("long.txt", max_content_length=asked)
        assert (answer["data"]["content"], answer["data"]["is_truncated"]) == ("é" * given, True)
    assert "content" not in load("dot.png")["data"]
    assert load("dot.png")["data"]["metadata"]["mime_type"] == "image/png"


def test_a_chunk_makes_a_new_version(tools: dict[str, Any], ws: Workspace) -> None:
    assert tools["append_to_artifact"]("report.csv", "x,1\n", "text/csv")["data"]["version"] == 1
    assert ws.load("report.csv").read(0, 100) == (CSV + "x,1\n").encode()
    tools["append_to_artifact"]("new.bin", "AAE=", "application/octet-stream")
    tools["append_to_artifact"]("new.bin", "no base64!", "application/octet-stream")
    assert ws.load("new.bin").read(0, 100) == b"\x00\x01no base64!"


def test_every_version_is_deleted_and_only_when_it_is_confirmed(tools: dict[str, Any], ws: Workspace) -> None:
    ws.save("report.csv", "x")
    delete = tools["delete_artifact"]
    assert (delete("report.csv")["status"], ws.versions("report.csv")) == ("partial", [0, 1])
    assert delete("report.csv", version=1, confirm_delete=True)["status"] == "error"
    assert delete("report.csv", confirm_delete=True)["data"]["version_count"] == 2
    assert ws.filenames() == []
    for name in ("..", "report.csv", ""):
        assert delete(name, confirm_delete=True)["status"] == "error"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"search_expression": "a", "replace_expression": "$1"}, "n$1me"),
        ({"search_expression": "(k)ube", "replace_expression": "$1$$", "is_regexp": True}, "k$-system"),
        ({"search_expression": "S", "replace_expression": "_", "is_regexp": True, "regexp_flags": "gi"}, "_craper"),
        ({"search_expression": "^s", "replace_expression": "", "is_regexp": True, "regexp_flags": "m"}, "\ncraper"),
        ({"replacements": [{"search": "name", "replace": "n"}, {"search": "pods", "replace": "p"}]}, "n,p\n"),
    ],
)
def test_matches_are_replaced_in_a_new_version_that_keeps_type_and_description(
    tools: dict[str, Any], ws: Workspace, arguments: dict[str, Any], expected: str
) -> None:
    answer = tools["artifact_search_and_replace_regex"]("report.csv", **arguments)
    assert (answer["status"], answer["data"]["version"]) == ("success", 1)
    assert expected in ws.load("report.csv").read(0, 1000).decode()
    assert ws.metadata("report.csv")["description"] == "pods"
    assert ws.load("report.csv").media_type == "text/csv"


def test_a_batch_is_all_or_nothing(tools: dict[str, Any], ws: Workspace) -> None:
    replace = tools["artifact_search_and_replace_regex"]
    name = {"search": "name", "replace": "n"}
    assert replace("report.csv", replacements=[name, {"search": "none", "replace": ""}])["status"] == "partial"
    many = {"search": "s", "replace": "", "is_regexp": True}
    assert replace("report.csv", replacements=[name, many])["status"] == "error"
    assert replace("report.csv", "(", "", is_regexp=True)["status"] == "error"
    assert replace("report.csv", "", "")["status"] == "error"
    assert ws.versions("report.csv") == [0]
    assert replace("report.csv", "name", "n", new_filename="other.csv")["data"]["filename"] == "other.csv"
    assert ws.versions("report.csv") == [0]


def test_an_embed_becomes_an_artifact(tools: dict[str, Any], ws: Workspace) -> None:
    create = tools["apply_embed_and_create_artifact"]
    answer = create("pods.json", "«artifact_content:report.csv >>> select_cols:pods >>> format:json»", {"by": "me"})
    assert answer["data"]["mime_type"] == "application/json"
    assert json.loads(ws.load("pods.json").read(0, 100)) == [{"pods": "9"}, {"pods": "15"}]
    assert ws.metadata("pods.json")["by"] == "me"
    for directive in ("plain", "«math:1»", "«artifact_content:none»", "«artifact_content:report.csv» and more"):
        assert create("x.txt", directive)["status"] == "error"
    assert create("../../x.txt", "«artifact_content:report.csv»")["status"] == "error"
    assert ws.filenames() == ["pods.json", "report.csv"]


def test_wrong_arguments_are_answers_and_no_exceptions(tools: dict[str, Any]) -> None:
    for name, arguments in (
        ("load_artifact", {}),
        ("load_artifact", {"filename": 5}),
        ("load_artifact", {"filename": "report.csv", "version": "x"}),
        ("load_artifact", {"filename": "report.csv", "other": 1}),
        ("append_to_artifact", {"filename": "a", "content_chunk": None, "mime_type": "text/plain"}),
        ("artifact_search_and_replace_regex", {"filename": "report.csv", "replacements": ["x"]}),
    ):
        answer = tools[name](**arguments)
        assert (answer["status"], bool(answer["message"])) == ("error", True)


def test_the_coroutine_twins_run_on_any_loop(ws: Workspace) -> None:
    tools = {tool.__name__: tool for tool in kmnb.agent_tools_async(ws)}
    assert all(inspect.iscoroutinefunction(tool) for tool in tools.values())
    assert asyncio.run(tools["load_artifact"]("report.csv"))["data"]["content"] == CSV
