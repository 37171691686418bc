"""Real input: every case of the corpus on every store. The expected answers were computed with other tools."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import kmnb
from kmnb.ops.handle import Artifact
from kmnb.ops.workspace import Workspace
from tests.corpus.answers import CHECKS, NOT_YET, OWN_RULES, REFUSED

HERE = Path(__file__).parent
CASES: list[dict[str, Any]] = json.loads((HERE / "cases.json").read_text("utf-8"))["cases"]


@pytest.fixture(scope="module", params=["memory", "file", "nats"])
def workspace(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    """A workspace on a store of its own."""
    folder = tmp_path_factory.mktemp("corpus")
    url = {"memory": "memory://", "file": f"file://{folder}", "nats": f"nats+embedded://{folder}"}[request.param]
    ws = kmnb.connect(url, thread="corpus", agent="test", config={"sweep_on_connect": False})
    yield ws
    ws.close()


@pytest.fixture(scope="module")
def stored(workspace: Workspace) -> dict[str, Artifact]:
    """Handles of the files that were stored so far."""
    return {}


@pytest.mark.parametrize("case", CASES, ids=[f"{case['id']}-{case['op']}" for case in CASES])
def test_a_case_has_the_answer_of_other_tools(
    workspace: Workspace, stored: dict[str, Artifact], case: dict[str, Any]
) -> None:
    name = case["file"]
    if name not in stored:
        stored[name] = workspace.put(HERE / name, tool="corpus")
    if case["op"] in NOT_YET:
        assert case["op"] not in CHECKS
        return
    if case["tool"].startswith("open case"):
        # Any clear outcome is right; a crash or a foreign error is not.
        try:
            answer = stored[name].jmespath(case["args"]["expr"])
        except REFUSED:
            return
        assert json.loads(answer.text.splitlines()[0], parse_constant=pytest.fail) == answer.values[0]
        return
    expected, _ = OWN_RULES.get(case["id"], (case["expected"], ""))
    CHECKS[case["op"]](stored[name], case["args"], expected)


def test_every_operation_is_checked_or_named_as_missing() -> None:
    operations = {case["op"] for case in CASES}
    assert operations == set(CHECKS) | set(NOT_YET)
    assert not set(CHECKS) & set(NOT_YET)


def test_the_files_are_those_that_were_recorded() -> None:
    lines = (HERE / "SHA256SUMS").read_text("utf-8").splitlines()
    for line in lines:
        digest, name = line.split(maxsplit=1)
        assert hashlib.sha256((HERE / name.lstrip("*")).read_bytes()).hexdigest() == digest
    assert len(lines) >= 69
