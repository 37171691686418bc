"""The example of an agent loop: exactly what the model and the reader received, in every handling mode."""

from __future__ import annotations

import asyncio
import runpy
from typing import Any

import pytest

import kmnb
from tests.children import python
from tests.source import ROOT

EXAMPLE = ROOT / "notebooks" / "agent_loop.py"
ASKED = {"role": "user", "parts": [{"text": "How many pods has each namespace?"}]}
CONTENT = "namespace,pods\nkube-system,9\nscraper,15\n"
REFERENCE = {
    "type": "artifact_reference",
    "name": "pods.csv",
    "version": 0,
    "mime_type": "text/csv",
    "size_bytes": 40,
    "schema": {"columns": [{"name": "namespace", "type": "text"}, {"name": "pods", "type": "integer"}], "rows": 2},
}
EMBEDDED = {"type": "text", "name": "pods.csv", "version": 0, "mime_type": "text/csv", "text": CONTENT}
LISTED = {
    "filename": "pods.csv",
    "versions": [0],
    "metadata_summary": {
        "description": None,
        "source": None,
        "type": "text/csv",
        "size": 40,
        "schema_type": "text/csv",
        "schema_inferred": True,
    },
}
SCHEMA = {
    "type": "text/csv",
    "inferred": True,
    "error": None,
    "columns": ["namespace", "pods"],
    "fields": [
        {"name": "namespace", "type": "text", "nullable": False},
        {"name": "pods", "type": "integer", "nullable": False},
    ],
    "rows": 2,
}
METADATA = {
    "filename": "pods.csv",
    "mime_type": "text/csv",
    "size_bytes": 40,
    "version": 0,
    "digest": "sha256:6a072b468f589da55c686f99cdd4d51674db2174f513f0c4772f2f043093bf31",
    "schema": SCHEMA,
}


def asked(name: str, **arguments: Any) -> dict[str, Any]:
    call = {"id": f"call-{name}", "args": arguments, "name": name}
    return {"role": "model", "parts": [{"function_call": call}]}


def answered(name: str, response: dict[str, Any]) -> dict[str, Any]:
    told = {"id": f"call-{name}", "name": name, "response": response}
    return {"role": "user", "parts": [{"function_response": told}]}


PRODUCED = {
    "ignore": {"status": "success"},
    "reference": {"status": "success", "artifact": REFERENCE},
    "embed": {"status": "success", "artifact": EMBEDDED},
}
FOUND = [
    asked("list_artifacts"),
    answered("list_artifacts", {"status": "success", "message": "1 artifacts.", "data": {"artifacts": [LISTED]}}),
]
LOADED = [
    asked("load_artifact", filename="pods.csv", version=0),
    answered(
        "load_artifact",
        {
            "status": "success",
            "message": "The whole content.",
            "data": {
                "filename": "pods.csv",
                "version": 0,
                "metadata": METADATA,
                "content": CONTENT,
                "is_truncated": False,
            },
        },
    ),
]
LATER = {"ignore": [*FOUND, *LOADED], "reference": LOADED, "embed": []}


@pytest.fixture(scope="module")
def example() -> dict[str, Any]:
    return runpy.run_path(str(EXAMPLE), run_name="agent_loop")


def untimed(history: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Take the time of the save away, the only thing that changes from run to run."""
    for content in history:
        for part in content["parts"]:
            data = part.get("function_response", {}).get("response", {}).get("data", {})
            assert isinstance(data.get("metadata", {"timestamp_utc": 0.0}).pop("timestamp_utc"), float)
    return history


@pytest.mark.parametrize("mode", ["ignore", "reference", "embed"])
def test_model_and_reader_get_exactly_what_the_mode_says(example: dict[str, Any], mode: str) -> None:
    played = asyncio.run(example["play"](mode))
    whole = [ASKED, asked("get_pods"), answered("get_pods", PRODUCED[mode]), *LATER[mode]]
    # Every turn of the model sees the same beginning, byte for byte, and one answer more.
    assert [untimed(history) for history in played.model_got] == [
        whole[:count] for count in range(1, len(whole) + 1, 2)
    ]
    assert played.reader_got == [
        "Pods by names",
        "pace: ",
        '[{"namespace":"kube-system","pods":"9"},{"namespace":"scraper","pods":"15"}]. Done.',
    ]


def test_what_the_agent_saved_is_there_for_people(example: dict[str, Any]) -> None:
    asyncio.run(example["play"]("ignore", "memory://agent-loop"))
    with kmnb.connect("memory://agent-loop", **example["WHO"]) as ws:
        assert ws.filenames() == ["pods.csv"]
        assert ws.load("pods.csv").select(["pods"]).values == [{"pods": "9"}, {"pods": "15"}]


def test_the_example_runs_by_itself() -> None:
    answer = python("-W", "default", str(EXAMPLE))
    assert answer.code == 0, answer
    assert answer.out.count("reader Pods by namespace: [{") == 3
