"""Small conditional records in a JetStream key-value bucket.

A record's segments become tokens of the subject, so that a prefix is a subject filter; what no token can hold is
written as ``=XX``.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator

from kmnb.errors import ArtifactNotFound, KeySyntaxError, VersionConflict
from kmnb.storage._keys import check_key, check_prefix
from kmnb.storage._protocols import Record
from kmnb.storage._records import check_value
from kmnb.storage.backends import _nats_errors as failures
from kmnb.storage.backends._nats_lanes import Lanes
from kmnb.storage.backends._nats_link import Link
from kmnb.storage.backends._nats_lister import Lister, in_groups
from kmnb.storage.backends._nats_stream import Stream, ensure_stream

_ODD = re.compile(r"[^A-Za-z0-9_-]")
_ESCAPED = re.compile(r"(?:=[0-9A-F]{2})+")


class NatsRecords:
    """Records in a key-value bucket."""

    def __init__(self, stream: Stream, lanes: Lanes, name: str) -> None:
        self._stream, self._root = stream, f"$KV.{name}"
        self._lister = Lister(stream, lanes)

    async def get(self, key: str) -> Record:
        """Read a record; see the protocol."""
        stored = await self._stream.last(self._subject(key), thing=f"record {key!r}")
        if stored is None or stored.is_marker:
            raise ArtifactNotFound(f"record {key!r}", "there is none")
        return Record(key, stored.data, str(stored.sequence))

    async def put(self, key: str, value: bytes, *, expected: str | None) -> str:
        """Write a record if it is still as expected; see the protocol."""
        check_value(check_key(key), value)
        if expected is not None and not (expected.isascii() and expected.isdigit()):
            raise VersionConflict(f"record {key!r}", "it has another revision", "Read it again")
        sequence = expected or str(await self._free_sequence(key))
        headers = {"Nats-Expected-Last-Subject-Sequence": sequence}
        try:
            return str(await self._stream.store(self._subject(key), value, thing=f"record {key!r}", headers=headers))
        except failures.ApiError as error:
            if error.code in failures.WRONG_SEQUENCE:
                raise VersionConflict(f"record {key!r}", "it has another revision", "Read it again") from error
            raise failures.translate(error, f"record {key!r}", self._stream.link.address.shown) from error

    async def _free_sequence(self, key: str) -> int:
        """Give what "there is none" is on the server: 0, or the place of a marker that another client left."""
        stored = await self._stream.last(self._subject(key), thing=f"record {key!r}")
        return stored.sequence if stored is not None and stored.is_marker else 0

    async def delete(self, key: str) -> None:
        """Remove a record; see the protocol."""
        await self._stream.purge(self._subject(key), thing=f"record {key!r}")

    async def list(self, prefix: str = "") -> AsyncIterator[Record]:
        """Walk the records below a prefix; see the protocol."""
        prefix, thing = check_prefix(prefix), f"records below {prefix!r}"
        root = self._subject(prefix) if prefix else self._root
        tokens, last = await self._lister.tokens(root, rb'[^"\\\\]+', thing=thing)
        subjects = [root] if prefix else []
        subjects += [f"{root}.{token}" for token in tokens]
        for group in in_groups(sorted(filter(self._is_ours, subjects), key=self._key)):
            found = await self._lister.last(group, lambda stored: stored, at_least=last, thing=thing)
            for subject in group:
                stored = found.get(subject)
                if stored is not None and not stored.is_marker:
                    yield Record(self._key(subject), stored.data, str(stored.sequence))

    def _subject(self, key: str) -> str:
        tokens = (_ODD.sub(_escape, segment) for segment in check_key(key).split("/"))
        return ".".join((self._root, *tokens))

    def _is_ours(self, subject: str) -> bool:
        """Tell whether a subject is that of a record; other programs may write others, which no key leads to."""
        try:
            return self._subject(self._key(subject)) == subject
        except KeySyntaxError:
            return False

    def _key(self, subject: str) -> str:
        tokens = subject.removeprefix(self._root + ".").split(".")
        return "/".join(_ESCAPED.sub(_unescape, token) for token in tokens)


async def open_records(link: Link, lanes: Lanes, name: str) -> NatsRecords:
    """Open the records of a key-value bucket, which is made when it is missing."""
    config = {
        "name": f"KV_{name}",
        "subjects": [f"$KV.{name}.>"],
        "storage": "file",
        "retention": "limits",
        "discard": "new",
        "max_msgs_per_subject": 1,
        "num_replicas": link.address.replicas,
        "allow_rollup_hdrs": True,
        "allow_direct": True,
        "deny_delete": True,
    }
    return NatsRecords(Stream(link, await ensure_stream(link, config)), lanes, name)


def _escape(match: re.Match[str]) -> str:
    return "".join(f"={byte:02X}" for byte in match[0].encode())


def _unescape(match: re.Match[str]) -> str:
    return bytes.fromhex(match[0].replace("=", "")).decode("utf-8", "replace")
