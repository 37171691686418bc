"""What a handle knows without asking: facts of an envelope, of the store's ``head``, or of a listing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from kmnb.core.addresses import discussion_uri
from kmnb.core.envelope import BUCKETS, SCHEMA_VERSION, Envelope
from kmnb.core.keys import DiscussionKey
from kmnb.core.metadata import Area, Attribute, ObjectInfo, json_in, number_in
from kmnb.errors import DigestMismatch


class HandleFacts:
    """Properties of a handle. None of them does I/O; unknown facts are None.

    Args:
        key: Key in its area.
        area: Which of the two areas.
        info: What the store told of it.
        envelope: The envelope that it came from.
        uri: Its address; None makes it from the key.
        version: Version of a named artifact.
        ttl_seconds: Age at which the store removes it; None where nothing does.
    """

    def __init__(
        self,
        key: str,
        *,
        area: Area = Area.DISCUSSIONS,
        info: ObjectInfo | None = None,
        envelope: Envelope | None = None,
        uri: str | None = None,
        version: int | None = None,
        ttl_seconds: float | None = None,
    ) -> None:
        self._key, self._area, self._info, self._envelope = key, area, info, envelope
        self._uri, self._version, self._ttl_seconds = uri, version, ttl_seconds

    def _as_claimed(self, info: ObjectInfo) -> ObjectInfo:
        """Hold what the store told against the envelope that the handle came from.

        Args:
            info: What the store told.

        Returns:
            The same, with the envelope's digest where the store knows none, so that the bytes are held against it.

        Raises:
            DigestMismatch: The envelope tells of other bytes.
        """
        claimed = self._envelope
        if claimed is None:
            return info
        for what, told, true in (("digest", claimed.digest, info.digest), ("bytes", claimed.bytes, info.size)):
            if told is not None and true is not None and told != true:
                step = "Get it by its key, or ask for another envelope."
                raise DigestMismatch(f"envelope of {self._key!r}", f"says {what} {told}, the store has {true}", step)
        return replace(info, digest=claimed.digest) if info.digest is None and claimed.digest is not None else info

    @property
    def key(self) -> str:
        """Key in the store."""
        return self._key

    @property
    def uri(self) -> str:
        """Address that other tools understand."""
        return self._uri or discussion_uri(self._key)

    @property
    def version(self) -> int | None:
        """Version of a named artifact; None for a discussion artifact."""
        return self._version

    @property
    def size(self) -> int | None:
        """Size in bytes; what an envelope says until the store was asked."""
        if self._info is not None and self._info.size is not None:
            return self._info.size
        return self._envelope.bytes if self._envelope is not None else None

    @property
    def digest(self) -> str | None:
        """``sha256:`` and 64 hexadecimal digits; what an envelope says until the store was asked."""
        if self._info is not None and self._info.digest is not None:
            return self._info.digest
        return self._envelope.digest if self._envelope is not None else None

    @property
    def created_at(self) -> datetime | None:
        """When it was stored, UTC."""
        if self._info is not None and self._info.created_at is not None:
            return self._info.created_at
        return self._envelope.created_at if self._envelope is not None else None

    @property
    def rows(self) -> int | None:
        """Number of records, where it was counted."""
        number = self._number(Attribute.ROWS)
        return number if number is not None or self._envelope is None else self._envelope.rows

    @property
    def media_type(self) -> str | None:
        """MIME type."""
        told = self._attributes.get(Attribute.CONTENT_TYPE)
        return told if told is not None or self._envelope is None else self._envelope.content_type

    @property
    def expires_at(self) -> datetime | None:
        """When the TTL removes it, UTC; None where it is not known or nothing removes it."""
        if self._envelope is not None and self._envelope.expires_at is not None:
            return self._envelope.expires_at
        if self._ttl_seconds is None or self.created_at is None:
            return None
        return self.created_at + timedelta(seconds=self._ttl_seconds)

    @property
    def _exit_code(self) -> int | None:
        text = self._attributes.get(Attribute.EXIT_CODE, "")
        number = number_in(text.removeprefix("-"))
        if number is not None:
            return -number if text.startswith("-") else number
        return None if self._envelope is None else self._envelope.exit_code

    @property
    def preview(self) -> str | None:
        """What can be told of the content without a fetch; untrusted text."""
        told = self._attributes.get(Attribute.PREVIEW)
        if told is None and self._envelope is not None:
            return self._envelope.preview
        if self._exit_code:
            # A crash must not read as a short but whole result.
            return f"failed with exit code {self._exit_code}, the result may be incomplete\n{told or ''}"
        return told

    def envelope(self) -> dict[str, Any]:
        """Give the reference that travels instead of the bytes, as JSON values of at most 4,096 bytes."""
        return self.reference().to_dict()

    def reference(self) -> Envelope:
        """Give the envelope as an object, made of what is known here."""
        if self._info is None or not self._info.attributes:
            known = self._envelope
            if known is not None:
                return known
        columns = self._attributes.get(Attribute.COLUMNS)
        key = DiscussionKey.parse(self._key) if self._area is Area.DISCUSSIONS else None
        return Envelope(
            key=self._key,
            bucket=BUCKETS[self._area],
            content_type=self.media_type,
            bytes=self.size,
            rows=self.rows,
            tool=self._attributes.get(Attribute.TOOL) or (key.tool if key else None),
            agent=self._attributes.get(Attribute.AGENT) or (key.agent if key else None),
            created_at=self.created_at,
            preview=self.preview,
            schema_version=SCHEMA_VERSION,
            digest=self.digest,
            lines=self._number(Attribute.LINES),
            columns=_texts(columns),
            encoding=self._attributes.get(Attribute.ENCODING),
            thread_id=self._attributes.get(Attribute.THREAD) or (key.thread if key else None),
            expires_at=self.expires_at,
            exit_code=self._exit_code,
            args_digest=self._attributes.get(Attribute.ARGS_DIGEST),
        )

    @property
    def _attributes(self) -> Mapping[str, str]:
        return self._info.attributes if self._info is not None else {}

    def _number(self, name: Attribute) -> int | None:
        return number_in(self._attributes.get(name))


def _texts(text: str | None) -> tuple[str, ...] | None:
    value = json_in(text)
    return tuple(map(str, value)) if isinstance(value, list) else None
