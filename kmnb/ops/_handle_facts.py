"""What a handle knows without asking: facts of an envelope, of the store's ``head``, or of a listing."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from kmnb.core.addresses import discussion_uri
from kmnb.core.envelope import Envelope
from kmnb.core.metadata import Area, Attribute, ObjectInfo


class HandleFacts:
    """Properties of a handle. None of them does I/O; unknown facts are None.

    Args:
        key: Key in its area.
        area: Which of the two areas.
        info: What the store told of it.
        envelope: The envelope that it came from.
        uri: Its address; None makes it from the key.
        version: Version of a named artifact.
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
    ) -> None:
        self._key, self._area, self._info, self._envelope = key, area, info, envelope
        self._uri, self._version = uri, version

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
        """Size in bytes."""
        if self._info is not None and self._info.size is not None:
            return self._info.size
        return self._envelope.bytes if self._envelope is not None else None

    @property
    def digest(self) -> str | None:
        """``sha256:`` and 64 hexadecimal digits."""
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
    def preview(self) -> str | None:
        """What can be told of the content without a fetch; untrusted text."""
        told = self._attributes.get(Attribute.PREVIEW)
        return told if told is not None or self._envelope is None else self._envelope.preview

    def envelope(self) -> Envelope:
        """Give the reference that travels instead of the bytes, made of what is known here."""
        if self._envelope is not None:
            return self._envelope
        columns = self._attributes.get(Attribute.COLUMNS)
        return Envelope(
            key=self._key,
            content_type=self.media_type,
            bytes=self.size,
            rows=self.rows,
            tool=self._attributes.get(Attribute.TOOL),
            agent=self._attributes.get(Attribute.AGENT),
            created_at=self.created_at,
            preview=self.preview,
            digest=self.digest,
            lines=self._number(Attribute.LINES),
            columns=_texts(columns),
            encoding=self._attributes.get(Attribute.ENCODING),
            thread_id=self._attributes.get(Attribute.THREAD),
            exit_code=self._number(Attribute.EXIT_CODE),
            args_digest=self._attributes.get(Attribute.ARGS_DIGEST),
        )

    @property
    def _attributes(self) -> Mapping[str, str]:
        return self._info.attributes if self._info is not None else {}

    def _number(self, name: Attribute) -> int | None:
        text = self._attributes.get(name)
        try:
            return int(text) if text is not None else None
        except ValueError:
            return None


def _texts(text: str | None) -> tuple[str, ...] | None:
    import json

    try:
        value = json.loads(text) if text is not None else None
    except ValueError:
        return None
    return tuple(map(str, value)) if isinstance(value, list) else None
