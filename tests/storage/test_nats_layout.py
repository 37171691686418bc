"""Names, meta documents and digests of object stores."""

from __future__ import annotations

import base64
import json
import re
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kmnb.core.metadata import ObjectInfo
from kmnb.errors import StoreError
from kmnb.storage.backends import _nats_layout as layout

NAME = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40)


def read(**fields: object) -> layout.Meta:
    document = {"name": "a/b", "bucket": "x", "nuid": "N1", "size": 5, "chunks": 1, **fields}
    return layout.read_meta("x", json.dumps(document).encode(), sequence=9, stored_at=None)


@given(NAME)
def test_a_name_can_be_read_from_its_subject(name: str) -> None:
    assert layout.meta_name(layout.meta_subject("b", name).rpartition(".")[2]) == name


@given(NAME, st.text(st.characters(exclude_categories=["Cs"]), max_size=6))
def test_the_pattern_of_a_prefix_lets_every_name_with_it_through(prefix: str, rest: str) -> None:
    root, pattern = layout.meta_pattern("b", prefix)
    token = layout.meta_subject("b", prefix + rest).removeprefix(root + ".")
    assert re.fullmatch(pattern, token.encode())


@given(NAME, NAME)
def test_the_pattern_of_a_prefix_lets_few_others_through(prefix: str, name: str) -> None:
    root, pattern = layout.meta_pattern("b", prefix)
    token = layout.meta_subject("b", name).removeprefix(root + ".").encode()
    known = len(prefix.encode()) // 3 * 3
    assert bool(re.fullmatch(pattern, token)) <= (name.encode()[:known] == prefix.encode()[:known])


@pytest.mark.parametrize("token", ["", "a", "====", "a b", "YQ", "_w==", "YR==", "Pz8_Pz-/"])
def test_a_token_that_is_no_name_gives_none(token: str) -> None:
    assert layout.meta_name(token) in (None, "")


@given(st.binary(min_size=32, max_size=32))
def test_a_digest_is_read_as_it_is_written_with_or_without_padding(digest: bytes) -> None:
    text = layout.write_digest(digest)
    assert layout.read_digest(text) == layout.read_digest(text.rstrip("=")) == digest
    assert layout.read_digest("sha-256=" + text[8:]) == digest


@pytest.mark.parametrize("text", [None, 5, "", "MD5=abc", "SHA-256=", "SHA-256=!!", "SHA-256=YQ=="])
def test_what_is_no_sha256_is_no_digest(text: object) -> None:
    assert layout.read_digest(text) is None


def test_facts_of_other_clients_are_understood() -> None:
    meta = read(
        options={"max_chunk_size": 1024},
        metadata={"a": "b", "n": 5},
        headers={"Content-Type": ["text/csv", "x"]},
        digest=layout.write_digest(bytes(32)),
        unknown={"x": 1},
    )
    assert meta.chunk_bytes == 1024
    assert meta.attributes == {"content-type": "text/csv", "a": "b"}
    assert meta.info().digest == "sha256:" + "00" * 32
    assert not meta.is_even
    assert read(headers={"content-type": "a/b"}).attributes == {"content-type": "a/b"}
    assert read(headers=[1], metadata="x").attributes == {}
    halves = read(headers={"content-type": "\ud800"}, metadata={"a\udfff": "b\ud800"})
    assert halves.attributes == {"content-type": "?", "a?": "b?"}


def test_links_and_markers_need_no_chunks() -> None:
    assert read(nuid="", options={"link": {"bucket": "o", "name": "t"}}).link == ("o", "t")
    assert read(nuid="", options={"link": {"bucket": "o"}}).link == ("o", None)
    assert read(nuid="", deleted=True).deleted


@pytest.mark.parametrize(
    "fields",
    [
        {"nuid": ""},
        {"nuid": "a.b"},
        {"nuid": "a>"},
        {"nuid": "*"},
        {"nuid": "a b"},
        {"nuid": "a:b"},
        {"nuid": "x" * 129},
        {"nuid": 5},
        {"name": None},
        {"name": "\ud800"},
        {"size": -1},
        {"size": "5"},
        {"size": 1 << 70},
        {"chunks": 1.5},
        {"chunks": True},
        {"options": {"max_chunk_size": -1}},
        {"options": [1]},
        {"options": {"link": {"name": "x"}}},
    ],
    ids=str,
)
def test_a_meta_document_that_cannot_be_true_is_an_error(fields: dict[str, object]) -> None:
    with pytest.raises(StoreError):
        read(**fields)


@pytest.mark.parametrize(
    "data", [b"", b"[]", b"5", b"{", b"\xff", b"[" * 100_000, b'{"size":1}'], ids=lambda d: repr(d[:9])
)
def test_what_is_no_meta_document_is_an_error(data: bytes) -> None:
    with pytest.raises(StoreError, match="no meta document"):
        layout.read_meta("x", data, sequence=1, stored_at=None)


@pytest.mark.parametrize("declared", [0, 1, 5, 1 << 40])
def test_an_identity_holds_what_reading_needs(declared: int) -> None:
    place = layout.Place.of(read(options={"max_chunk_size": declared}).info("other"))
    assert (place.nuid, place.size, place.chunks, place.sequence) == ("N1", 5, 1, 9)
    assert 1 <= place.chunk_bytes <= layout.LARGEST_CHUNK_BYTES
    assert layout.Place.read(place.identity()) == place


@pytest.mark.parametrize("identity", [None, "", "inode 5", "a:b:1:2:3:0:1:", "a:b:1:2:x:4:1:", "a:b:1:2:3:4:1:zz"])
def test_facts_of_another_store_are_not_taken_for_a_place(identity: str | None) -> None:
    assert layout.Place.read(identity) is None
    with pytest.raises(StoreError, match="do not come from a NATS store"):
        layout.Place.of(ObjectInfo("a", identity=identity))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-11-30T18:18:28.970135562Z", datetime(2026, 11, 30, 18, 18, 28, 970135, tzinfo=UTC)),
        ("2026-11-30T18:18:28.97Z", datetime(2026, 11, 30, 18, 18, 28, 970000, tzinfo=UTC)),
        ("2026-11-30T18:18:28Z", datetime(2026, 11, 30, 18, 18, 28, tzinfo=UTC)),
        ("nonsense", None),
        ("", None),
        (None, None),
    ],
)
def test_times_are_read_to_the_microsecond(text: str | None, expected: datetime | None) -> None:
    assert layout.read_time(text) == expected


def test_a_name_is_written_as_every_client_writes_it() -> None:
    assert layout.meta_subject("b", "a/ü?") == "$O.b.M." + base64.urlsafe_b64encode("a/ü?".encode()).decode()
