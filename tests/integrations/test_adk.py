"""The artifact service of the Agent Development Kit, against the kit itself."""

from __future__ import annotations

import asyncio
import inspect
import itertools
from collections.abc import Iterator
from typing import Any

import pytest
from google.adk.artifacts import BaseArtifactService, InMemoryArtifactService, base_artifact_service
from google.adk.errors.input_validation_error import InputValidationError
from google.genai import types

import kmnb
from kmnb.integrations.adk import SCHEMES, ArtifactService, register
from tests.children import python

_numbers = itertools.count()
WHO = {"app_name": "app", "user_id": "ann", "session_id": "s1"}
METHODS = sorted(BaseArtifactService.__abstractmethods__)


@pytest.fixture(params=["memory", "file"])
def url(request: pytest.FixtureRequest, tmp_path: Any) -> str:
    return f"memory://adk-{next(_numbers)}" if request.param == "memory" else f"file://{tmp_path}/store"


@pytest.fixture
def service(url: str) -> Iterator[ArtifactService]:
    made = ArtifactService(url, config={"sweep_on_connect": False})
    yield made
    made.workspace.close()


def run(coroutine: Any) -> Any:
    return asyncio.run(coroutine)


def save(service: Any, name: str, part: Any, **more: Any) -> int:
    return run(service.save_artifact(**{**WHO, "filename": name, "artifact": part, **more}))


def load(service: Any, name: str, **more: Any) -> Any:
    return run(service.load_artifact(**{**WHO, "filename": name, **more}))


def blob(data: bytes, mime_type: str = "text/csv", **more: Any) -> types.Part:
    return types.Part(inline_data=types.Blob(data=data, mime_type=mime_type, **more))


def reference(name: str, version: int = 0, *, app: str = "app", user: str = "ann", session: str = "s1") -> types.Part:
    uri = f"artifact://apps/{app}/users/{user}/sessions/{session}/artifacts/{name}/versions/{version}"
    return types.Part(file_data=types.FileData(file_uri=uri))


@pytest.mark.parametrize("name", METHODS)
def test_every_method_of_the_kit_is_there_with_its_signature(name: str) -> None:
    theirs, ours = (inspect.signature(getattr(kind, name)) for kind in (BaseArtifactService, ArtifactService))
    assert [(p.name, p.kind, p.default) for p in theirs.parameters.values()] == [
        (p.name, p.kind, p.default) for p in ours.parameters.values()
    ]


def test_the_kit_takes_it_for_an_artifact_service(service: ArtifactService) -> None:
    assert isinstance(service, BaseArtifactService)


def test_versions_count_from_zero_and_the_latest_is_the_default(service: ArtifactService) -> None:
    assert [save(service, "r.csv", blob(b"a")), save(service, "r.csv", blob(b"b"))] == [0, 1]
    assert load(service, "r.csv") == blob(b"b")
    assert load(service, "r.csv", version=0) == blob(b"a")
    assert run(service.list_versions(**WHO, filename="r.csv")) == [0, 1]


def test_what_is_not_there_is_none_or_empty(service: ArtifactService) -> None:
    assert load(service, "no.csv") is None
    save(service, "r.csv", blob(b"a"))
    for version in (1, -1):
        assert load(service, "r.csv", version=version) is None
        assert run(service.get_artifact_version(**WHO, filename="r.csv", version=version)) is None
    assert run(service.list_versions(**WHO, filename="no.csv")) == []
    assert run(service.list_artifact_versions(**WHO, filename="no.csv")) == []
    assert run(service.list_artifact_keys(app_name="app", user_id="bob", session_id="s1")) == []
    run(service.delete_artifact(**WHO, filename="no.csv"))


@pytest.mark.parametrize(
    "part",
    [
        blob(b"\x00\xff", "image/png", display_name="Bild ä.png"),
        blob(b"", "text/plain"),
        blob(b"", "application/octet-stream", display_name="empty"),
        types.Part(text="grüße\n"),
        types.Part(text=""),
        types.Part(text="so", thought=True, thought_signature=b"\xff\x01"),
        types.Part(file_data=types.FileData(file_uri="gs://b/k", mime_type="video/mp4", display_name="clip")),
    ],
    ids=["blob", "empty blob", "empty named blob", "text", "empty text", "thought", "file"],
)
def test_a_part_comes_back_as_it_was_and_as_in_memory(service: ArtifactService, part: types.Part) -> None:
    theirs = InMemoryArtifactService()
    for each in (service, theirs):
        save(each, "x", part)
    assert load(service, "x") == load(theirs, "x") == part
    versions = [run(each.get_artifact_version(**WHO, filename="x")).mime_type for each in (service, theirs)]
    assert versions[0] == versions[1]


def test_a_dict_is_taken_for_a_part(service: ArtifactService) -> None:
    save(service, "x", {"inlineData": {"mimeType": "text/plain", "data": "aGk="}})
    assert load(service, "x") == blob(b"hi", "text/plain")


def test_a_part_is_copied_both_ways(service: ArtifactService) -> None:
    part, about = blob(b"a"), {"list": [1]}
    save(service, "x", part, custom_metadata=about)
    part.inline_data.data = b"changed"  # type: ignore[union-attr]
    about["list"].append(2)
    load(service, "x").inline_data.data = b"changed"
    assert load(service, "x") == blob(b"a")
    assert run(service.get_artifact_version(**WHO, filename="x")).custom_metadata == {"list": [1]}


def test_what_a_rewind_left_loads_as_absent(service: ArtifactService) -> None:
    save(service, "x", blob(b"a"))
    save(service, "x", blob(b"", "application/octet-stream"))
    assert load(service, "x") is None
    assert load(service, "x", version=0) == blob(b"a")


def test_a_part_without_content_is_refused(service: ArtifactService) -> None:
    with pytest.raises(InputValidationError, match="Not supported artifact type"):
        save(service, "x", types.Part())


def test_user_names_are_seen_from_every_session_of_the_user_alone(service: ArtifactService) -> None:
    save(service, "user:me.json", blob(b"1"), session_id=None)
    save(service, "b/c.csv", blob(b"2"))
    assert load(service, "user:me.json", session_id="other") == blob(b"1")
    assert load(service, "user:me.json", user_id="bob") is None
    keys = service.list_artifact_keys
    assert run(keys(**WHO)) == ["b/c.csv", "user:me.json"]
    assert run(keys(app_name="app", user_id="ann")) == ["user:me.json"]
    assert run(keys(app_name="app2", user_id="ann", session_id="s1")) == []


def test_a_bare_name_needs_a_session(service: ArtifactService) -> None:
    for call in (
        lambda: save(service, "x", blob(b"a"), session_id=None),
        lambda: load(service, "x", session_id=None),
    ):
        with pytest.raises(InputValidationError, match="Session ID must be provided"):
            call()


@pytest.mark.parametrize("field", ["app_name", "user_id", "session_id"])
@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("", "must not be empty"),
        ("  ", "must not be empty"),
        ("a\0b", "must not contain null bytes"),
        ("/etc", "must not be an absolute path or start with a slash"),
        ("\\x", "must not be an absolute path or start with a slash"),
        ("C:x", "must not be drive-qualified"),
        ("..", "must not contain traversal segments"),
        ("a/../b", "must not contain traversal segments"),
        ("a/Sessions/b", "must not contain reserved path segments"),
    ],
)
def test_names_that_leave_their_place_are_refused_in_the_words_of_the_kit(
    service: ArtifactService, field: str, value: str, text: str
) -> None:
    with pytest.raises(InputValidationError, match=f"{field}.*{text}"):
        save(service, "x", blob(b"a"), **{field: value})
    with pytest.raises(InputValidationError, match=f"{field}.*{text}"):
        run(service.list_artifact_keys(**{**WHO, field: value}))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("", "must not be empty"),
        ("user:", "must not be empty"),
        ("../x", "traversal segments"),
        ("a\0", "null bytes"),
        ("/x", "absolute path"),
        ("\udc80", "surrogate"),
    ],
)
def test_file_names_that_leave_their_place_are_refused(service: ArtifactService, name: str, text: str) -> None:
    with pytest.raises(InputValidationError, match=text):
        save(service, name, blob(b"a"))


def test_a_session_called_user_is_refused_on_save(service: ArtifactService) -> None:
    for session in ("user", "user/x"):
        with pytest.raises(InputValidationError, match="reserved value 'user'"):
            save(service, "x", blob(b"a"), session_id=session)
    assert load(service, "x", session_id="user") is None
    assert save(service, "x", blob(b"a"), session_id="users") == 0


def test_identifiers_with_slashes_and_long_ones_stay_apart(service: ArtifactService) -> None:
    save(service, "a/b.txt", blob(b"1"), user_id="group/u", session_id="s")
    save(service, "b.txt", blob(b"2"), user_id="group", session_id="u/s/a")
    save(service, "n" * 1000, blob(b"3"), user_id="u" * 1000)
    assert load(service, "a/b.txt", user_id="group/u", session_id="s") == blob(b"1")
    assert run(service.list_artifact_keys(app_name="app", user_id="group/u", session_id="s")) == ["a/b.txt"]
    assert load(service, "n" * 1000, user_id="u" * 1000) == blob(b"3")
    assert run(service.list_artifact_keys(app_name="app", user_id="u" * 1000, session_id="s1")) == ["n" * 1000]


def test_a_reference_is_followed_in_its_scope(service: ArtifactService) -> None:
    save(service, "a b%20.txt", blob(b"1"))
    save(service, "ref", reference("a b%20.txt"))
    assert load(service, "ref") == blob(b"1")
    save(service, "user:u.txt", types.Part(text="mine"))
    for name in ("user:u.txt", "u.txt"):
        uri = f"artifact://apps/app/users/ann/artifacts/{name}/versions/0"
        save(service, "ref", types.Part(file_data=types.FileData(file_uri=uri)))
        assert load(service, "ref") == types.Part(text="mine")
    assert run(service.get_artifact_version(**WHO, filename="ref")).mime_type is None


def test_the_uri_of_a_handle_is_a_reference_too(service: ArtifactService) -> None:
    save(service, "a ü.txt", blob(b"1"))
    ws = kmnb.connect(service.workspace.url, app="app", user="ann", session="s1", config={"sweep_on_connect": False})
    with ws:
        save(service, "ref", types.Part(file_data=types.FileData(file_uri=ws.load("a ü.txt").uri)))
    assert load(service, "ref") == blob(b"1")


def test_a_reference_that_leaves_its_scope_is_refused(service: ArtifactService) -> None:
    for part in (reference("x", app="app2"), reference("x", user="bob")):
        with pytest.raises(InputValidationError, match="same app and user scope"):
            save(service, "ref", part)
    with pytest.raises(InputValidationError, match="same session scope"):
        save(service, "ref", reference("x", session="s2"))
    with pytest.raises(InputValidationError, match="Invalid artifact reference URI"):
        save(service, "ref", types.Part(file_data=types.FileData(file_uri="artifact://x")))
    assert load(service, "ref") is None


def test_references_are_followed_five_times(service: ArtifactService) -> None:
    save(service, "r0", blob(b"end"))
    for number in range(1, 7):
        save(service, f"r{number}", reference(f"r{number - 1}"))
    assert load(service, "r5") == blob(b"end")
    for name in ("r6", "loop"):
        save(service, "loop", reference("loop"))
        with pytest.raises(InputValidationError, match="Exceeded maximum recursion depth"):
            load(service, name)


def test_facts_of_versions(service: ArtifactService, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base_artifact_service.platform_time, "get_time", lambda: 12345.5)
    save(service, "d/r.csv", blob(b"a"), custom_metadata={"by": "me"})
    save(service, "d/r.csv", types.Part(text="x"))
    first, second = run(service.list_artifact_versions(**WHO, filename="d/r.csv"))
    assert (first.version, first.custom_metadata, first.mime_type, first.create_time) == (
        0,
        {"by": "me"},
        "text/csv",
        12345.5,
    )
    assert (second.version, second.custom_metadata, second.mime_type) == (1, {}, "text/plain")
    start = "memory" if service.workspace.url.startswith("memory") else "artifact"
    assert first.canonical_uri == f"{start}://apps/app/users/ann/sessions/s1/artifacts/d/r.csv/versions/0"
    assert run(service.get_artifact_version(**WHO, filename="d/r.csv")) == second


def test_a_number_is_not_given_out_again_after_a_deletion(service: ArtifactService) -> None:
    save(service, "x", blob(b"a"))
    save(service, "x", blob(b"b"))
    run(service.delete_artifact(**WHO, filename="x"))
    assert load(service, "x") is None
    assert run(service.list_artifact_keys(**WHO)) == []
    assert save(service, "x", blob(b"c")) == 2


def test_concurrent_saves_lose_nothing(service: ArtifactService) -> None:
    async def all_at_once() -> list[int]:
        parts = [blob(str(n).encode()) for n in range(20)]
        return await asyncio.gather(*(service.save_artifact(**WHO, filename="x", artifact=part) for part in parts))

    numbers = run(all_at_once())
    assert sorted(numbers) == list(range(20))
    assert [load(service, "x", version=number) for number in numbers] == [blob(str(n).encode()) for n in range(20)]


def test_agents_and_workspaces_see_the_same_artifacts(service: ArtifactService) -> None:
    save(service, "r.csv", blob(b"a,b\n1,2\n"), custom_metadata={"description": "d"})
    names = {"app": "app", "user": "ann", "session": "s1"}
    with kmnb.connect(service.workspace.url, **names, config={"sweep_on_connect": False}) as ws:
        assert ws.load("r.csv").count().values == [1]
        assert ws.metadata("r.csv")["description"] == "d"
        ws.save("mine.json", {"a": 1})
    assert load(service, "mine.json") == blob(b'{"a": 1}', "application/json")
    assert load(service, "r.csv.metadata.json").inline_data.mime_type == "application/json"


def test_a_namespace_takes_the_place_of_the_application(service: ArtifactService) -> None:
    shared = ArtifactService(service.workspace, namespace="team/one")
    save(shared, "x", blob(b"a"))
    assert load(shared, "x", app_name="other") == blob(b"a")
    assert load(service, "x") is None


def test_metadata_that_is_no_json_is_refused(service: ArtifactService) -> None:
    with pytest.raises(InputValidationError, match="metadata"):
        save(service, "x", blob(b"a"), custom_metadata={"a": object()})


def test_the_command_line_of_the_kit_knows_the_schemes() -> None:
    from google.adk.cli.service_registry import get_service_registry

    register()
    made = get_service_registry().create_artifact_service("kmnb+memory://adk-cli", agents_dir=".")
    assert isinstance(made, ArtifactService)
    assert "kmnb+s3" in SCHEMES
    made.workspace.close()


WITHOUT = """
import sys
sys.modules["google.adk"] = sys.modules["google.adk.artifacts"] = None
from kmnb.integrations.adk import ArtifactService
try:
    ArtifactService("memory://")
except Exception as error:
    print(type(error).__name__, error)
"""


def test_without_the_kit_the_error_names_the_extra() -> None:
    answer = python("-c", WITHOUT)
    assert "NotSupported" in answer.out
    assert "kmnb[adk]" in answer.out
