"""In a peer's layout no two addresses that it accepts share a path, and none leaves its place."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from itertools import product
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kmnb
from kmnb.core.addresses import NamedAddress
from kmnb.core.peer_names import is_of, last_part, mesh_headers, normal_name
from kmnb.errors import KeySyntaxError, KmnbError
from kmnb.storage.layouts._kit_folder import KitFolder
from kmnb.storage.layouts._mesh_folder import MeshFolder
from kmnb.storage.layouts._objects import ObjectShelf

SHELVES: dict[str, Any] = {
    "mesh folder": MeshFolder("/root", "/staging"),
    "kit folder": KitFolder("/root", "/staging"),
    "mesh bucket": ObjectShelf(None, "p/", is_mesh=True),  # type: ignore[arg-type]
    "kit bucket": ObjectShelf(None, "p/", is_mesh=False),  # type: ignore[arg-type]
}
WORDS = ["a", "b", "user", "users", "apps", "sessions", "artifacts", "versions", "0", "a/b", "b/0", "metadata.json",
         "user:a", "..", ".", "a\\b", "A", "é", ".kmnb", "x.metadata.json", "a ", "0.meta", ".0.pending"]  # fmt: skip
SPECIAL = "ab/.:\\ u\u0301é\uff0e\uff0f\u2025\u2024\u2026\ufe52\u2100\n"
"""Among them what NFKC makes dots and slashes of."""
words = st.sampled_from(WORDS) | st.text(st.sampled_from(SPECIAL), min_size=1, max_size=4)


def address(app: str, user: str, session: str | None, name: str) -> NamedAddress | None:
    try:
        given_name = name if session is not None else f"user:{name}"
        return NamedAddress.of(given_name, app=app, user=user, session=session or "s")
    except KeySyntaxError:
        return None


def place(kind: str, at: NamedAddress | None) -> tuple[str, NamedAddress] | None:
    """Path of version 0, and what the layout means by the address; None for one that it refuses."""
    if at is None:
        return None
    try:
        SHELVES[kind].check(at)
    except KeySyntaxError:
        return None
    name = normal_name(at.filename) if kind.startswith("mesh") else at.filename
    # In Agent Mesh's folders an application is what follows its last slash, as with the peer, and doctor tells it. In
    # its buckets outer slashes are dropped.
    app = {"mesh folder": last_part(at.app), "mesh bucket": at.app.strip("/")}.get(kind, at.app)
    return SHELVES[kind]._path(at, 0), NamedAddress(app, at.user, at.session, name)


@pytest.mark.parametrize("kind", SHELVES)
@given(one=st.tuples(words, words, st.none() | words, words), two=st.tuples(words, words, st.none() | words, words))
def test_two_addresses_never_share_a_path(kind: str, one: Any, two: Any) -> None:
    first, second = place(kind, address(*one)), place(kind, address(*two))
    if first is not None and second is not None:
        is_shared = first[0] == second[0]
        if is_shared and first[1] != second[1]:
            # Objects of Agent Mesh tell whose they are; every reader asks them where two could share a path.
            assert kind == "mesh bucket"
            assert not is_of(mesh_headers(first[1], 0), second[1])
        else:
            assert is_shared == (first[1] == second[1])


@pytest.mark.parametrize("kind", SHELVES)
def test_no_accepted_word_meets_another_and_none_leaves_its_place(kind: str) -> None:
    met: dict[str, list[NamedAddress]] = {}
    some = ["a", "user", "a/b", "artifacts", "versions", "..", "0"]
    for app, user, session, name in product(["a", "users"], some, [None, *some], WORDS):
        found = place(kind, address(app, user, session, name))
        if found is None:
            continue
        path, meant = found
        others = met.setdefault(path, [])
        for other in others if meant not in others else []:
            assert kind == "mesh bucket"
            assert not is_of(mesh_headers(other, 0), meant)
        others.append(meant)
        assert path.startswith(("/root/", "p/"))
        assert ".." not in path.split("/")
    assert len(met) > 100


OUT = [
    "\uff0e\uff0e",
    "\u2025",
    "\uff0e",
    "\u2024\u2024",
    "a\uff0fb",
    "\uff0e\uff0e\uff0f\uff0e\uff0e\uff0fbob\uff0fs9\uff0fsecret.txt",
    "\uff0e\uff0e\uff0f\uff0e\uff0e\uff0f\uff0e\uff0e\uff0fevil",
]


@pytest.mark.parametrize("scheme", ["file", "memory"])
@pytest.mark.parametrize("layout", ["agent-mesh", "adk"])
@given(
    names=st.lists(st.sampled_from(OUT) | words, min_size=1, max_size=3), app=st.sampled_from(["shop", "org/..", "."])
)
@settings(max_examples=25, deadline=None)
def test_nothing_outside_the_scope_is_touched(scheme: str, layout: str, names: list[str], app: str) -> None:
    with tempfile.TemporaryDirectory() as top:
        base = Path(top, "a", "base")
        url = base.as_uri() if scheme == "file" else f"memory://{uuid4().hex}"
        config = {"sweep_on_connect": False}
        with kmnb.connect(url, layout=layout, app="shop", user="bob", session="s9", config=config) as bob:
            bob.save("secret.txt", b"of bob")
            with kmnb.connect(url, layout=layout, app=app, user="ann", session="s1", config=config) as ann:
                for name in names:
                    for call in (
                        lambda n: ann.save(n, b"x"),
                        lambda n: ann.load(n).read(0, 9),
                        ann.versions,
                        ann.remove,
                    ):
                        with suppress(KmnbError):
                            assert call(name) not in (b"of bob", "of bob")
                    with suppress(KmnbError):
                        ann.save(name, b"x")
            assert bob.filenames() == ["secret.txt"]
            assert bob.versions("secret.txt") == [0]
            assert bob.load("secret.txt").open().read() == b"of bob"
        mine = ("base/shop/ann/s1/", "base/shop/ann/user/", "base/apps/shop/users/ann/", "base/.kmnb/")
        theirs = ("base/shop/bob/s9/secret.txt", "base/apps/shop/users/bob/sessions/s9/artifacts/secret.txt/")
        found = [
            os.path.relpath(os.path.join(folder, file), f"{top}/a")
            for folder, _, files in os.walk(top)
            for file in files
        ]
        assert [path for path in found if not path.startswith((*mine, *theirs))] == []


@pytest.mark.parametrize("scheme", ["file", "memory"])
@pytest.mark.parametrize("name", OUT)
def test_a_name_that_becomes_a_path_is_refused(scheme: str, name: str, tmp_path: Path) -> None:
    url = tmp_path.as_uri() if scheme == "file" else "memory://"
    with kmnb.connect(url, layout="agent-mesh", config={"sweep_on_connect": False}) as ws:
        with pytest.raises(KeySyntaxError, match="stored form"):
            ws.save(name, b"x")
        assert ws.filenames() == []
