"""Records: small, conditional, never lost."""

from __future__ import annotations

import asyncio

import pytest

from kmnb.errors import ArtifactNotFound, BoundExceeded, KeySyntaxError, VersionConflict
from kmnb.storage._protocols import Backend, RecordArea
from kmnb.testing._contract_base import ContractBase, within

RECORD_KEYS = ("t", "t/1", "t/10", "t/1/x", "u", "é/日本", "A", "a", "k" * 1024, "x y%20")


class RecordContract(ContractBase):
    """The record area."""

    def test_a_record_is_written_only_as_expected(self, backend: Backend) -> None:
        """A write with another revision than the present one raises, also with the same bytes."""
        records = backend.records

        async def check() -> None:
            first = await records.put("r", b"1", expected=None)
            with pytest.raises(VersionConflict):
                await records.put("r", b"2", expected=None)
            second = await records.put("r", b"2", expected=first)
            assert second != first
            with pytest.raises(VersionConflict):
                await records.put("r", b"3", expected=first)
            found = await records.get("r")
            assert (found.key, found.value, found.revision) == ("r", b"2", second)
            same = await records.put("r", b"2", expected=second)
            assert same != second
            for nonsense in ("nonsense", "", "null", "{}", "[]", "-1", '"x"', "9" * 30):
                with pytest.raises(VersionConflict):
                    await records.put("r", b"4", expected=nonsense)
            with pytest.raises(VersionConflict):
                await records.put("r", b"2", expected=second)

        within(30, check)

    def test_a_deleted_record_can_be_made_anew(self, backend: Backend) -> None:
        """After a deletion the old revision is void and the key is free."""
        records = backend.records

        async def check() -> None:
            revision = await records.put("r", b"1", expected=None)
            await records.delete("r")
            await records.delete("r")
            with pytest.raises(ArtifactNotFound):
                await records.get("r")
            with pytest.raises(VersionConflict):
                await records.put("r", b"2", expected=revision)
            await records.put("r", b"", expected=None)
            assert (await records.get("r")).value == b""

        within(30, check)

    def test_records_are_listed_by_whole_segments_in_order(self, backend: Backend) -> None:
        """Records list like objects do."""
        records = backend.records

        async def listed(prefix: str) -> list[str]:
            return [record.key async for record in records.list(prefix)]

        async def check() -> None:
            assert await listed("") == []
            for key in RECORD_KEYS:
                await records.put(key, key.encode(), expected=None)
            assert await listed("") == sorted(RECORD_KEYS, key=str.encode)
            assert await listed("t") == await listed("t/") == ["t", "t/1", "t/1/x", "t/10"]
            assert await listed("t/1") == ["t/1", "t/1/x"]
            for key in RECORD_KEYS:
                assert (await records.get(key)).value == key.encode()
                await records.delete(key)
            assert await listed("") == []

        within(30, check)

    def test_a_record_has_at_most_64_kib(self, backend: Backend) -> None:
        """The limit is the same everywhere, and so is the rule of keys."""

        async def check() -> None:
            await backend.records.put("r", b"x" * 65_536, expected=None)
            assert (await backend.records.get("r")).value == b"x" * 65_536
            with pytest.raises(BoundExceeded):
                await backend.records.put("s", b"x" * 65_537, expected=None)
            for key in ("", "a//b", "..", "k" * 1025):
                with pytest.raises(KeySyntaxError):
                    await backend.records.put(key, b"1", expected=None)

        within(30, check)

    def test_no_increment_of_racing_writers_is_lost(self, backend: Backend) -> None:
        """Twenty writers that read, add one and write conditionally count to twenty."""

        async def check() -> None:
            await backend.records.put("n", b"0", expected=None)
            await asyncio.gather(*(_increment(backend.records) for _ in range(20)))
            assert (await backend.records.get("n")).value == b"20"

        within(60, check)


async def _increment(records: RecordArea) -> None:
    while True:
        found = await records.get("n")
        try:
            await records.put("n", str(int(found.value) + 1).encode(), expected=found.revision)
        except VersionConflict:
            continue
        return
