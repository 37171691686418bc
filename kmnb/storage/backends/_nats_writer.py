"""Writing an object: chunks in a window of publishes in flight, then the meta message that makes it visible."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from datetime import UTC, datetime
from typing import Any

from kmnb.errors import AlreadyExists, StoreUnavailable
from kmnb.storage._protocols import Attributes, Progress, Source
from kmnb.storage._source import blocks, known_size
from kmnb.storage.backends import _nats_errors as failures
from kmnb.storage.backends._nats_bucket import Bucket
from kmnb.storage.backends._nats_layout import CHUNK_BYTES, Meta, meta_subject, read_meta, write_digest, write_meta

WINDOW_CHUNKS = 32
"""Chunks in flight: published and not yet acknowledged."""
ACK_SECONDS = 10.0
"""How long an acknowledgement may take."""


class ObjectWriter:
    """One put."""

    def __init__(self, bucket: Bucket, key: str, previous: Meta | None) -> None:
        self.bucket, self.key, self.previous = bucket, key, previous
        self.thing = f"object {key}"
        self.nuid, self.subject = "", ""
        self._room = asyncio.Semaphore(WINDOW_CHUNKS)
        self._failure: BaseException | None = None
        self.size = self.chunks = 0

    async def write(
        self, source: Source, *, create_only: bool, attributes: Attributes | None, progress: Progress | None
    ) -> Meta:
        """Store it; on any failure nothing stays."""
        from nats.nuid import NUID

        self.nuid = NUID().next().decode()
        self.subject = f"$O.{self.bucket.name}.C.{self.nuid}"
        try:
            digest = await self._send(source, progress)
            extra = attributes() if callable(attributes) else attributes
            return await self._commit(digest, dict(extra or {}), create_only)
        except BaseException:
            if self.chunks:
                await self.bucket.purge(self.subject, thing=self.thing)
            raise

    async def _send(self, source: Source, progress: Progress | None) -> bytes:
        client = await self.bucket.link.client()
        inbox = client.new_inbox()
        acks = await client.subscribe(f"{inbox}.*", cb=self._on_ack)
        digest, total = hashlib.sha256(), known_size(source)
        try:
            async with aclosing(chunks_of(source)) as walk:
                async for chunk in walk:
                    await asyncio.to_thread(digest.update, chunk)
                    await self._publish(client, chunk, f"{inbox}.{self.chunks}")
                    if progress is not None:
                        progress(self.size, total)
            for _ in range(WINDOW_CHUNKS):
                await self._reserve()
        finally:
            await acks.unsubscribe()
        return digest.digest()

    async def _reserve(self) -> None:
        try:
            async with asyncio.timeout(ACK_SECONDS):
                await self._room.acquire()
        except TimeoutError:
            raise StoreUnavailable(self.thing, "the server did not acknowledge in time") from None
        if self._failure is not None:
            raise self._failure

    async def _publish(self, client: Any, chunk: bytes, reply: str) -> None:
        await self._reserve()
        await client.publish(self.subject, chunk, reply=reply)
        self.chunks += 1
        self.size += len(chunk)

    async def _on_ack(self, message: Any) -> None:
        try:
            error = failures.ApiError.of(json.loads(message.data))
        except ValueError:
            error = failures.ApiError(0, 503, "no stream took the chunk")
        if error is not None and self._failure is None:
            self._failure = failures.translate(error, self.thing, self.bucket.link.address.shown)
        self._room.release()

    async def _commit(self, digest: bytes, attributes: dict[str, str], create_only: bool) -> Meta:
        document = write_meta(
            {
                "name": self.key,
                "metadata": attributes,
                "options": {"max_chunk_size": CHUNK_BYTES},
                "bucket": self.bucket.name,
                "nuid": self.nuid,
                "size": self.size,
                "mtime": datetime.now(UTC).isoformat().replace("+00:00", "Z"),
                "chunks": self.chunks,
                "digest": write_digest(digest),
            }
        )
        headers = {"Nats-Rollup": "sub", "Nats-Msg-Id": f"{self.nuid}.meta"}
        if create_only:
            headers["Nats-Expected-Last-Subject-Sequence"] = str(self.previous.sequence if self.previous else 0)
        subject = meta_subject(self.bucket.name, self.key)
        message = await self.bucket.link.request(subject, document, thing=self.thing, headers=headers)
        answer = json.loads(message.data)
        error = failures.ApiError.of(answer)
        if error is not None:
            if create_only and error.code in failures.WRONG_SEQUENCE:
                raise AlreadyExists(self.thing, "there is one already", "Choose another key")
            raise failures.translate(error, self.thing, self.bucket.link.address.shown)
        return read_meta(self.bucket.name, document, sequence=int(answer["seq"]), stored_at=None)


async def chunks_of(source: Source) -> AsyncGenerator[bytes, None]:
    """Cut a source into chunks of one size; only the last is smaller."""
    rest = bytearray()
    async with aclosing(blocks(source)) as walk:
        async for block in walk:
            rest += block
            while len(rest) >= CHUNK_BYTES:
                yield bytes(rest[:CHUNK_BYTES])
                del rest[:CHUNK_BYTES]
    if rest:
        yield bytes(rest)
