"""What named artifacts guarantee on every store and in every layout."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from kmnb._bridge import run
from kmnb.core.config import Names, Settings
from kmnb.errors import ArtifactNotFound, VersionConflict
from kmnb.ops.context import Context
from kmnb.ops.workspace import Workspace
from kmnb.storage import open_backend
from kmnb.testing._contract_base import ContractBase

_sessions = itertools.count()


def _bytes(art: Any) -> bytes:
    return bytes(art.read(0, art.size or 0))


class NamedContract(ContractBase):
    """Contract of named artifacts: a subclass names the scheme, and a layout where it is not kmnb's own.

    ::

        class TestMine(NamedContract):
            scheme = "mine"
    """

    layout = "kmnb"

    @pytest.fixture
    def connect(self, url: str) -> Iterator[Callable[..., Workspace]]:
        """Open workspaces on an empty store; nothing runs in their background."""
        opened: list[Workspace] = []

        def open_one(**names: str) -> Workspace:
            backend = run(open_backend(url, layout=self.layout))
            every = Names(**{"app": "shop", "user": "ann", "session": "s1", **names})
            opened.append(Workspace(Context(backend, every, Settings(layout=self.layout, sweep_on_connect=False))))
            return opened[-1]

        yield open_one
        for workspace in opened:
            workspace.close()

    @pytest.fixture
    def ws(self, connect: Callable[..., Workspace]) -> Workspace:
        """A workspace."""
        return connect()

    def test_versions_start_at_zero_are_immutable_and_the_latest_is_the_default(self, ws: Workspace) -> None:
        """A number pins a version; listings tell names and numbers."""
        assert [ws.save("r.csv", f"a\n{number}\n").version for number in range(3)] == [0, 1, 2]
        assert ws.versions("r.csv") == [0, 1, 2]
        assert [_bytes(ws.load("r.csv", version=number)) for number in range(3)] == [b"a\n0\n", b"a\n1\n", b"a\n2\n"]
        assert (ws.load("r.csv").version, ws.load("r.csv").media_type, ws.load("r.csv").rows) == (2, "text/csv", 1)
        assert _bytes(ws.get(ws.load("r.csv@1").uri)) == b"a\n1\n"
        with pytest.raises(ArtifactNotFound):
            ws.load("r.csv", version=3)
        assert ws.versions("none") == []

    def test_names_of_session_and_user_are_apart(self, connect: Callable[..., Workspace]) -> None:
        """``user:`` is seen from every session of the user; nothing else is."""
        one, two, other = connect(), connect(session="s2"), connect(user="bob")
        one.save("ü b.txt", "session")
        one.save("user:ü b.txt", "user")
        assert one.filenames() == ["user:ü b.txt", "ü b.txt"]
        assert two.filenames() == ["user:ü b.txt"]
        assert _bytes(two.load("user:ü b.txt")) == b"user"
        assert other.filenames() == []
        with pytest.raises(ArtifactNotFound):
            two.load("ü b.txt")

    def test_append_is_the_previous_bytes_and_the_chunk(self, ws: Workspace) -> None:
        """Version 0 on a missing name; metadata stays."""
        ws.save("log.txt", "one\n", metadata={"by": "me"})
        assert _bytes(ws.append("log.txt", b"two\n")) == b"one\ntwo\n"
        assert ws.metadata("log.txt")["by"] == "me"
        assert _bytes(ws.append("log.txt", "three\n", whole=False)) == b"three\n"
        assert ws.append("new.txt", "x").version == 0

    def test_removal_leaves_numbers_used_up(self, ws: Workspace, connect: Callable[..., Workspace]) -> None:
        """One version or all of them, also for a workspace that is opened later."""
        for number in range(3):
            ws.save("x", f"{number}")
        ws.delete(ws.load("x", version=2))
        assert ws.versions("x") == [0, 1]
        assert ws.remove("x") == 2
        assert ws.filenames() == []
        with pytest.raises(ArtifactNotFound, match="removed"):
            ws.load("x", version=1)
        assert connect().save("x", "again").version == 3

    def test_an_edit_with_an_old_expectation_is_a_conflict(self, ws: Workspace) -> None:
        """It names both versions, and nothing is stored."""
        ws.save("x", "0")
        assert ws.save("x", "1", expected_version=0).version == 1
        with pytest.raises(VersionConflict) as caught:
            ws.save("x", "2", expected_version=0)
        assert (caught.value.latest, caught.value.expected, ws.versions("x")) == (1, 0, [0, 1])

    def test_what_is_kept_outlives_its_discussion(self, ws: Workspace) -> None:
        """A kept result is a version with its facts and its lineage."""
        art = ws.put("name,age\npod,3\n", tool="t", media_type="text/csv")
        kept = art.keep("pods.csv")
        ws.close_thread(ws.thread)
        assert (kept.digest, _bytes(ws.load("pods.csv"))) == (art.digest, b"name,age\npod,3\n")
        assert ws.metadata("pods.csv")["lineage"]["source"] == art.uri

    def test_companion_labels_and_metadata_are_of_the_version(self, ws: Workspace) -> None:
        """The companion is served in lockstep, whatever was saved since."""
        for number in range(2):
            ws.save("r.csv", "a\n" * (number + 1), metadata={"n": number, "size_bytes": -1})
        ws.label("r.csv", "approved", version=0)
        assert [ws.metadata("r.csv", version=number)["n"] for number in range(2)] == [0, 1]
        assert (ws.metadata("r.csv@approved")["size_bytes"], ws.labels("r.csv")) == (2, {"approved": 0})
        assert b'"n": 1' in _bytes(ws.load("r.csv.metadata.json"))
        assert ws.filenames() == ["r.csv"]

    def test_fifty_saves_at_once_give_versions_0_to_49(self, connect: Callable[..., Workspace]) -> None:
        """No gap, no double, nothing lost, from workspaces that share only the store."""
        writers = [connect() for _ in range(4)]
        with ThreadPoolExecutor(10) as pool:
            saved = list(pool.map(lambda number: writers[number % 4].save("x", f"{number}").version, range(50)))
        assert sorted(saved, key=lambda version: version or 0) == writers[0].versions("x") == list(range(50))
        contents = {_bytes(writers[0].load("x", version=number)) for number in range(50)}
        assert contents == {f"{number}".encode() for number in range(50)}

    def test_twenty_appends_at_once_keep_every_chunk(self, connect: Callable[..., Workspace]) -> None:
        """In some order; the last version holds them all."""
        writers = [connect() for _ in range(4)]
        with ThreadPoolExecutor(10) as pool:
            list(pool.map(lambda number: writers[number % 4].append("log", f"<{number}>"), range(20)))
        last = _bytes(writers[0].load("log")).decode()
        assert writers[0].versions("log") == list(range(20))
        assert sorted(int(chunk) for chunk in last.strip("<>").split("><")) == list(range(20))
