"""``name@3``, ``name@latest`` and ``name@label`` mean the same version at every door."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import kmnb
from kmnb.errors import ArtifactNotFound, BadRequest
from kmnb.frontends.cli import main
from kmnb.ops.workspace import Workspace

NAMES = {"app": "shop", "user": "ann", "session": "s1"}
PINS = {"r.csv": 2, "r.csv@latest": 2, "r.csv@0": 0, "r.csv@approved": 1, "user:r.csv@approved": 0}
TEXT = ["zero", "one", "two"]


@pytest.fixture
def ws(store_url: str) -> Iterator[Workspace]:
    with kmnb.connect(store_url, config={"sweep_on_connect": False}, **NAMES) as workspace:
        for text in TEXT:
            workspace.save("r.csv", f"{text}\n")
        workspace.save("user:r.csv", "zero\n")
        workspace.label("r.csv", "approved", version=1)
        workspace.label("user:r.csv", "approved")
        yield workspace


def by_load(ws: Workspace, name: str) -> str:
    return ws.load(name).head(1).values[0]


def by_uri(ws: Workspace, name: str) -> str:
    scope = "" if name.startswith("user:") else "/sessions/s1"
    bare = name.removeprefix("user:")
    art = ws.get(f"artifact://apps/shop/users/ann{scope}/artifacts/{bare}")
    assert ws.get(f"artifact://apps/shop/users/ann{scope}/artifacts/{bare.replace('@', '%40')}").uri == art.uri
    assert ws.get(f"artifact://shop/ann/s1/{name}").uri == art.uri
    return art.head(1).values[0]


def by_embed(ws: Workspace, name: str) -> str:
    return str(ws.resolve(f"«artifact_content:{name} >>> head:1»")).strip()


def by_tool(ws: Workspace, name: str) -> str:
    tools = {tool.__name__: tool for tool in kmnb.agent_tools(ws)}
    return str(tools["load_artifact"](name)["data"]["content"]).strip()


def by_kit(ws: Workspace, name: str) -> str:
    from kmnb.integrations.adk import ArtifactService

    who = {"app_name": "shop", "user_id": "ann", "session_id": "s1", "filename": name}
    service = ArtifactService(ws)
    part = asyncio.run(service.load_artifact(**who))
    told = asyncio.run(service.get_artifact_version(**who))
    assert part is not None
    assert told is not None
    assert told.version == PINS[name]
    assert ws.get(told.canonical_uri).version == PINS[name]
    return part.inline_data.data.decode().strip()


def by_fsspec(ws: Workspace, name: str) -> str:
    import fsspec

    with fsspec.open(f"artifact://{name}", "rt", url=ws.url, **NAMES) as file:
        return str(file.read()).strip()


def by_project(ws: Workspace, name: str) -> str:
    found = ws.project(name, "embed")
    assert found is not None
    return str(found["text"]).strip()


DOORS = [by_load, by_uri, by_embed, by_tool, by_kit, by_fsspec, by_project]


@pytest.mark.parametrize("name", PINS)
@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)
def test_a_pin_means_the_same_version_everywhere(ws: Workspace, door: Callable[..., str], name: str) -> None:
    assert door(ws, name) == TEXT[PINS[name]]


@pytest.mark.parametrize("name", PINS)
def test_a_pin_means_the_same_version_in_facts_and_copies(ws: Workspace, name: str) -> None:
    assert ws.metadata(name)["version"] == PINS[name]
    assert ws.copy(name, "copied").head(1).values == [TEXT[PINS[name]]]
    companion = f"{name.partition('@')[0]}.metadata.json"
    assert ws.get(ws.load(companion, version=0).uri).version == 0


@pytest.mark.parametrize("name", PINS)
def test_a_pin_means_the_same_version_on_the_command_line(
    ws: Workspace, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    places = [word for key, value in NAMES.items() for word in (f"--{key}", value)]
    assert main([*places, "--json", "load", name]) == 0
    assert f'/artifacts/r.csv/versions/{PINS[name]}"' in capsys.readouterr().out


@pytest.mark.parametrize("name", PINS)
def test_a_pin_means_the_same_version_in_a_magic(shell: Any, ws: Workspace, name: str) -> None:
    shell.user_ns["ws"] = ws
    shell.run_line_magic("artifact", f"connect {ws.url} --app shop --user ann --session s1")
    assert shell.run_line_magic("artifact", f"load {name}").head(1).values == [TEXT[PINS[name]]]


def test_an_edit_of_a_pinned_version_is_the_next_version_of_the_name(ws: Workspace) -> None:
    tools = {tool.__name__: tool for tool in kmnb.agent_tools(ws)}
    edited = tools["artifact_search_and_replace_regex"]("r.csv@approved", "one", "eins")
    assert (edited["data"]["filename"], edited["data"]["version"]) == ("r.csv", 3)
    assert ws.load("r.csv").head(1).values == ["eins"]


def test_a_pin_that_is_not_there_is_not_found_and_two_that_differ_are_refused(ws: Workspace) -> None:
    from google.adk.errors.input_validation_error import InputValidationError

    from kmnb.integrations.adk import ArtifactService

    who = {"app_name": "shop", "user_id": "ann", "session_id": "s1"}
    service = ArtifactService(ws)
    for name in ("r.csv@9", "r.csv@never", "none@0"):
        with pytest.raises(ArtifactNotFound):
            ws.load(name)
        with pytest.raises(ArtifactNotFound):
            ws.get(f"artifact://apps/shop/users/ann/sessions/s1/artifacts/{name}")
        assert asyncio.run(service.load_artifact(**who, filename=name)) is None
        assert ws.resolve(f"«artifact_content:{name}»").problems
    with pytest.raises(BadRequest, match="pins version 0"):
        ws.load("r.csv@0", version=1)
    with pytest.raises(InputValidationError, match="pins version 0"):
        asyncio.run(service.load_artifact(**who, filename="r.csv@0", version=1))


def test_a_name_with_an_at_sign_wins_over_a_pin(ws: Workspace) -> None:
    ws.save("r.csv@0", "itself\n")
    assert {door(ws, "r.csv@0") for door in (by_load, by_uri, by_embed, by_tool, by_project)} == {"itself"}


def test_a_name_that_reads_as_a_label_is_not_made(ws: Workspace) -> None:
    for call in (
        lambda: ws.save("r.csv@approved", "itself\n"),
        lambda: ws.save("r.csv@approved", "itself\n", expected_version=0),
        lambda: ws.append("user:r.csv@approved", "itself\n"),
        lambda: ws.load("r.csv").keep("r.csv@approved"),
    ):
        with pytest.raises(BadRequest, match="has this label"):
            call()
    assert {by_load(ws, "r.csv@approved"), by_load(ws, "user:r.csv@approved")} == {"one", "zero"}
    ws.save("r.csv@draft", "itself\n")
    ws.label("r.csv", "draft")
    assert ws.save("r.csv@draft", "again\n").version == 1


@pytest.mark.parametrize("pin", ["0", "latest", "approved"])
def test_what_removes_every_version_refuses_a_pin(ws: Workspace, pin: str, capsys: pytest.CaptureFixture[str]) -> None:
    places = [word for key, value in NAMES.items() for word in (f"--{key}", value)]
    assert main([*places, "forget", f"r.csv@{pin}"]) != 0
    assert "removes every version" in capsys.readouterr().err
    assert ws.versions("r.csv") == [0, 1, 2]
    from google.adk.errors.input_validation_error import InputValidationError

    from kmnb.integrations.adk import ArtifactService

    who = {"app_name": "shop", "user_id": "ann", "session_id": "s1", "filename": f"r.csv@{pin}"}
    with pytest.raises(InputValidationError, match="removes every version"):
        asyncio.run(ArtifactService(ws).delete_artifact(**who))
    assert main([*places, "forget", "none.csv"]) == 0
    assert "nothing was removed" in capsys.readouterr().out
    assert main([*places, "forget", "r.csv"]) == 0
    assert ws.versions("r.csv") == []
