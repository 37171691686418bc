"""Named artifacts: versions, scopes, append, keep and removal."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from kmnb._bridge import run
from kmnb.errors import ArtifactNotFound, BadRequest, KeySyntaxError, VersionConflict
from kmnb.ops.workspace import Workspace


def content(art: Any) -> bytes:
    return art.read(0, art.size or 0)


def test_versions_start_at_zero_are_immutable_and_the_latest_is_the_default(ws: Workspace) -> None:
    first, second = ws.save("report.csv", "a\n1\n"), ws.save("report.csv", "a\n2\n")
    assert (first.version, second.version) == (0, 1)
    assert ws.versions("report.csv") == [0, 1]
    assert content(ws.load("report.csv")) == b"a\n2\n"
    assert content(ws.load("report.csv", version=0)) == b"a\n1\n"
    assert ws.load("report.csv").media_type == "text/csv"


def test_a_handle_of_a_name_costs_no_bytes_and_its_uri_gives_it_again(ws: Workspace) -> None:
    art = ws.save("dir/report ü.csv", "a\n1\n")
    assert ws.get(art.uri).digest == art.digest
    assert art.uri.startswith("artifact://apps/app")
    assert art.uri.endswith("/artifacts/dir/report%20%C3%BC.csv/versions/0")
    ws.save("dir/report ü.csv", "a\n2\n")
    assert ws.get(art.uri.removesuffix("/versions/0")).version == 1
    assert art.envelope()["bucket"] == "kmnb_named_artifacts"


def test_an_unknown_name_and_an_unknown_version_are_not_found(ws: Workspace) -> None:
    with pytest.raises(ArtifactNotFound, match="none of that name"):
        ws.load("report.csv")
    ws.save("report.csv", "x")
    for version in (1, -1):
        with pytest.raises(ArtifactNotFound, match="Its versions are 0"):
            ws.load("report.csv", version=version)
    assert ws.versions("other.csv") == []


def test_append_makes_a_version_of_the_previous_bytes_plus_the_chunk(ws: Workspace) -> None:
    assert ws.append("log.txt", "one\n").version == 0
    assert content(ws.append("log.txt", b"two\n")) == b"one\ntwo\n"
    assert content(ws.load("log.txt", version=0)) == b"one\n"
    alone = ws.append("log.txt", "three\n", whole=False)
    assert (alone.version, content(alone)) == (2, b"three\n")


def test_append_keeps_type_and_metadata_of_the_version_before(ws: Workspace) -> None:
    ws.save("data.csv", "a,b\n1,2\n", media_type="text/csv", metadata={"by": "me"})
    art = ws.append("data.csv", "3,4\n")
    assert art.media_type == "text/csv"
    info = run(ws.context.backend.named.head(art.key))
    assert info.attributes["metadata"] == '{"by": "me"}'


def test_append_does_not_wait_for_versions_that_were_removed(ws: Workspace) -> None:
    ws.save("log.txt", "one\n")
    ws.remove("log.txt")
    assert content(ws.append("log.txt", "two\n")) == b"two\n"
    second = ws.append("log.txt", "three\n")
    ws.delete(second)
    assert content(ws.append("log.txt", "four\n")) == b"two\nfour\n"


def test_a_number_is_never_given_out_again(ws: Workspace) -> None:
    for _ in range(3):
        ws.save("report.csv", "x")
    assert ws.remove("report.csv") == 3
    assert ws.versions("report.csv") == []
    assert ws.save("report.csv", "y").version == 3
    with pytest.raises(ArtifactNotFound, match="removed"):
        ws.load("report.csv", version=1)


def test_one_version_can_be_removed_and_leaves_a_tombstone(ws: Workspace) -> None:
    arts = [ws.save("report.csv", f"{number}") for number in range(3)]
    ws.delete(arts[2])
    ws.delete(arts[0].uri)
    assert ws.versions("report.csv") == [1]
    with pytest.raises(ArtifactNotFound, match="was removed at"):
        ws.load("report.csv", version=0)
    assert ws.save("report.csv", "3").version == 3


def test_removing_what_is_not_there_is_silent(ws: Workspace) -> None:
    assert ws.remove("never.csv") == 0
    assert ws.save("never.csv", "x").version == 0


def test_user_scope_is_shared_by_sessions_and_apart_from_them(connect: Any) -> None:
    one, two = connect(session="s1"), connect(session="s2")
    one.save("user:prefs.json", "{}")
    one.save("prefs.json", "[]")
    assert content(two.load("user:prefs.json")) == b"{}"
    with pytest.raises(ArtifactNotFound):
        two.load("prefs.json")
    assert one.filenames() == ["prefs.json", "user:prefs.json"]
    assert two.filenames() == ["user:prefs.json"]
    assert connect(session="s1", user="somebody").filenames() == []


def test_component_scope_is_apart_from_the_namespace_scope(connect: Any) -> None:
    shared, own = connect(component="agent-a"), connect(component="agent-a", scope="component")
    shared.save("x", "shared")
    assert own.filenames() == []
    own.save("x", "own")
    assert content(shared.load("x")) == b"shared"
    with pytest.raises(BadRequest, match="component"):
        connect(scope="component").save("x", "y")


@pytest.mark.parametrize(
    "name", ["a%20b", "a b", "x:y", "é.csv", "e\u0301.csv", "日本.json", ".hidden", "a..b", "metadata.json", "versions",
             "x/versions/0", "user", "u", "s", "n" * 1000, "日" * 1000, "a\\b", "name\nwith\tcontrols"],
)  # fmt: skip
def test_the_name_listed_is_the_name_given(ws: Workspace, name: str) -> None:
    assert ws.save(name, "x").version == 0
    assert ws.filenames() == [name]
    assert content(ws.load(name)) == b"x"
    assert ws.versions(name) == [0]
    ws.remove(name)
    assert ws.filenames() == []


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "a/../../b", "/x", "a//b", "user:", "user:..", "a\0b"])
def test_a_name_that_leaves_its_place_is_refused_by_every_verb(ws: Workspace, name: str) -> None:
    for call in (lambda: ws.save(name, "x"), lambda: ws.load(name), lambda: ws.versions(name), lambda: ws.remove(name)):
        with pytest.raises(KeySyntaxError):
            call()


def test_identifiers_of_a_thousand_characters_work(connect: Any) -> None:
    long = connect(app="a" * 1000, user="ü" * 1000, session="s" * 1000)
    long.save("f" * 1000, "x")
    assert long.filenames() == ["f" * 1000]
    assert connect(app="a" * 1000, user="ü" * 1000, session="s" * 999).filenames() == []


def test_an_expected_version_that_is_not_the_latest_is_a_conflict_that_names_both(ws: Workspace) -> None:
    ws.save("x", "0")
    assert ws.save("x", "1", expected_version=0).version == 1
    with pytest.raises(VersionConflict, match="latest version is 1, expected was 0"):
        ws.save("x", "2", expected_version=0)
    assert ws.versions("x") == [0, 1]


def test_racing_editors_with_the_same_expectation_get_one_winner(connect: Any) -> None:
    editors = [connect() for _ in range(8)]
    editors[0].save("x", "0")

    def edit(ws: Workspace) -> int | None:
        try:
            return ws.save("x", "1", expected_version=0).version
        except VersionConflict:
            return None

    with ThreadPoolExecutor(8) as pool:
        won = [version for version in pool.map(edit, editors) if version is not None]
    assert won == [1]


def test_keep_copies_a_result_with_its_facts_and_lineage(ws: Workspace) -> None:
    art = ws.put("NAME AGE\npod-a 3\n", tool="t", media_type="text/plain")
    kept = art.keep("pods.txt")
    assert (kept.version, kept.digest, kept.media_type) == (0, art.digest, art.media_type)
    ws.close_thread("t1")
    assert content(ws.load("pods.txt")) == b"NAME AGE\npod-a 3\n"
    info = run(ws.context.backend.named.head(kept.key))
    assert art.uri in info.attributes["metadata"]


def test_closing_a_thread_whose_id_is_the_session_loses_nothing_named(connect: Any) -> None:
    ws = connect(session="t1")
    ws.save("x", "named")
    ws.put("temporary", tool="t")
    assert ws.close_thread("t1").deleted == 1
    # Leftovers of other processes on this machine may go; nothing of the store does.
    assert [verdict for verdict in ws.sweep().verdicts if verdict.deletes and verdict.reason != "leftover"] == []
    assert content(ws.load("x")) == b"named"


def test_fifty_saves_of_one_process_at_once_give_versions_0_to_49(ws: Workspace) -> None:
    with ThreadPoolExecutor(16) as pool:
        versions = list(pool.map(lambda number: ws.save("x", f"{number}").version, range(50)))
    assert sorted(versions) == list(range(50))
    assert {content(ws.load("x", version=number)) for number in range(50)} == {b"%d" % number for number in range(50)}


def test_listing_versions_and_names_reads_no_bytes(ws: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(3):
        ws.save("x", f"{number}")
    area = type(ws.context.backend.named)

    def refuse(*args: Any, **options: Any) -> Any:
        raise AssertionError("bytes were read")

    for verb in ("get_range", "stream", "head"):
        monkeypatch.setattr(area, verb, refuse)
    assert ws.versions("x") == [0, 1, 2]
    assert ws.filenames() == ["x"]


def test_metadata_must_be_json_and_bounded(ws: Workspace) -> None:
    for metadata in ({"x": object()}, {"x": "y" * 40_000}):
        with pytest.raises(BadRequest, match="metadata"):
            ws.save("x", "y", metadata=metadata)
    assert ws.versions("x") == []


def test_a_version_that_is_no_number_is_refused(ws: Workspace) -> None:
    ws.save("a.txt", b"1")
    with pytest.raises(BadRequest, match="versions"):
        ws.load("a.txt", version="latest")  # type: ignore[arg-type]


def test_long_names_are_listed_though_one_goes_meanwhile(ws, monkeypatch) -> None:
    names = [f"{'отчёт' * 12}-{number:02}.csv" for number in range(40)]
    for name in names:
        ws.save(name, b"x")
    assert ws.filenames() == names
    head, gone = ws.context.backend.named.head, []

    async def once(key: str):
        if not gone:
            gone.append(key)
            await ws.context.backend.named.delete(key)
        return await head(key)

    monkeypatch.setattr(ws.context.backend.named, "head", once)
    assert len(ws.filenames()) == 39
