"""In a peer's layout no two addresses that it accepts share a path, and none leaves its place."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kmnb.core.addresses import NamedAddress
from kmnb.core.peer_names import normal_name
from kmnb.errors import KeySyntaxError
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
words = st.sampled_from(WORDS) | st.text(st.sampled_from("ab/.:\\ u\u0301é"), min_size=1, max_size=4)


def address(app: str, user: str, session: str | None, name: str) -> NamedAddress | None:
    try:
        given_name = name if session is not None else f"user:{name}"
        return NamedAddress.of(given_name, app=app, user=user, session=session or "s")
    except KeySyntaxError:
        return None


def place(kind: str, at: NamedAddress | None) -> tuple[str, NamedAddress] | None:
    """Path of version 0, and what the layout means by the address; None for one that it refuses."""
    # What follows a slash in an application's name is the peer's own defect, which doctor tells.
    if at is None or "/" in at.app:
        return None
    try:
        SHELVES[kind].check(at)
    except KeySyntaxError:
        return None
    name = normal_name(at.filename) if kind.startswith("mesh") else at.filename
    return SHELVES[kind]._path(at, 0), NamedAddress(at.app, at.user, at.session, name)


@pytest.mark.parametrize("kind", SHELVES)
@given(one=st.tuples(words, words, st.none() | words, words), two=st.tuples(words, words, st.none() | words, words))
def test_two_addresses_never_share_a_path(kind: str, one: Any, two: Any) -> None:
    first, second = place(kind, address(*one)), place(kind, address(*two))
    if first is not None and second is not None:
        assert (first[0] == second[0]) == (first[1] == second[1])


@pytest.mark.parametrize("kind", SHELVES)
def test_no_accepted_word_meets_another_and_none_leaves_its_place(kind: str) -> None:
    met: dict[str, NamedAddress] = {}
    some = ["a", "user", "a/b", "artifacts", "versions", "..", "0"]
    for app, user, session, name in product(["a", "users"], some, [None, *some], WORDS):
        found = place(kind, address(app, user, session, name))
        if found is None:
            continue
        path, meant = found
        assert met.setdefault(path, meant) == meant
        assert path.startswith(("/root/", "p/"))
        assert ".." not in path.split("/")
    assert len(met) > 100
