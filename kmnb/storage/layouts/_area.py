"""Versions of a peer as objects of the named area.

The keys are those of kmnb's own layout; a shelf knows where each lies. What the peer has no place for (digest,
preview, schema, index) is kept in kmnb's own folder beside the peer's tree, under the same key and the mark that the
version carries: what the peer wrote itself, or a faster writer, is never described by facts of something else.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
import tempfile
from collections.abc import AsyncIterator
from contextlib import aclosing, suppress
from datetime import UTC, datetime
from functools import partial
from typing import Any, cast

from kmnb.core.addresses import NamedAddress, Place, parse_app, parse_place
from kmnb.core.bounds import WINDOW_BYTES
from kmnb.core.metadata import Attribute, ObjectInfo
from kmnb.errors import AlreadyExists, ArtifactNotFound, DigestMismatch, KeySyntaxError
from kmnb.storage._attributes import final_attributes, whole
from kmnb.storage._keys import check_key, check_prefix, is_below, is_key
from kmnb.storage._life import Life
from kmnb.storage._protocols import Attributes, ObjectArea, Progress, Source
from kmnb.storage._ranges import check_range, same_object
from kmnb.storage._source import Intake, known_size
from kmnb.storage._threads import in_thread
from kmnb.storage.backends._bucket_layout import SMALL_MAX_BYTES
from kmnb.storage.backends._file_disk import Staged
from kmnb.storage.layouts import _companions as companions
from kmnb.storage.layouts._shelf import About, Shelf, Slot, Told
from kmnb.storage.layouts._tree import append, is_number

READ_BYTES = 8 * WINDOW_BYTES
"""What one request of a stream reads."""
_MARK, _DIGEST, _SIZE = "peer-mark", "peer-digest", "peer-size"
_OWN_MARK = re.compile(r"[0-9a-f]{16}\Z")


def _some_address(place: Place) -> NamedAddress:
    return NamedAddress(place.app, place.user, place.session, place.filename or "x")


def _facts_key(key: str, mark: str) -> str:
    """Give the key of the facts of one writing of a version; older stores kept them under the version's own."""
    longer = f"{key}/{mark}"
    return longer if _OWN_MARK.match(mark) and is_key(longer) else key


class LayoutArea:
    """The named area in a peer's layout.

    Args:
        shelf: Where versions lie.
        own: kmnb's own area for facts, and for everything that is no version.
        life: Whether the store is open.
    """

    def __init__(self, shelf: Shelf, own: ObjectArea, *, life: Life) -> None:
        self.shelf, self._own, self._life = shelf, own, life

    async def _find(self, key: str) -> tuple[NamedAddress, int] | None:
        """Tell which version a key means; None for a key that means none."""
        self._life.check()
        start, _, number = check_key(key).rpartition("/")
        if not is_number(number) or start.count("/") not in (3, 4):
            return None
        place = parse_place(start)
        if place is not None and place.filename is not None:
            return NamedAddress(place.app, place.user, place.session, place.filename), int(number)
        if "/==" in f"/{start}":
            async for slot in self._walk(None):
                if slot.address.key == start:
                    return slot.address, int(number)
            raise ArtifactNotFound(f"artifact {key!a:.1000}", "there is none")
        return None

    def _holds(self, address: NamedAddress) -> bool:
        """Whether the layout keeps an address apart from others, and anybody could ask for it; nothing else is read."""
        try:
            NamedAddress.of(address.name, app=address.app, user=address.user, session=address.session or "-")
            self.shelf.check(address)
        except KeySyntaxError:
            return False
        return True

    def _walk(self, place: Place | None) -> AsyncIterator[Slot]:
        return self.shelf.walk(place)

    async def _told(self, key: str, address: NamedAddress, version: int) -> Told:
        try:
            self.shelf.check(address)
        except KeySyntaxError as error:
            raise ArtifactNotFound(f"artifact {address.name!a:.200}", error.reason) from None
        return await self.shelf.head(address, version)

    async def head(self, key: str) -> ObjectInfo:
        """Tell the facts of a version; see ``ObjectArea.head``."""
        found = await self._find(key)
        if found is None:
            return await self._own.head(key)
        told = await self._told(key, *found)
        return await self._info(key, found, told)

    async def _info(self, key: str, found: tuple[NamedAddress, int], told: Told) -> ObjectInfo:
        address, version = found
        facts = await self._facts(key, told)
        if facts is not None:
            return facts
        if self.shelf.has_companions:
            told = await companions.explained(self.shelf, address, version, told=told)
        # What a peer wrote may hold halves of surrogate pairs, which no store of kmnb takes.
        attributes = {name: whole(value) for name, value in told.attributes.items()}
        if not address.is_short:
            attributes[Attribute.IDENTITY] = json.dumps([address.app, address.user, address.session, address.filename])
        return ObjectInfo(key, told.size, None, told.modified, told.identity, attributes)

    async def _facts(self, key: str, told: Told) -> ObjectInfo | None:
        """What kmnb knows of a version that it wrote itself; None for one of the peer."""
        if told.mark is None:
            return None
        kept = await self._kept(_facts_key(key, told.mark)) or await self._kept(key)
        if kept.pop(_MARK, None) != told.mark or kept.pop(_SIZE, None) != str(told.size):
            return None
        return ObjectInfo(key, told.size, kept.pop(_DIGEST, None), told.modified, told.identity, kept)

    async def _kept(self, key: str) -> dict[str, str]:
        try:
            return dict((await self._own.head(key)).attributes)
        except ArtifactNotFound:
            return {}

    async def faults(self, key: str) -> tuple[str, ...]:
        """Tell what is wrong with a version that the peer wrote."""
        found = await self._find(key)
        if found is None:
            return ()
        told = await self._told(key, *found)
        if await self._facts(key, told) is None and self.shelf.has_companions:
            told = await companions.explained(self.shelf, *found, told=told)
        return told.faults

    async def list(self, prefix: str = "") -> AsyncIterator[ObjectInfo]:
        """Walk versions, sorted; companions of what is there are left out. See ``ObjectArea.list``."""
        below = check_prefix(prefix)
        self._life.check()
        place = parse_place(below) if below else None
        if place is not None and not self._holds(_some_address(place)):
            return
        app = parse_app(below) if place is None and below else None
        slots = [slot async for slot in self.shelf.walk(place, app=app)]
        names = {slot.address for slot in slots}
        if place is not None and place.filename is not None and self.shelf.has_companions:
            described = companions.described_by(NamedAddress(place.app, place.user, place.session, place.filename))
            if described is not None and self._holds(described):
                async for _ in self._walk(parse_place(described.key)):
                    return
        found = {}
        for slot in slots:
            if self.shelf.has_companions and companions.described_by(slot.address) in names:
                continue
            if not self._holds(slot.address):
                continue
            key = slot.address.version_key(slot.version)
            if is_below(key, below):
                found[key] = ObjectInfo(key, slot.size, created_at=slot.modified)
        for key in sorted(found, key=str.encode):
            yield found[key]

    async def get_range(self, key: str, start: int, end: int, *, info: ObjectInfo | None = None) -> bytes:
        """Read some bytes; see ``ObjectArea.get_range``."""
        check_range(start, end)
        found = await self._find(key)
        if found is None:
            return await self._own.get_range(key, start, end, info=info)
        known = info
        if known is None or known.identity is None or known.size is None:
            told = await self._told(key, *found)
            known = ObjectInfo(key, told.size, None, told.modified, told.identity)
        self.shelf.check(found[0])
        stop = min(end, known.size or 0)
        if start >= stop:
            return b""
        data, identity = await self.shelf.read(*found, (start, stop))
        same_object(ObjectInfo(key, identity=identity), known)
        if len(data) != stop - start:
            raise DigestMismatch(f"artifact {key!a:.1000}", "it is shorter than it was", "Ask for its facts again")
        return data

    async def stream(self, key: str, *, info: ObjectInfo | None = None) -> AsyncIterator[bytes]:
        """Read all of it; checked where kmnb wrote it. See ``ObjectArea.stream``."""
        if await self._find(key) is None:
            async with aclosing(cast("Any", self._own.stream(key, info=info))) as windows:
                async for window in windows:
                    yield window
            return
        known = await self.head(key)
        same_object(known, info)
        sha, size = hashlib.sha256(), known.size or 0
        for start in range(0, size, READ_BYTES):
            data = await self.get_range(key, start, start + READ_BYTES, info=known)
            sha.update(data)
            for place in range(0, len(data), WINDOW_BYTES):
                yield data[place : place + WINDOW_BYTES]
        if known.digest not in (None, f"sha256:{sha.hexdigest()}"):
            raise DigestMismatch(f"artifact {key!a:.1000}", "it was changed since it was stored", "Store it again")

    async def put(
        self,
        key: str,
        source: Source,
        *,
        create_only: bool = False,
        attributes: Attributes | None = None,
        progress: Progress | None = None,
    ) -> ObjectInfo:
        """Store a version whole, with its companion; see ``ObjectArea.put``."""
        found = await self._find(key)
        if found is None:
            return await self._own.put(key, source, create_only=create_only, attributes=attributes, progress=progress)
        self.shelf.check(found[0])
        if create_only and known_size(source) is None:
            await self._refuse_taken(key, found)
        async with aclosing(Intake(source, progress)) as intake:
            data: bytes | Staged | None = await intake.whole(SMALL_MAX_BYTES)
            try:
                if data is None:
                    data = Staged(self.shelf.staging or tempfile.gettempdir())
                    await in_thread(partial(append, data, b"", key))
                    async for block in intake.rest():
                        await in_thread(partial(append, data, block, key))
                told = final_attributes(attributes)
                about = About(told, secrets.token_hex(8), datetime.now(UTC), intake.size)
                digest = f"sha256:{await intake.digest()}"
                if not create_only:
                    await self.delete(key)
                await self._publish(key, found, data, about=about, digest=digest)
            finally:
                if isinstance(data, Staged):
                    data.discard()
        try:
            return await self.head(key)
        except ArtifactNotFound:
            # It was stored; that somebody deleted it since is no failure of this call, and nothing of it stays.
            await self._leave(key, found, about.mark)
            return ObjectInfo(key, about.size, digest, about.moment, None, about.attributes)

    async def _refuse_taken(self, key: str, found: tuple[NamedAddress, int]) -> None:
        """Tell that a number is taken before a source is read; only the write itself decides."""
        with suppress(ArtifactNotFound):
            await self.shelf.head(*found)
            raise AlreadyExists(f"artifact {key!a:.1000}", "there is one already", "Choose another key")

    async def _publish(
        self, key: str, found: tuple[NamedAddress, int], data: bytes | Staged, *, about: About, digest: str
    ) -> None:
        address, version = found
        kept = {**about.attributes, _MARK: about.mark, _DIGEST: digest, _SIZE: str(about.size)}
        facts = _facts_key(key, about.mark)
        await self._own.put(facts, b"", attributes=kept)
        try:
            await self.shelf.write(address, version, data, about=about)
        except AlreadyExists:
            await self._own.delete(facts)
            raise
        if self.shelf.has_companions and companions.described_by(address) is None:
            try:
                await companions.write_companion(self.shelf, address, version, about=about, digest=digest)
            except BaseException:
                await self.shelf.delete(address, version)
                raise

    async def _leave(self, key: str, found: tuple[NamedAddress, int], mark: str) -> None:
        """Remove what describes one writing of a version that is gone, also what its writer adds just now."""
        await self._own.delete(_facts_key(key, mark))
        if self.shelf.has_companions:
            await companions.take_back(self.shelf, *found, mark=mark)

    async def delete(self, key: str) -> None:
        """Remove a version with what describes it; see ``ObjectArea.delete``."""
        found = await self._find(key)
        if found is not None:
            try:
                self.shelf.check(found[0])
            except KeySyntaxError:
                return
            mark = None
            with suppress(ArtifactNotFound):
                mark = (await self.shelf.head(*found)).mark
            if self.shelf.has_companions:
                await companions.drop_companion(self.shelf, *found)
            await self.shelf.delete(*found)
            if mark is not None:
                await self._leave(key, found, mark)
        await self._own.delete(key)
