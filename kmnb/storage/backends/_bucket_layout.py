"""Where things lie in a bucket, and what is kept with them. Pure.

::

    PREFIX discussions/KEY   an object of up to 8 MiB; or an empty pointer to a larger one
    PREFIX named/KEY         the same
    PREFIX parts/ID          the bytes of a larger object
    PREFIX facts/ID          attributes that do not fit into the object's own metadata
                             (an ID of discussions begins with ``discussions/``, so that a bucket's own lifecycle
                             rule can tell what is temporary; those of older stores do not)
    PREFIX records/KEY       a record

Keys stand in the bucket as they are. Where prefix and key together pass what a bucket takes, the key is cut and
followed by ``=~`` and its sha256, and the whole key is kept with the object. IDs are random, so parts and facts are
never written twice: whoever holds an object's identity can read it without asking again.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from kmnb.core.metadata import ObjectInfo
from kmnb.errors import BadRequest, DigestMismatch
from kmnb.storage._attributes import read_attributes

PATH_MAX_BYTES = 1024
"""Longest name of an object in a bucket: S3 and GCS take 1,024 bytes, Azure 1,024 characters."""
SMALL_MAX_BYTES = 8 * 1024 * 1024
"""Largest object that is stored in one request under its key."""
_MARK = "=~"
_MARKED = re.compile(r"=~[0-9a-f]{64}\Z")
_CHARACTER = 3
# A cut at a character boundary may lose up to three bytes.
_FOREIGN = "foreign"
_HIGH = re.compile("[\ue000-\U0010ffff]")
_IDENTITY = re.compile(r"(discussions/)?[0-9a-f]{32}\Z")
_DIGEST = re.compile(r"([0-9a-f]{64})?\Z")


@dataclass(frozen=True, slots=True)
class Facts:
    """What is kept with an object."""

    identity: str
    """Random but for its beginning; names its parts and further facts."""
    digest: str
    """sha256 of its bytes in hexadecimal digits; empty for an object that somebody else wrote."""
    size: int | None = None
    """Size of the object; None for one that somebody else wrote."""
    parts: bool = False
    """Whether its bytes lie in ``parts/ID`` and not under the key itself."""
    attributes: Mapping[str, str] = field(default_factory=dict)
    """Its attributes, unless they are kept apart."""
    apart: bool = False
    """Whether the attributes lie in ``facts/ID``."""
    key: str | None = None
    """The whole key where the path is cut."""
    damaged: bool = False
    """Whether what is kept with the object cannot be read: somebody else wrote it there."""

    def info(self, key: str, size: int, created: datetime) -> ObjectInfo:
        """Give the facts of the object.

        Args:
            key: Its key.
            size: Size of what lies under the key.
            created: When it was written.

        Raises:
            DigestMismatch: What lies there is longer or shorter than what was stored, or its facts are damaged.
        """
        if self.damaged:
            raise DigestMismatch(f"artifact {key!r}", "its facts in the bucket cannot be read", "Store it again")
        digest = f"sha256:{self.digest}" if self.digest else None
        whole = size if self.size is None else self.size
        if size != (0 if self.parts else whole):
            reason = f"{size} bytes lie in the bucket, stored were {whole}"
            raise DigestMismatch(f"artifact {key!r}", reason, "The object was changed or damaged; store it again")
        where = "+" if self.parts else ""
        return ObjectInfo(key, whole, digest, created, f"{self.identity}{where}", self.attributes)


def pack_facts(facts: Facts) -> str:
    """Write facts as ASCII text, the only thing that every bucket keeps faithfully."""
    told: dict[str, Any] = {"id": facts.identity, "sha256": facts.digest}
    if facts.size is not None:
        told["size"] = facts.size
    if facts.parts:
        told["parts"] = True
    if facts.apart:
        told["apart"] = True
    elif facts.attributes:
        told["attributes"] = dict(facts.attributes)
    if facts.key is not None:
        told["key"] = base64.b64encode(facts.key.encode()).decode()
    return json.dumps(told, separators=(",", ":"))


def read_facts(text: str | None, revision: Mapping[str, str]) -> Facts:
    """Read what :func:`pack_facts` wrote; an object without it was written by somebody else.

    What looks like facts and is not is told as damaged, and names nothing that could be read or removed.
    """
    if text is None:
        return Facts(f"{_FOREIGN}{json.dumps(dict(revision), sort_keys=True)}", "")
    try:
        return _checked(json.loads(text))
    except (ValueError, KeyError, TypeError, RecursionError):
        return Facts("", "", damaged=True)


def _checked(told: Any) -> Facts:
    """Take facts apart; anybody who may write into the bucket may have written them."""
    facts = Facts(
        told["id"],
        told["sha256"],
        told.get("size"),
        parts=told.get("parts", False),
        attributes=read_attributes(told.get("attributes", {})),
        apart=told.get("apart", False),
        key=base64.b64decode(told["key"], validate=True).decode() if "key" in told else None,
    )
    is_size = facts.size is None or (type(facts.size) is int and facts.size >= 0)
    # Only owners and records have no identity; nothing of theirs lies apart.
    has_id = _IDENTITY.match(facts.identity) or not (facts.identity or facts.parts or facts.apart)
    if not (is_size and has_id and _DIGEST.match(facts.digest)) or (facts.parts and facts.size is None):
        raise ValueError
    return facts


def fit_facts(facts: Facts, limit_bytes: int) -> Facts:
    """Put the attributes apart where all facts together do not fit into an object's own metadata."""
    return facts if len(pack_facts(facts)) <= limit_bytes else replace(facts, apart=True)


class Paths:
    """Paths of one area.

    Args:
        prefix: What stands before every key, with its trailing slash.
    """

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self._own = len(prefix.encode())
        self._cut = PATH_MAX_BYTES - self._own - len(_MARK) - 64
        self._long = self._cut - _CHARACTER
        if self._long < 64:
            raise BadRequest(f"prefix {prefix[:80]!r}", "it leaves no room for keys", "Use a shorter one")

    def path(self, key: str) -> str:
        """Give the path of a checked key."""
        raw = key.encode()
        if self._own + len(raw) <= PATH_MAX_BYTES and not self.is_cut(self.prefix + key):
            return self.prefix + key
        digest = hashlib.sha256(raw).hexdigest()
        return f"{self.prefix}{raw[: self._cut].decode('utf-8', 'ignore')}{_MARK}{digest}"

    def is_cut(self, path: str) -> bool:
        """Tell whether a path stands for a longer key, which must be asked for."""
        return len(path.encode()) >= PATH_MAX_BYTES - _CHARACTER and _MARKED.search(path) is not None

    def key(self, path: str) -> str:
        """Give the key of a path that is not cut."""
        return path.removeprefix(self.prefix)

    def mix(self, path: str) -> bytes | None:
        """Tell which paths are neighbours but not in order; None for one in its place.

        Some are cut; and some stores sort by UTF-16, in which characters past U+FFFF stand before those from U+E000.
        """
        rest = path.removeprefix(self.prefix)
        if not rest.isascii() and (high := _HIGH.search(rest)) is not None:
            before = rest[: high.start()].encode()
            if len(before) < self._long:
                return before
        raw = rest.encode()
        return raw[: self._long] if len(raw) >= self._long else None

    def folder(self, prefix: str) -> tuple[str, bool]:
        """Give the folder that holds all paths below a checked prefix, and whether it holds nothing else."""
        if len(prefix.encode()) < self._long:
            return self.prefix + prefix, True
        return self.prefix + prefix.encode()[: self._long].decode("utf-8", "ignore").rpartition("/")[0], False
