"""How objects lie in a JetStream object store (NATS ADR-20). Pure: names, meta documents, digests.

An object is a meta message on ``$O.<bucket>.M.<base64url of the name>`` and its chunks on
``$O.<bucket>.C.<nuid>``, all in the stream ``OBJ_<bucket>``. The meta names the nuid, the number of chunks and the
sha256; a deleted object keeps a meta with ``deleted``.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from kmnb.core.metadata import Attribute, ObjectInfo
from kmnb.errors import StoreError
from kmnb.storage._attributes import whole

CHUNK_BYTES = 128 * 1024
"""Size of the chunks that kmnb writes, as all NATS clients do by default."""
LARGEST_CHUNK_BYTES = 64 * 1024 * 1024
"""Largest chunk that is believed; nats-server refuses a larger ``max_payload``."""
EVEN = "kmnb_even_chunks"
"""Field of kmnb's meta documents; other clients ignore it."""
_DIGEST = "SHA-256="
_ALPHABET = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
_TOKEN = re.compile(r"[!-)+-\-/-9;-=?-~]{1,128}")
"""What a nuid may be: one token of a subject, without a colon, which separates the parts of an identity."""
_PLAIN = str.maketrans("-_", "+/")


@dataclass(frozen=True, slots=True)
class Meta:
    """One meta message, understood."""

    bucket: str
    """Bucket that holds it."""
    name: str
    """The object's name, kmnb's key."""
    nuid: str
    """Last token of the subject of its chunks."""
    size: int
    """Size in bytes."""
    chunks: int
    """Number of chunks."""
    chunk_bytes: int
    """Largest chunk in bytes, as the writer declared it; 0 where it did not."""
    is_even: bool
    """Whether the writer vouches that all chunks but the last have that size."""
    digest: bytes | None
    """Raw sha256; None where the writer gave none."""
    deleted: bool
    """Whether this is the marker of a deleted object."""
    link: tuple[str, str | None] | None
    """Bucket and name that it stands for; a name of None means the whole bucket."""
    attributes: Mapping[str, str]
    """Metadata of the object, and its content type."""
    sequence: int
    """Place of the meta message in the stream."""
    stored_at: datetime | None
    """When it was stored, by the server's clock."""

    @property
    def chunk_subject(self) -> str:
        """Subject that all chunks share."""
        return chunk_subject(self.bucket, self.nuid)

    def info(self, key: str | None = None, *, with_attributes: bool = True) -> ObjectInfo:
        """Give the facts as every backend tells them; ``key`` is another name that led here."""
        place = Place(
            bucket=self.bucket,
            nuid=self.nuid,
            sequence=self.sequence,
            size=self.size,
            chunks=self.chunks,
            chunk_bytes=min(self.chunk_bytes or self.size, LARGEST_CHUNK_BYTES) or 1,
            is_even=self.is_even and self.chunk_bytes > 0,
            digest=self.digest,
        )
        return ObjectInfo(
            key=self.name if key is None else key,
            size=self.size,
            digest=None if self.digest is None else f"sha256:{self.digest.hex()}",
            created_at=self.stored_at,
            identity=place.identity(),
            attributes=self.attributes if with_attributes else {},
        )


@dataclass(frozen=True, slots=True)
class Place:
    """What is needed to read an object's chunks; it fits in ``ObjectInfo.identity``."""

    bucket: str
    """Bucket that holds the chunks."""
    nuid: str
    """Last token of their subject."""
    sequence: int
    """Place of the meta message; the chunks lie before it."""
    size: int
    """Size of the object in bytes."""
    chunks: int
    """Number of chunks."""
    chunk_bytes: int
    """Largest chunk in bytes."""
    is_even: bool
    """Whether all chunks but the last are known to have that size."""
    digest: bytes | None
    """Raw sha256 of the object."""

    @property
    def chunk_subject(self) -> str:
        """Subject that all chunks share."""
        return chunk_subject(self.bucket, self.nuid)

    @property
    def may_be_even(self) -> bool:
        """Whether the number of chunks is the least that the size needs, as it must be for even ones."""
        return self.chunks == -(-self.size // self.chunk_bytes)

    def chunk_size(self, index: int) -> int:
        """Tell the size of a chunk of an object with even ones."""
        return min(self.chunk_bytes, self.size - index * self.chunk_bytes)

    def identity(self) -> str:
        """Write it as one text."""
        numbers = f"{self.sequence}:{self.size}:{self.chunks}:{self.chunk_bytes}:{int(self.is_even)}"
        return f"{self.bucket}:{self.nuid}:{numbers}:{'' if self.digest is None else self.digest.hex()}"

    @classmethod
    def read(cls, identity: str | None) -> Place | None:
        """Read it back; None when it is the identity of no object in NATS."""
        try:
            bucket, nuid, *numbers, digest = (identity or "").split(":")
            sequence, size, chunks, chunk_bytes, is_even = map(int, numbers)
            place = cls(bucket, nuid, sequence, size, chunks, chunk_bytes, is_even == 1, bytes.fromhex(digest) or None)
        except ValueError:
            return None
        return place if chunk_bytes > 0 else None

    @classmethod
    def of(cls, info: ObjectInfo) -> Place:
        """Read it back from facts of this backend.

        Raises:
            StoreError: They are of another backend.
        """
        place = cls.read(info.identity)
        if place is None:
            raise StoreError(f"artifact {info.key!r}", "its facts do not come from a NATS store")
        return place


def stream_name(bucket: str) -> str:
    """Name the stream of a bucket."""
    return f"OBJ_{bucket}"


def chunk_subject(bucket: str, nuid: str) -> str:
    """Name the subject of an object's chunks; ``nuid`` may be ``>``."""
    return f"$O.{bucket}.C.{nuid}"


def meta_subject(bucket: str, name: str) -> str:
    """Name the subject of an object's meta message."""
    return f"$O.{bucket}.M.{base64.urlsafe_b64encode(name.encode()).decode()}"


def meta_pattern(bucket: str, prefix: str) -> tuple[str, bytes]:
    """Give the root of all meta subjects, and a pattern for the last tokens of names that begin with a prefix.

    Three bytes of a name are four characters of its token; of the one or two bytes that are left over, the bits that
    are known say which characters may stand there.
    """
    raw = prefix.encode()
    whole, rest = divmod(len(raw), 3)
    token = re.escape(base64.urlsafe_b64encode(raw[: whole * 3]))
    if rest:
        low = base64.urlsafe_b64encode(raw[whole * 3 :] + bytes(3 - rest))
        high = base64.urlsafe_b64encode(raw[whole * 3 :] + b"\xff" * (3 - rest))
        first, last = _ALPHABET.index(low[rest]), _ALPHABET.index(high[rest])
        token += re.escape(low[:rest]) + b"[" + re.escape(_ALPHABET[first : last + 1]) + b"]"
    return f"$O.{bucket}.M", token + b"[A-Za-z0-9_=-]*"


def meta_name(token: str) -> str | None:
    """Read an object's name from the last token of its meta subject; None when it is none, or another's spelling."""
    try:
        name = binascii.a2b_base64(token.translate(_PLAIN), strict_mode=True)
        return name.decode() if base64.urlsafe_b64encode(name).decode() == token else None
    except ValueError:
        return None


def write_digest(digest: bytes) -> str:
    """Write a sha256 as the meta document has it."""
    return _DIGEST + base64.urlsafe_b64encode(digest).decode()


def read_digest(text: object) -> bytes | None:
    """Read a digest of a meta document; None when there is none or it is of another kind."""
    if not isinstance(text, str) or text[: len(_DIGEST)].upper() != _DIGEST:
        return None
    raw = text[len(_DIGEST) :].rstrip("=")
    try:
        digest = base64.b64decode(raw + "=" * (-len(raw) % 4), altchars=b"-_", validate=True)
    except (ValueError, binascii.Error):
        return None
    return digest if len(digest) == 32 else None


def write_meta(info: Mapping[str, Any]) -> bytes:
    """Write a meta document."""
    return json.dumps(info, ensure_ascii=False, separators=(",", ":")).encode()


def read_meta(bucket: str, data: bytes, *, sequence: int, stored_at: datetime | None) -> Meta:
    """Read a meta document written by any client.

    Args:
        bucket: Bucket that holds it.
        data: The message's payload.
        sequence: The message's place in the stream.
        stored_at: The message's time.

    Raises:
        StoreError: It is not a meta document.
    """
    try:
        info = json.loads(data)
        options = info.get("options") or {}
        meta = Meta(
            bucket=bucket,
            name=_text(info["name"]),
            nuid=_text(info.get("nuid") or ""),
            size=_count(info.get("size") or 0),
            chunks=_count(info.get("chunks") or 0),
            chunk_bytes=_count(options.get("max_chunk_size") or 0),
            is_even=info.get(EVEN) is True,
            digest=read_digest(info.get("digest")),
            deleted=info.get("deleted") is True,
            link=_link(options.get("link")),
            attributes=_attributes(info),
            sequence=sequence,
            stored_at=stored_at,
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise StoreError(f"object store {bucket}", f"message {sequence} is no meta document of an object") from error
    if not _TOKEN.fullmatch(meta.nuid) and (meta.nuid or not (meta.link is not None or meta.deleted)):
        raise StoreError(f"artifact {meta.name!r}", "its meta document names no chunks")
    return meta


def read_time(text: str | None) -> datetime | None:
    """Read a time of the server, nanoseconds dropped; None when it cannot be read."""
    if not text:
        return None
    head, dot, rest = text.rstrip("Z").partition(".")
    try:
        return datetime.fromisoformat(f"{head}{dot}{rest[:6]}+00:00")
    except ValueError:
        return None


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("a text was expected")
    value.encode()
    return value


def _count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 62:
        raise ValueError("a count was expected")
    return value


def _link(value: Any) -> tuple[str, str | None] | None:
    if not isinstance(value, dict):
        return None
    return _text(value["bucket"]), _text(value["name"]) if value.get("name") else None


def _attributes(info: Mapping[str, Any]) -> dict[str, str]:
    metadata, headers = info.get("metadata"), info.get("headers")
    found: dict[str, str] = {}
    for name, values in headers.items() if isinstance(headers, dict) else ():
        value = values[0] if isinstance(values, list) and values else values
        if isinstance(value, str) and name.lower() == "content-type":
            found[Attribute.CONTENT_TYPE] = whole(value)
    if isinstance(metadata, dict):
        found |= {whole(name): whole(value) for name, value in metadata.items() if isinstance(value, str)}
    return found
