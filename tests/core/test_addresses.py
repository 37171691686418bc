"""Addresses of named artifacts and the three grammars of artifact URIs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kmnb
from kmnb.core.addresses import NamedAddress, discussion_uri, parse_uri, parse_version_key, scope_prefix
from kmnb.errors import KeySyntaxError
from tests.core.test_keys import IDENTIFIERS

FILENAMES = IDENTIFIERS.filter(
    lambda name: "\0" not in name and all(part not in ("", ".", "..") for part in name.split("/"))
)
ADDRESSES = st.builds(NamedAddress, IDENTIFIERS, IDENTIFIERS, st.none() | IDENTIFIERS, FILENAMES)


@given(ADDRESSES, ADDRESSES)
def test_two_addresses_never_share_a_key(one: NamedAddress, other: NamedAddress) -> None:
    assert (one.key == other.key) == (one == other)


@given(ADDRESSES, st.integers(0, 10**6))
def test_a_version_key_tells_its_address(address: NamedAddress, version: int) -> None:
    parsed = parse_version_key(address.version_key(version))
    assert parsed is not None
    assert parsed == (address if address.is_short else None, version)


@given(ADDRESSES)
def test_no_address_leaves_its_scope(address: NamedAddress) -> None:
    assert address.key.startswith(scope_prefix(address.app, address.user, address.session) + "/")


@given(ADDRESSES, st.none() | st.integers(0, 10**6))
def test_a_uri_comes_back(address: NamedAddress, version: int | None) -> None:
    target = parse_uri(address.uri(version))
    expected = NamedAddress.of(address.name, app=address.app, user=address.user, session=address.session or "-")
    assert (target.address, target.version) == (expected, version)


def test_an_identifier_of_a_thousand_characters_fits() -> None:
    address = NamedAddress("日" * 1000, "u" * 1000, "s" * 1000, "f" * 1000)
    assert len(address.version_key(10**9)) <= 1024
    assert not address.is_short
    assert address.key != NamedAddress("日" * 1000, "u" * 1000, "s" * 1000, "f" * 1001).key


def test_a_session_called_user_is_not_user_scope() -> None:
    names = {NamedAddress.of(name, app="a", user="u", session="user").key for name in ("x", "user:x")}
    assert len(names) == 2


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "a/../b", "/x", "a//b", "a/", "user:", "user:../x", "a\0b"])
def test_a_file_name_that_leaves_its_place_is_refused(name: str) -> None:
    with pytest.raises(KeySyntaxError):
        NamedAddress.of(name, app="a", user="u", session="s")


def test_the_first_segment_decides_the_grammar() -> None:
    assert parse_uri("artifact://discussions/ns/crew/t/a/x-0").key == "ns/crew/t/a/x-0"
    kit = parse_uri("artifact://apps/a/users/u/sessions/s/artifacts/dir/f.csv/versions/2")
    assert (kit.address, kit.version) == (NamedAddress("a", "u", "s", "dir/f.csv"), 2)
    mesh = parse_uri("artifact://app/u/s/a b.txt?version=3")
    assert (mesh.address, mesh.version) == (NamedAddress("app", "u", "s", "a b.txt"), 3)
    assert parse_uri("artifact://app/u/s/x").version is None
    assert parse_uri("artifact://apps/a/users/u/artifacts/x").address == NamedAddress("a", "u", None, "x")


@pytest.mark.parametrize("uri", ["", "http://x", "artifact://", "artifact://a/b", "artifact://discussions/../x"])
def test_what_is_no_uri_is_refused(uri: str) -> None:
    with pytest.raises(KeySyntaxError):
        parse_uri(uri)


def test_a_discussion_uri_comes_back() -> None:
    key = "ns/crew/a=20b%/ü/x-0"
    assert parse_uri(discussion_uri(key)).key == key


PARTS = st.sampled_from(["user:", "a", "/", "versions/3", "@", "@0", "x.csv", "%2F", "?version=2", "sessions", "é"])
ODD = st.lists(PARTS, min_size=1, max_size=5).map("".join)


@given(ODD, st.none() | st.integers(0, 99))
def test_the_uri_of_every_name_means_that_name(name: str, version: int | None) -> None:
    try:
        address = NamedAddress.of(name, app="shop/x", user="user:u", session="artifacts")
    except KeySyntaxError:
        return
    found = parse_uri(address.uri(version))
    assert (found.address, found.version) == (address, version)
    assert address.uri().startswith("artifact://apps/shop%2Fx/users/user%3Au/")


@pytest.mark.parametrize("name", ["user:user:x", "user:user:user:x", "user:x", "d/versions/3"])
def test_a_uri_of_a_saved_name_gives_what_was_saved(name: str) -> None:
    with kmnb.connect("memory://", config={"sweep_on_connect": False}) as ws:
        art = ws.save(name, name.encode())
        assert ws.get(art.uri).open().read() == name.encode()
        assert ws.filenames() == [name]
