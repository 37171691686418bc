"""The verbs of a store: what goes in comes out, and nothing half done is ever seen."""

from __future__ import annotations

import hashlib
import io
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from kmnb.core.bounds import WINDOW_BYTES
from kmnb.core.metadata import Capability
from kmnb.errors import AlreadyExists, ArtifactNotFound, BadRequest, DigestMismatch
from kmnb.storage import Store
from kmnb.storage._protocols import Backend
from kmnb.testing._contract_base import MIB, ContractBase, content, within

SIZES = (0, 1, 65_535, 65_536, 65_537, MIB - 1, MIB, MIB + 1, 8 * MIB, 8 * MIB + 1)
"""Sizes around every border that a backend has: blocks, windows, chunks, small and large objects."""
ATTRIBUTES = {"preview": "8 rows · é\n\ttab \U0001f600 \u202e", "content-type": "text/csv", "empty": ""}
LARGE_ATTRIBUTES = {"preview": "é" * 1000, "index": "A" * 49_152, "schema": '{"a": "b"}' * 500}


class VerbContract(ContractBase):
    """put, get_range, stream, head and delete."""

    @pytest.mark.parametrize("size", SIZES)
    def test_what_is_put_comes_back(self, store: Store, size: int) -> None:
        """Bytes, size and digest come back, in windows that are neither empty nor too large."""
        data = content(size)
        info = store.put("a/b", data)
        windows = list(store.stream("a/b"))
        assert b"".join(windows) == data
        assert all(0 < len(window) <= WINDOW_BYTES for window in windows)
        assert (info.key, info.size, info.digest) == ("a/b", size, f"sha256:{hashlib.sha256(data).hexdigest()}")

    @pytest.mark.parametrize("size", [0, 70_000, 9 * MIB])
    @pytest.mark.parametrize("kind", ["bytearray", "memoryview", "path", "file", "iterator", "async iterator"])
    def test_any_source_is_stored(self, store: Store, *, kind: str, size: int, tmp_path: Path) -> None:
        """Bytes, paths, files and iterators of any kind store the same object."""
        data = content(size, 1)
        store.put("source", _as(kind, data, tmp_path))
        assert b"".join(store.stream("source")) == data
        assert store.head("source").size == size

    def test_head_tells_what_put_told(self, store: Store, backend: Backend) -> None:
        """Both tell key, size, digest, identity and attributes; the time is the store's."""
        before = within(10, backend.now)
        put = store.put("x", b"abc", attributes=ATTRIBUTES)
        head = store.head("x")
        assert (head.key, head.size, head.digest) == (put.key, put.size, put.digest)
        assert head.identity == put.identity
        assert dict(head.attributes) == dict(put.attributes) == ATTRIBUTES
        assert head.created_at is not None
        # Clocks of services may tell whole seconds only.
        assert before - timedelta(seconds=2) <= head.created_at <= within(10, backend.now) + timedelta(seconds=2)

    @pytest.mark.parametrize("size", [10, 9 * MIB])
    def test_large_attributes_are_kept(self, store: Store, size: int) -> None:
        """Attributes of 60 KB come back as they were, beside small and large objects."""
        store.put("x", content(size), attributes=LARGE_ATTRIBUTES)
        assert dict(store.head("x").attributes) == LARGE_ATTRIBUTES
        assert b"".join(store.stream("x")) == content(size)

    @pytest.mark.parametrize("size", [3, 9 * MIB])
    def test_attributes_are_asked_for_after_the_last_byte(self, store: Store, size: int) -> None:
        """A function that gives attributes is called once, at the end of the source."""
        seen = []

        def source() -> Iterator[bytes]:
            yield content(size)
            seen.append("end")

        def attributes() -> dict[str, str]:
            seen.append("attributes")
            return {"rows": "7"}

        store.put("x", source(), attributes=attributes)
        assert seen == ["end", "attributes"]
        assert store.head("x").attributes == {"rows": "7"}

    @pytest.mark.parametrize("size", [200_000, 9 * MIB])
    def test_a_range_is_what_a_slice_is(self, store: Store, size: int) -> None:
        """Ranges cut like slices do, with and without facts from an earlier head."""
        data = content(size, 2)
        store.put("x", data)
        head = store.head("x")
        cuts = [(0, 0), (0, 1), (65_535, 65_537), (100, 150_000), (size - 1, size), (size - 5, size + 5),
                (size, size + 1), (size + 10, size + 20), (0, size), (size // 2, size // 2), (0, 2**63)]  # fmt: skip
        for start, end in cuts:
            assert store.get_range("x", start, end) == data[start:end], (start, end)
            got = within(10, lambda: self._area(store).get_range("x", start, end, info=head))  # noqa: B023
            assert got == data[start:end], (start, end)

    @staticmethod
    def _area(store: Store) -> Any:
        return store._backend.discussions

    @pytest.mark.parametrize(("start", "end"), [(-1, 1), (0, -1), (5, 4), (1.5, 2), ("0", "1")])
    def test_a_senseless_range_is_refused(self, store: Store, start: Any, end: Any) -> None:
        """Negative and reversed ranges, and ends that are no numbers, are the caller's fault."""
        store.put("x", b"abcdef")
        with pytest.raises(BadRequest):
            store.get_range("x", start, end)

    def test_a_later_put_replaces_the_object_and_its_attributes(self, store: Store) -> None:
        """Nothing of the old object shows through, whichever of the two is the larger."""
        first = store.put("x", content(9 * MIB), attributes=LARGE_ATTRIBUTES)
        second = store.put("x", b"short")
        assert b"".join(store.stream("x")) == b"short"
        assert store.head("x").attributes == {}
        assert first.identity != second.identity
        third = store.put("x", content(9 * MIB, 3))
        assert b"".join(store.stream("x")) == content(9 * MIB, 3)
        assert third.identity not in (first.identity, second.identity)

    @pytest.mark.parametrize("size", [100, 9 * MIB])
    def test_a_reader_is_told_when_the_object_was_written_again(self, store: Store, size: int) -> None:
        """Facts from before a write do not read the bytes from after it."""
        area = self._area(store)
        store.put("x", content(size))
        old = store.head("x")
        store.put("x", content(size, 4))
        with pytest.raises(DigestMismatch):
            within(10, lambda: area.get_range("x", 0, 50, info=old))

        async def read() -> bytes:
            return b"".join([window async for window in area.stream("x", info=old)])

        with pytest.raises(DigestMismatch):
            within(10, read)

    @pytest.mark.parametrize("size", [3, 9 * MIB])
    def test_create_only_leaves_what_is_there(self, store: Store, size: int) -> None:
        """A create-only put of a taken key raises and changes nothing; after a deletion it works again."""
        store.put("x", content(size), create_only=True, attributes={"a": "1"})
        for other in (b"other", content(9 * MIB, 5)):
            with pytest.raises(AlreadyExists) as caught:
                store.put("x", other, create_only=True)
            assert isinstance(caught.value, FileExistsError)
        assert b"".join(store.stream("x")) == content(size)
        assert store.head("x").attributes == {"a": "1"}
        store.delete("x")
        store.put("x", b"again", create_only=True)
        assert b"".join(store.stream("x")) == b"again"

    def test_what_is_not_there_is_not_found(self, store: Store) -> None:
        """Every reading verb raises the same error, which is also the builtin one and names the key."""
        verbs = (store.head, lambda key: store.get_range(key, 0, 1), lambda key: store.get_range(key, 0, 0),
                 lambda key: list(store.stream(key)))  # fmt: skip
        store.put("gone", content(9 * MIB), attributes=LARGE_ATTRIBUTES)
        store.delete("gone")
        for key in ("never", "gone", "a/b/c"):
            for verb in verbs:
                with pytest.raises(ArtifactNotFound) as caught:
                    verb(key)
                assert isinstance(caught.value, FileNotFoundError)
                assert key in str(caught.value)

    def test_deleting_what_is_not_there_is_silent(self, store: Store) -> None:
        """Deleting twice, or never written, raises nothing."""
        store.delete("never")
        store.put("x", b"1")
        store.delete("x")
        store.delete("x")
        assert list(store.list()) == []

    @pytest.mark.parametrize("size", [10, 9 * MIB])
    def test_a_source_that_fails_leaves_nothing(self, store: Store, size: int) -> None:
        """An error of the source reaches the caller; neither a new object nor a change is seen."""

        def source() -> Iterator[bytes]:
            yield content(size)
            raise ZeroDivisionError("source")

        store.put("old", b"kept")
        for key in ("new", "old"):
            with pytest.raises(ZeroDivisionError):
                store.put(key, source())
        with pytest.raises(ZeroDivisionError):
            store.put("new", content(size), attributes=lambda: {"a": str(1 // 0)})
        assert [info.key for info in store.list()] == ["old"]
        assert b"".join(store.stream("old")) == b"kept"

    @pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
    def test_a_source_that_ends_the_program_ends_it_where_it_was_called(self, store: Store, error: Any) -> None:
        """``sys.exit()`` in a source reaches the caller, and later calls work; it ends no thread that others need."""

        def source() -> Iterator[bytes]:
            yield b"1"
            raise error

        with pytest.raises(error):
            store.put("x", source())
        store.put("y", b"2")
        assert [info.key for info in store.list()] == ["y"]

    @pytest.mark.parametrize("size", [70_000, MIB])
    def test_a_source_may_use_its_buffer_again(self, store: Store, size: int) -> None:
        """What an iterator gave is taken before the next item is asked for."""

        def source() -> Iterator[Any]:
            buffer = bytearray(size)
            for number in range(9 * MIB // size + 1):
                buffer[:] = content(size, number)
                yield memoryview(buffer)

        info = store.put("x", source())
        data = b"".join(content(size, number) for number in range(9 * MIB // size + 1))
        assert info.digest == f"sha256:{hashlib.sha256(data).hexdigest()}"
        assert b"".join(store.stream("x")) == data

    @pytest.mark.parametrize("source", ["text", 5, None, ["text"], "a text file", "reads text", "reads nothing yet"])
    def test_only_bytes_can_be_stored(self, store: Store, source: Any) -> None:
        """Text and other things are refused, and nothing is stored."""
        files: dict[str, Any] = {
            "a text file": io.StringIO("text"),
            "reads text": _Reads("text"),
            "reads nothing yet": _Reads(None),
        }
        with pytest.raises(BadRequest):
            store.put("x", files.get(source, source) if isinstance(source, str) else source)
        assert list(store.list()) == []

    @pytest.mark.parametrize("wrong", [{"rows": 7}, {7: "rows"}, {"a": "\ud800"}, {"\udfff": "a"}, 7], ids=ascii)
    def test_attributes_are_texts(self, store: Store, wrong: Any) -> None:
        """An attribute that is no text, or one that UTF-8 cannot hold, is refused, and nothing is stored."""
        with pytest.raises(BadRequest):
            store.put("x", b"1", attributes=wrong)
        assert list(store.list()) == []

    def test_progress_is_told(self, store: Store) -> None:
        """Progress grows up to the size, with the total where it is known."""
        told: list[tuple[int, int | None]] = []
        store.put("x", content(9 * MIB), progress=lambda done, total: told.append((done, total)))
        assert told[-1] == (9 * MIB, 9 * MIB)
        assert [done for done, _ in told] == sorted(done for done, _ in told)
        told.clear()
        store.put("x", iter([b"12", b"345"]), progress=lambda done, total: told.append((done, total)))
        assert set(told[-1:]) == {(5, None)}

    def test_the_store_tells_what_it_is(self, store: Store, backend: Backend) -> None:
        """Address, capabilities and facts for doctor are there."""
        assert store.url.partition("://")[0].partition("+")[0] == self.scheme.partition("+")[0]
        assert store.url in repr(store)
        assert all(isinstance(power, Capability) for power in store.capabilities)
        facts = within(10, backend.describe)
        assert facts["kind"]
        assert facts["url"] == store.url


class _Reads:
    """A file whose reading gives what no file should."""

    def __init__(self, answer: Any) -> None:
        self._answer = answer

    def read(self, size: int) -> Any:
        """Give it."""
        return self._answer


def _as(kind: str, data: bytes, folder: Path) -> Any:
    """Give data as another kind of source."""
    if kind in ("path", "file"):
        path = folder / "source"
        path.write_bytes(data)
        return path if kind == "path" else io.BytesIO(data)
    pieces = [data[start : start + 300_001] for start in range(0, len(data), 300_001)]

    async def walk() -> AsyncIterator[bytes]:
        for piece in pieces:
            yield piece

    makers = {"bytearray": lambda: bytearray(data), "memoryview": lambda: memoryview(data),
              "iterator": lambda: iter([b"", *pieces, b""]), "async iterator": walk}  # fmt: skip
    return makers[kind]()
