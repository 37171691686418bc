"""Verified files: whole or not at all, never outside their folder, never more than was asked for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kmnb.core.metadata import ObjectInfo
from kmnb.core.receipt import digest_of
from kmnb.errors import BoundExceeded, DigestMismatch, KeySyntaxError
from kmnb.ops.materialise import MANIFEST_NAME, Item, materialise


class Shelf:
    """An area that gives what it is told to give, and counts."""

    def __init__(self, **objects: bytes) -> None:
        self.objects = {key.replace("__", "/"): raw for key, raw in objects.items()}
        self.reads = 0

    async def stream(self, key: str, *, info: Any = None) -> AsyncIterator[bytes]:
        self.reads += 1
        raw = self.objects[key]
        for at in range(0, len(raw), 3):
            yield raw[at : at + 3]

    def item(self, key: str, **changes: Any) -> Item:
        raw = self.objects.get(key, b"")
        return self, replace(ObjectInfo(key, len(raw), digest_of(raw)), **changes)  # type: ignore[return-value]


def put(folder: Path, *items: Item, **options: Any) -> Any:
    return asyncio.run(materialise(items, folder, **options))


def files(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()} - {MANIFEST_NAME}


def test_an_artifact_lies_under_its_key_read_only_and_for_everybody(tmp_path: Path) -> None:
    shelf = Shelf(ns__t1__x=b"hello")
    manifest = put(tmp_path / "a", shelf.item("ns/t1/x"))
    path = tmp_path / "a/ns/t1/x"
    assert path.read_bytes() == b"hello"
    assert path.stat().st_mode & 0o777 == 0o444
    assert path.parent.stat().st_mode & 0o777 == 0o755
    assert manifest.facts() == [{"key": "ns/t1/x", "digest": digest_of(b"hello"), "size": 5}]


@pytest.mark.parametrize("changes", [{"digest": digest_of(b"other")}, {"size": 4}, {"size": 6}])
def test_other_bytes_than_the_store_told_leave_no_file(tmp_path: Path, changes: dict[str, Any]) -> None:
    with pytest.raises(DigestMismatch):
        put(tmp_path, Shelf(a=b"hello").item("a", **changes))
    assert files(tmp_path) == set()


def test_facts_that_the_store_does_not_know_are_filled_in(tmp_path: Path) -> None:
    (entry,) = put(tmp_path, Shelf(a=b"hello").item("a", digest=None, size=None)).entries
    assert (entry.digest, entry.size) == (digest_of(b"hello"), 5)


@pytest.mark.parametrize("key", ["", "/x", "../x", "a/../x", "a//b", "a/.", "x\0y", MANIFEST_NAME, "a/" + "b" * 300])
def test_an_unsafe_key_is_refused_before_anything_is_made(tmp_path: Path, key: str) -> None:
    folder = tmp_path / "none"
    with pytest.raises(KeySyntaxError):
        put(folder, Shelf().item(key))
    assert not folder.exists()


def test_a_key_below_another_one_is_refused(tmp_path: Path) -> None:
    shelf = Shelf(a=b"1", a__b=b"2")
    with pytest.raises(KeySyntaxError, match="lies below"):
        put(tmp_path, shelf.item("a"), shelf.item("a/b"))


def test_more_bytes_than_allowed_are_refused_whether_told_or_not(tmp_path: Path) -> None:
    shelf = Shelf(a=b"x" * 100, b=b"x" * 100)
    with pytest.raises(BoundExceeded):
        put(tmp_path, shelf.item("a"), shelf.item("b"), max_bytes=150)
    assert shelf.reads == 0
    with pytest.raises(BoundExceeded):
        put(tmp_path, shelf.item("a", size=None, digest=None), max_bytes=50)
    assert files(tmp_path) == set()


def test_a_second_call_fetches_what_is_missing_and_takes_away_what_is_stale(tmp_path: Path) -> None:
    shelf = Shelf(t__a=b"1", t__b=b"2", u__c=b"3")
    put(tmp_path, shelf.item("t/a"), shelf.item("u/c"))
    put(tmp_path, shelf.item("t/a"), shelf.item("t/b"))
    assert files(tmp_path) == {"t/a", "t/b"}
    assert not (tmp_path / "u").exists()
    assert shelf.reads == 3
    put(tmp_path, shelf.item("u/c"), remove_stale=False)
    assert files(tmp_path) == {"t/a", "t/b", "u/c"}


def test_a_file_that_somebody_changed_is_fetched_again(tmp_path: Path) -> None:
    shelf = Shelf(a=b"hello")
    put(tmp_path, shelf.item("a"))
    (tmp_path / "a").chmod(0o644)
    (tmp_path / "a").write_bytes(b"HELLO")
    put(tmp_path, shelf.item("a"))
    assert (tmp_path / "a").read_bytes() == b"hello"


def test_a_broken_manifest_costs_only_a_fetch(tmp_path: Path) -> None:
    shelf = Shelf(a=b"hello")
    put(tmp_path, shelf.item("a"))
    (tmp_path / MANIFEST_NAME).write_text("{")
    put(tmp_path, shelf.item("a"))
    assert shelf.reads == 2
