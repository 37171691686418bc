"""Writing into a bucket.

A larger object is uploaded under a name that nobody knows, then an empty pointer to it appears under the key, with the
same conditional request that stores a small one. So both appear whole or not at all, create-only or not.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime

from kmnb.core.metadata import ObjectInfo
from kmnb.errors import AlreadyExists, ArtifactNotFound, StoreError, StoreUnavailable
from kmnb.storage._attributes import final_attributes
from kmnb.storage._obstore import Bucket
from kmnb.storage._protocols import Attributes
from kmnb.storage._source import Intake
from kmnb.storage.backends._bucket_layout import SMALL_MAX_BYTES, Facts, Paths, fit_facts, pack_facts, read_facts
from kmnb.storage.backends._bucket_upload import LET_GO_SECONDS

CREATE_PAUSES = (0.02, 0.1, 0.3)
"""Seconds before something is created again where the store says that it is there and it is not."""


class BucketWriter:
    """Writes the objects of one area, and removes what lies apart from them.

    Args:
        bucket: Where things lie.
        paths: Paths of the area.
        prefix: What stands before everything of the store.
        home: What the identities of the area begin with.
        metadata_bytes: What fits into an object's own metadata.
    """

    def __init__(self, bucket: Bucket, paths: Paths, *, prefix: str, home: str, metadata_bytes: int) -> None:
        self._bucket, self._paths, self._prefix, self._home = bucket, paths, prefix, home
        self._parts, self._facts, self._limit = f"{prefix}parts/", f"{prefix}facts/", metadata_bytes

    async def put(self, key: str, intake: Intake, *, create_only: bool, attributes: Attributes | None) -> ObjectInfo:
        """Store an object; see ``ObjectArea.put``."""
        path, thing = self._paths.path(key), f"artifact {key!r}"
        facts = Facts(self._home + secrets.token_hex(16), "", key=key if self._paths.is_cut(path) else None)
        data = await intake.whole(SMALL_MAX_BYTES)
        before = None if create_only else await self.before(path, thing, create_only=False)
        publishing = None
        try:
            if data is None:
                facts = replace(facts, parts=True)
                parts, owner = self._parts + facts.identity, self._owner(facts, path)
                await self._bucket.upload(parts, intake.rest(), thing=thing, metadata=owner)
            facts = replace(facts, size=intake.size)
            facts = replace(facts, digest=await intake.digest(), attributes=final_attributes(attributes))
            work = self._publish(path, data or b"", facts, create_only=create_only, thing=thing)
            publishing = asyncio.ensure_future(work)
            await _settle(publishing)
        except BaseException:
            if publishing is None or _has_failed(publishing):
                # Nothing points to it. A store that hangs holds nobody up; then it is collected later.
                await asyncio.wait({asyncio.ensure_future(self.drop(facts))}, timeout=LET_GO_SECONDS)
            raise
        if before is not None:
            await self.drop(before, path)
        return facts.info(key, len(data or b""), datetime.now(UTC))

    async def before(self, path: str, thing: str, *, create_only: bool) -> Facts | None:
        """Tell what is under a key now.

        Raises:
            AlreadyExists: ``create_only`` and there is something.
        """
        try:
            found = await self._bucket.head(path, thing=thing)
        except ArtifactNotFound:
            return None
        if create_only:
            raise AlreadyExists(thing, "the key is taken", "Choose another key")
        return read_facts(found.metadata, found.revision)

    def _owner(self, facts: Facts, path: str) -> str:
        """What parts and facts tell of the object they belong to: where it is below the store's prefix."""
        return pack_facts(Facts(facts.identity, "", key=path.removeprefix(self._prefix)))

    async def _publish(self, path: str, data: bytes, facts: Facts, *, create_only: bool, thing: str) -> None:
        kept = fit_facts(facts, self._limit)
        try:
            if kept.apart:
                told = json.dumps({"attributes": dict(facts.attributes)}).encode()
                owner = self._owner(facts, path)
                await self._bucket.put(self._facts + facts.identity, told, thing=thing, metadata=owner)
            if create_only:
                await self._create(path, data, kept, thing=thing)
            else:
                await self._bucket.put(path, data, metadata=pack_facts(kept), thing=thing)
        except ArtifactNotFound:
            raise StoreUnavailable(thing, "the bucket does not exist", "Make the bucket, or check the URL") from None

    async def _create(self, path: str, data: bytes, kept: Facts, *, thing: str) -> None:
        """Store what must not be there; where that fails and nothing is there, whoever was faster is gone again."""
        pauses = iter(CREATE_PAUSES)
        while True:
            try:
                await self._bucket.put(path, data, mode="create", metadata=pack_facts(kept), thing=thing)
                return
            except AlreadyExists:
                with suppress(ArtifactNotFound):
                    found = await self._bucket.head(path, thing=thing)
                    # A request that was sent again after a lost answer meets its own first success.
                    if read_facts(found.metadata, found.revision).identity == kept.identity:
                        return
                    raise
                pause = next(pauses, None)
                if pause is None:
                    raise
                await asyncio.sleep(pause)

    async def drop(self, facts: Facts, path: str | None = None) -> None:
        """Remove what lies apart; what cannot be removed is collected later.

        Args:
            facts: Facts of an object that is gone or was never there.
            path: Where it was; parts that say they belong to another object, which this was a copy of, stay.
        """
        apart = facts.apart or fit_facts(facts, self._limit).apart
        for folder, is_there in ((self._parts, facts.parts), (self._facts, apart)):
            where = folder + facts.identity
            if is_there and (path is None or await self._belongs(where, path)):
                await self._bucket.discard(where, thing="what lay apart")

    async def _belongs(self, where: str, path: str) -> bool:
        with suppress(ArtifactNotFound, StoreError):
            told = await self._bucket.head(where, thing="what lies apart")
            # Older stores wrote the whole path.
            return read_facts(told.metadata, told.revision).key in (path.removeprefix(self._prefix), path)
        return False


async def _settle(publishing: asyncio.Future[None]) -> None:
    """Wait for what makes an object visible; when cancelled, still wait a little for how it ends."""
    try:
        await asyncio.shield(publishing)
    except asyncio.CancelledError:
        publishing.add_done_callback(_has_failed)
        await asyncio.wait({publishing}, timeout=LET_GO_SECONDS)
        raise


def _has_failed(publishing: asyncio.Future[None]) -> bool:
    return publishing.done() and (publishing.cancelled() or publishing.exception() is not None)
