"""A folder of the Agent Development Kit: its own service and kmnb read, write and number the same versions."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from google.adk.artifacts import FileArtifactService
from google.genai import types

import kmnb
from kmnb.errors import ArtifactNotFound, BadRequest, KeySyntaxError
from kmnb.integrations.adk import ArtifactService
from kmnb.ops.migrate import migrate_stores
from kmnb.ops.workspace import Workspace

WHO = {"app_name": "shop", "user_id": "ann", "session_id": "s1"}
SCOPE = "apps/shop/users/ann/sessions/s1/artifacts"


def run(coroutine: Any) -> Any:
    return asyncio.run(coroutine)


def content(art: Any) -> bytes:
    return art.read(0, art.size or 0)


def blob(data: bytes, mime: str = "text/csv", **more: Any) -> types.Part:
    return types.Part(inline_data=types.Blob(data=data, mime_type=mime, **more))


def save(service: Any, name: str, part: Any, **more: Any) -> int:
    return run(service.save_artifact(**{**WHO, "filename": name, "artifact": part, **more}))


def load(service: Any, name: str, **more: Any) -> Any:
    return run(service.load_artifact(**{**WHO, "filename": name, **more}))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "kit"


@pytest.fixture
def kit(root: Path) -> FileArtifactService:
    return FileArtifactService(root)


@pytest.fixture
def connect(root: Path) -> Iterator[Callable[..., Workspace]]:
    opened: list[Workspace] = []

    def open_one(**names: Any) -> Workspace:
        given = {"app": "shop", "user": "ann", "session": "s1", **names}
        opened.append(kmnb.connect(f"file://{root}", layout="adk", config={"sweep_on_connect": False}, **given))
        return opened[-1]

    yield open_one
    for workspace in opened:
        workspace.close()


@pytest.fixture
def ws(connect: Callable[..., Workspace]) -> Workspace:
    return connect()


def test_the_kits_versions_are_those_of_the_workspace(kit: FileArtifactService, ws: Workspace) -> None:
    save(kit, "dir/r.csv", blob(b"a\n1\n"), custom_metadata={"by": "kit"})
    save(kit, "dir/r.csv", blob(b"a\n2\n", display_name="Report ä"))
    save(kit, "user:note", types.Part(text="grüße"))
    assert ws.filenames() == run(kit.list_artifact_keys(**WHO)) == ["dir/r.csv", "user:note"]
    assert ws.versions("dir/r.csv") == [0, 1]
    assert content(ws.load("dir/r.csv", version=0)) == b"a\n1\n"
    assert ws.metadata("dir/r.csv", version=0)["by"] == "kit"
    assert (ws.load("user:note").media_type, content(ws.load("user:note")).decode()) == ("text/plain", "grüße")


def test_the_kit_reads_what_the_workspace_saves(kit: FileArtifactService, root: Path, ws: Workspace) -> None:
    ws.save("r.csv", "a\n1\n", metadata={"by": "kmnb"})
    ws.append("r.csv", "2\n")
    ws.save("user:dir/p.json", {"k": 1})
    assert run(kit.list_artifact_keys(**WHO)) == ["r.csv", "user:dir/p.json"]
    assert run(kit.list_versions(**WHO, filename="r.csv")) == [0, 1]
    assert load(kit, "r.csv") == blob(b"a\n1\n2\n")
    assert load(kit, "user:dir/p.json") == blob(b'{"k": 1}', "application/json")
    told = run(kit.get_artifact_version(**WHO, filename="r.csv", version=0))
    assert (told.mime_type, told.custom_metadata) == ("text/csv", {"by": "kmnb"})
    document = json.loads((root / SCOPE / "r.csv/versions/1/metadata.json").read_text())
    keys = {"fileName", "mimeType", "canonicalUri", "version", "createTime", "customMetadata", "displayName"}
    assert keys < document.keys()
    assert document["canonicalUri"] == (root / SCOPE / "r.csv/versions/1/r.csv").as_uri()


@pytest.mark.parametrize(
    "part",
    [blob(b"\x00\xff", "image/png", display_name="Bild"), blob(b"", "text/plain"), types.Part(text="so\n")],
    ids=["blob", "empty", "text"],
)
def test_both_services_over_one_folder_give_the_same_part(root: Path, kit: FileArtifactService, part: Any) -> None:
    ours = ArtifactService(f"file://{root}", layout="adk", config={"sweep_on_connect": False})
    for writer, name in ((ours, "ours"), (kit, "theirs")):
        save(writer, name, part, custom_metadata={"n": 1})
    for name in ("ours", "theirs"):
        assert load(ours, name) == load(kit, name) == part
        told = [run(each.get_artifact_version(**WHO, filename=name)) for each in (ours, kit)]
        assert told[0].custom_metadata == told[1].custom_metadata == {"n": 1}
        if part.inline_data is not None:
            assert told[0].mime_type == told[1].mime_type == part.inline_data.mime_type
    assert run(ours.list_artifact_keys(**WHO)) == run(kit.list_artifact_keys(**WHO)) == ["ours", "theirs"]
    ours.workspace.close()


def test_racing_saves_of_both_give_each_a_number_of_its_own(kit: FileArtifactService, ws: Workspace) -> None:
    def work(number: int) -> int:
        if number % 2:
            return save(kit, "x", blob(b"%d" % number))
        return ws.save("x", b"%d" % number).version or 0

    with ThreadPoolExecutor(8) as pool:
        versions = list(pool.map(work, range(24)))
    assert len(set(versions)) == 24
    assert [content(ws.load("x", version=version)) for version in versions] == [b"%d" % n for n in range(24)]
    assert run(kit.list_versions(**WHO, filename="x")) == sorted(versions)


def test_a_removal_is_seen_by_the_kit_and_the_number_is_not_used_again(
    kit: FileArtifactService, ws: Workspace, connect: Callable[..., Workspace]
) -> None:
    for number in range(3):
        save(kit, "doc", blob(b"%d" % number))
    save(kit, "doc/nested", blob(b"n"))
    ws.delete(ws.load("doc", version=1))
    assert run(kit.list_versions(**WHO, filename="doc")) == [0, 2]
    ws.remove("doc")
    assert load(kit, "doc") is None
    assert load(kit, "doc/nested") == blob(b"n")
    assert connect().save("doc", "again").version == 3


def test_a_save_that_the_kit_never_finished_keeps_its_number(
    kit: FileArtifactService, root: Path, ws: Workspace
) -> None:
    save(kit, "x", blob(b"0"))
    (root / SCOPE / "x/versions/.1.pending").mkdir()
    assert ws.save("x", "2").version == 2
    assert ws.versions("x") == [0, 2]


@pytest.mark.parametrize(
    "name", ["a\\b", "x/versions/0", "metadata.json", "C:x", " x", "a/Versions", "x/METADATA.json "]
)
def test_names_that_the_kit_reads_as_others_are_refused(ws: Workspace, name: str) -> None:
    with pytest.raises(KeySyntaxError, match="layout 'adk' cannot hold it"):
        ws.save(name, "x")
    with pytest.raises(ArtifactNotFound):
        ws.load(name)


def test_a_pointer_is_refused_as_the_kit_refuses_it(root: Path) -> None:
    ours = ArtifactService(f"file://{root}", layout="adk", config={"sweep_on_connect": False})
    pointer = types.Part(file_data=types.FileData(file_uri="gs://b/k"))
    with pytest.raises((ValueError, BadRequest), match="points at a file"):
        save(ours, "x", pointer)
    assert load(ours, "x") is None
    ours.workspace.close()


def test_a_damaged_document_is_told_and_a_foreign_one_dictates_nothing(root: Path, kit: Any, ws: Workspace) -> None:
    save(kit, "x", blob(b"0"))
    save(kit, "x", blob(b"1"))
    save(kit, "x", blob(b"2"))
    folder = root / SCOPE / "x/versions"
    (folder / "0/metadata.json").write_text("{")
    document = json.loads((folder / "1/metadata.json").read_text())
    (folder / "1/metadata.json").write_text(json.dumps({**document, "canonicalUri": "file:///etc/passwd", "kmnb": "?"}))
    assert [content(ws.load("x", version=n)) for n in range(3)] == [b"0", b"1", b"2"]
    assert "0: metadata.json is missing or damaged" in next(f for f in ws.doctor() if f.name == "layout").detail
    assert ws.load("x", version=1).uri.startswith("artifact://")


def test_groups_and_long_names_work_as_in_the_kit(kit: FileArtifactService, connect: Callable[..., Workspace]) -> None:
    who = {**WHO, "user_id": "group/user123"}
    run(kit.save_artifact(**who, filename="日" * 60, artifact=blob(b"x")))
    ws = connect(user="group/user123")
    assert ws.filenames() == ["日" * 60]
    assert ws.save("日" * 60, "y").version == 1
    assert run(kit.load_artifact(**who, filename="日" * 60)).inline_data.data == b"y"


def test_identifiers_that_are_words_of_the_layout_are_copied_as_what_they_are(tmp_path: Path) -> None:
    kit = FileArtifactService(tmp_path / "kit")
    scopes = [("users", "artifacts", "versions"), ("apps", "sessions", "artifacts"), ("g/a", "g/u", "g/s")]
    for app, user, session in scopes:
        for name in ("x", "user:x"):
            who = {"app_name": app, "user_id": user, "session_id": session, "filename": name}
            run(kit.save_artifact(**who, artifact=blob(f"{app} {name}".encode())))
    done = migrate_stores((tmp_path / "kit").as_uri(), (tmp_path / "to").as_uri(), layout_from="adk")
    assert (done.copied, done.failures) == (6, [])
    for app, user, session in scopes:
        with kmnb.connect((tmp_path / "to").as_uri(), app=app, user=user, session=session) as copied:
            assert copied.filenames() == ["user:x", "x"]
            assert content(copied.load("user:x")) == f"{app} user:x".encode()
