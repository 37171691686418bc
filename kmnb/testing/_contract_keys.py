"""Keys and listings: names are kept as given, prefixes end at segments, bad keys are refused by every verb."""

from __future__ import annotations

import unicodedata
from typing import Any

import pytest

from kmnb.errors import KeySyntaxError
from kmnb.storage import Store
from kmnb.storage._protocols import Backend
from kmnb.testing._contract_base import MIB, ContractBase, content, within

NAMES = (
    "a%20b", "a b", "a+b", "a%2520b", "step%26.png", "x:y", ".hidden", "a..b", "...", "=41", "A", "=~x",
    unicodedata.normalize("NFC", "é.csv"), unicodedata.normalize("NFD", "é.csv"), "日本.json", "\U0001f600",
    "\uffee", "z\U0001f600/1", "z\uffee/1", "z~",
    "CASE", "case", "Case", "~", "a~", "@", "a@", "-", "--x", "#frag", "q?x=1", "a&b;c", "'\"`", "<b>", "{x}", "[1]",
    "*", ">", "a.>", "$KV", "%", "%%", "|", "^", "con", "nul.txt", "x" * 200, "metadata.json", "a@/b", "a/b", "a/b/c",
)  # fmt: skip
"""Names that some store, file system or URL treats in a way of its own."""
LONGEST = ("k" * 1024, "é" * 512, "/".join("ab" for _ in range(341)) + "x", "t/" + "l" * 1022, "t/" + "日" * 340 + "xx",
           "A" * 1024, "=~" + "0" * 64, "k" * 958 + "=~" + "0" * 64, "k" * 1023, "k" * 900)  # fmt: skip
"""Keys of up to 1,024 UTF-8 bytes."""
BAD_KEYS: tuple[Any, ...] = (
    "", "/", "/a", "a/", "a//b", ".", "..", "a/../b", "./a", "a/.", "a\0b", "a\\b", "a\nb", "\x1b[0m", "a\x7f",
    "k" * 1025, "é" * 513, "k" * 10_000, "a/" * 512 + "b", "\ud800", None, 5, b"a",
)  # fmt: skip
THREADS = ("ns/crew/t1/a/x-0", "ns/crew/t10/a/x-0", "ns/crew/t1-x/a/x-0", "ns/crew/t1.x/x", "ns/crew2/t1/a/x-0",
           "ns/crew/t1", "ns/crew/t1/b", "ns/crew/T1/a", "ns/crew/t/1", "ns")  # fmt: skip


class KeyContract(ContractBase):
    """Keys, listings and the two areas."""

    many = 1100
    """Objects of the long listing; buckets tell 1,000 a page."""

    def test_every_name_is_an_object_of_its_own(self, store: Store) -> None:
        """Names are never decoded, folded or normalised: each is listed as given and holds its own bytes."""
        for name in NAMES:
            store.put(name, name.encode(), create_only=True)
        assert [info.key for info in store.list()] == sorted(NAMES, key=str.encode)
        for name in NAMES:
            assert b"".join(store.stream(name)) == name.encode()
            assert store.head(name).key == name
        for name in NAMES:
            store.delete(name)
        assert list(store.list()) == []

    def test_keys_of_1024_bytes_work_everywhere(self, store: Store) -> None:
        """The longest keys are stored, listed in order, read and deleted like others."""
        for key in LONGEST:
            assert len(key.encode()) <= 1024
            store.put(key, key.encode(), create_only=True, attributes={"preview": "é" * 1000})
        assert [info.key for info in store.list()] == sorted(LONGEST, key=str.encode)
        assert [info.key for info in store.list("t")] == sorted((k for k in LONGEST if k[:2] == "t/"), key=str.encode)
        for key in LONGEST:
            assert [info.key for info in store.list(key)] == [key]
            assert b"".join(store.stream(key)) == key.encode()
            assert store.head(key).size == len(key.encode())
            store.delete(key)
        assert list(store.list()) == []

    @pytest.mark.parametrize("key", BAD_KEYS, ids=[ascii(key)[:24] for key in BAD_KEYS])
    def test_a_key_that_cannot_be_is_refused_by_every_verb(self, store: Store, key: Any) -> None:
        """Each verb raises KeySyntaxError, before anything is sent."""
        verbs = (lambda: store.put(key, b"1"), lambda: store.head(key), lambda: store.get_range(key, 0, 1),
                 lambda: list(store.stream(key)), lambda: store.delete(key))  # fmt: skip
        for verb in verbs:
            with pytest.raises(KeySyntaxError) as caught:
                verb()
            assert len(str(caught.value)) < 2048
        assert list(store.list()) == []

    @pytest.mark.parametrize("prefix", ["/", "a//", "..", "/a", "a//b", "a\0", "k" * 1025, None])
    def test_a_prefix_that_cannot_be_is_refused(self, store: Store, prefix: Any) -> None:
        """So does a listing."""
        with pytest.raises(KeySyntaxError):
            list(store.list(prefix))

    @pytest.mark.parametrize("prefix", ["ns/crew/t1", "ns/crew", "ns", "ns/crew/t1/a", "ns/crew/t", "n"])
    def test_a_prefix_ends_at_a_segment(self, store: Store, prefix: str) -> None:
        """``t1`` gives neither ``t10`` nor ``t1-x``; the trailing slash is optional."""
        for key in THREADS:
            store.put(key, b"1")
        expected = sorted(key for key in THREADS if key == prefix or key.startswith(f"{prefix}/"))
        assert [info.key for info in store.list(prefix)] == expected
        assert [info.key for info in store.list(f"{prefix}/")] == expected

    def test_emptied_and_empty_listings_end(self, store: Store) -> None:
        """Empty, never written and emptied stores list nothing, at once."""
        assert list(store.list()) == []
        assert list(store.list("never/was")) == []
        for number in range(3):
            store.put(f"t/{number}", b"1")
        assert len(list(store.list("t"))) == 3
        for number in range(3):
            store.delete(f"t/{number}")
        assert list(store.list("t")) == list(store.list()) == []

    def test_a_listing_tells_size_and_time(self, store: Store) -> None:
        """Sizes are true for empty, small and large objects."""
        sizes = {"a/empty": 0, "a/large": 9 * MIB, "a/small": 3}
        for key, size in sizes.items():
            store.put(key, content(size), attributes={"preview": "p"})
        found = {info.key: info for info in store.list("a")}
        assert {key: info.size for key, info in found.items()} == sizes
        for key, info in found.items():
            created = store.head(key).created_at
            assert info.created_at is not None
            assert created is not None
            assert abs((info.created_at - created).total_seconds()) <= 1

    def test_a_listing_of_many_is_complete_and_can_be_left(self, store: Store) -> None:
        """Pages are joined without gap or double; leaving early does no harm."""
        keys = [f"t/{number:04d}" for number in range(self.many)]
        within(100, lambda: _put_all(store._backend, keys))
        assert [info.key for info in store.list("t")] == keys
        walk = iter(store.list("t"))
        assert next(walk).key == keys[0]
        walk.close()  # type: ignore[attr-defined]
        assert store.head(keys[-1]).size == 1

    def test_the_two_areas_do_not_see_each_other(self, backend: Backend) -> None:
        """Discussions, named artifacts and records may use the same keys."""

        async def check() -> None:
            await backend.discussions.put("x/1", b"discussion")
            await backend.named.put("x/1", b"named", attributes={"a": "b"})
            await backend.named.put("x/2", b"two")
            await backend.records.put("x/1", b"record", expected=None)
            assert [info.key async for info in backend.discussions.list()] == ["x/1"]
            assert [info.key async for info in backend.named.list()] == ["x/1", "x/2"]
            assert [record.key async for record in backend.records.list()] == ["x/1"]
            await backend.discussions.delete("x/1")
            assert await backend.named.get_range("x/1", 0, 9) == b"named"
            assert (await backend.named.head("x/1")).attributes == {"a": "b"}
            assert (await backend.records.get("x/1")).value == b"record"

        within(30, check)


async def _put_all(backend: Backend, keys: list[str]) -> None:
    import asyncio

    async def some(part: list[str]) -> None:
        for key in part:
            await backend.discussions.put(key, b"1")

    await asyncio.gather(*(some(keys[start::8]) for start in range(8)))
