"""The proof of a number: which program, over which bytes, how isolated, and where in the output it stands.

A receipt is canonical JSON (sorted keys, no spaces, UTF-8) that carries the sha256 of itself, so that a copy in a
notebook or a message can be told from a changed one.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any

from kmnb.core.numbers import Number, find_numbers
from kmnb.core.shown import Shown
from kmnb.errors import BadRequest, clip, said

if TYPE_CHECKING:
    from kmnb.core.display import Card

NUMBERS_MAX = 1000
"""Most numbers that a receipt lists: of more, three quarters from the beginning and the rest from the end."""
TAIL_CHARACTERS = 8192
"""Where a receipt does not list all numbers, those of the end are looked for in so many characters."""

VALUE_MAX = 2000
"""Longest value of a number in characters."""
_VALUE = re.compile(r"[-+]?[0-9]+(?:\.[0-9]+)?")
_STEP = "Pass what outcome.receipt gave."
_SHAPES: Mapping[str, type] = {
    **dict.fromkeys(("program_digest", "language", "interpreter", "artifacts_are", "engine", "reason"), str),
    **dict.fromkeys(("stdout_digest", "session", "kind", "digest"), str),
    **dict.fromkeys(("level", "exit_code"), int),
    **dict.fromkeys(("truncated", "numbers_complete"), bool),
    **dict.fromkeys(("limits", "layers"), Mapping),
    **dict.fromkeys(("artifacts", "unopened", "missing", "numbers"), tuple),
}
"""Types of the fields."""


def digest_of(data: bytes | str) -> str:
    """Name bytes, or the UTF-8 form of a text, by their sha256: ``sha256:`` and 64 hexadecimal digits."""
    raw = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
    return "sha256:" + hashlib.sha256(raw).hexdigest()


def canonical(value: Any) -> bytes:
    """Serialise a JSON value in the one form that digests are taken of."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "surrogatepass")


@dataclass(frozen=True, slots=True)
class Receipt(Shown):
    """What proves the numbers of one run. Two receipts are equal when their digests are."""

    program_digest: str
    """sha256 of the program's text."""
    language: str
    """``python`` or ``bash``."""
    interpreter: str
    """Implementation and version that ran it, for example ``cpython 3.11.7``."""
    artifacts: tuple[Mapping[str, Any], ...] = ()
    """Dicts with ``key``, ``digest`` and ``size`` in bytes."""
    artifacts_are: str = "mounted"
    """``opened``: these were seen to be opened while it ran; ``mounted``: all that it could read."""
    unopened: tuple[Mapping[str, Any], ...] = ()
    """Dicts as above of what it could read and did not open; it could see their names and sizes."""
    limits: Mapping[str, Any] = field(default_factory=dict)
    """The limits of the run by name; units are in the names."""
    level: int = 0
    """Isolation level of the run."""
    engine: str = "plain"
    """How the isolation was made."""
    layers: Mapping[str, str] = field(default_factory=dict)
    """What stood in the way of what."""
    missing: tuple[str, ...] = ()
    """Guarantees that the run did not have."""
    exit_code: int = 0
    """As in the Outcome."""
    reason: str = "exit"
    """As in the Outcome."""
    reason_by: str = "supervisor"
    """As in the Outcome."""
    stdout_digest: str = ""
    """sha256 of the kept stdout, as text."""
    truncated: bool = False
    """Whether a part of the output was left out, and so numbers may be missing below."""
    numbers: tuple[Number, ...] = ()
    """Numbers found in the kept stdout, with their places in it."""
    numbers_complete: bool = True
    """Whether all of them are listed."""
    session: str = ""
    """Name of the session that it ran in, whose state the output may depend on; empty for a fresh start."""
    kind: str = "run"
    """``run``; receipts of sips have other kinds."""
    digest: str = ""
    """sha256 of the canonical form without this field; filled in when it is left out."""

    def __post_init__(self) -> None:
        if not self.digest:
            object.__setattr__(self, "digest", digest_of(canonical(self._facts())))

    def card(self) -> Card:
        """Which program over what, and how it ended."""
        from kmnb.core.cards import receipt_card

        return receipt_card(self)

    def _facts(self) -> dict[str, Any]:
        later = ("digest", "unopened", "reason_by")
        facts = {one.name: getattr(self, one.name) for one in fields(self) if one.name not in later}
        # Not with their usual values: receipts that were made before there were these fields keep their digest.
        if self.unopened:
            facts["unopened"] = [dict(one) for one in self.unopened]
        if self.reason_by != "supervisor":
            facts["reason_by"] = self.reason_by
        return facts | {
            "artifacts": [dict(one) for one in self.artifacts],
            "limits": dict(self.limits),
            "layers": dict(self.layers),
            "missing": list(self.missing),
            "numbers": [asdict(one) for one in self.numbers],
        }

    @property
    def genuine(self) -> bool:
        """Whether the digest is that of the facts; False means that somebody changed a copy."""
        return self.digest == digest_of(canonical(self._facts()))

    @property
    def ok(self) -> bool:
        """Whether the run that it proves ended well, so that its numbers count."""
        return self.exit_code == 0 and self.reason == "exit"

    def as_dict(self) -> dict[str, Any]:
        """Give the facts as JSON values, the digest included."""
        return self._facts() | {"digest": self.digest}

    def to_json(self) -> str:
        """Give the canonical JSON text, the digest included."""
        return canonical(self.as_dict()).decode("utf-8", "surrogatepass")

    @classmethod
    def from_value(cls, value: Any) -> Receipt:
        """Read a receipt from itself, a dict, or JSON text; unknown fields are an error, since the digest covers all.

        Args:
            value: A receipt of a run in any of these forms, or the Outcome that has it.

        Raises:
            BadRequest: It is no receipt of a run, or it was changed after it was made.
        """
        try:
            given = getattr(value, "receipt", value)
            receipt = given if isinstance(given, cls) else cls._read(given)
            wrong = _misshapen(receipt)
            genuine = wrong is None and receipt.genuine
        except BadRequest:
            raise
        except (TypeError, ValueError, RecursionError, AttributeError) as error:
            raise BadRequest("this receipt", f"cannot be read ({said(error)})", _STEP) from error
        if wrong is not None:
            raise BadRequest("this receipt", f"has a {wrong} that is none", _STEP)
        if not genuine:
            raise BadRequest("this receipt", "was changed after it was made", "Run the program again.")
        return receipt

    @classmethod
    def _read(cls, value: Any) -> Receipt:
        found = json.loads(value) if isinstance(value, str | bytes) else value
        if not isinstance(found, Mapping):
            raise BadRequest("this receipt", f"is none but of type {type(found).__name__}", _STEP)
        if "op" in found:
            told = "is of an answer and not of a run"
            raise BadRequest("this receipt", told, "Ask the artifact again, and compare.")
        facts = dict(found)
        if unknown := [name for name in facts if name not in {one.name for one in fields(cls)}]:
            raise BadRequest("this receipt", f"has a field {clip(ascii(unknown[0]), 80)} that no receipt has", _STEP)
        for name in ("artifacts", "unopened", "missing"):
            facts[name] = tuple(facts.get(name, ()))
        facts["numbers"] = read_numbers(facts.get("numbers", ()))
        return cls(**facts)


def _misshapen(receipt: Receipt) -> str | None:
    """Name the first field of another type than it has; a number is no truth value."""
    for name, kind in _SHAPES.items():
        value = getattr(receipt, name)
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            return name
    listed = (*receipt.artifacts, *receipt.unopened)
    if not all(isinstance(one, Mapping) for one in listed):
        return "list of artifacts"
    if not all(isinstance(one, Number) for one in receipt.numbers):
        return "list of numbers"
    return None if receipt.kind == "run" else "kind"


def read_numbers(given: Any) -> tuple[Number, ...]:
    """Read the numbers that a receipt lists.

    Raises:
        BadRequest: Something that is no list of numbers.
    """
    try:
        numbers = tuple(Number(**one) for one in given)
    except TypeError as error:
        raise BadRequest("this receipt", "lists numbers that are none", _STEP) from error
    for one in numbers:
        texts = all(isinstance(value, str) for value in (one.text, one.value, one.unit))
        places = all(isinstance(value, int) and not isinstance(value, bool) for value in (one.start, one.end, one.line))
        if not (texts and places and len(one.value) <= VALUE_MAX and _VALUE.fullmatch(one.value)):
            raise BadRequest("this receipt", "lists numbers that are none", _STEP)
    return numbers


def listed_numbers(text: str) -> tuple[tuple[Number, ...], bool]:
    """Find the numbers that a receipt lists, and whether these are all."""
    found = find_numbers(text, most=NUMBERS_MAX + 1)
    if len(found) <= NUMBERS_MAX:
        return tuple(found), True
    head = found[: NUMBERS_MAX * 3 // 4]
    begin = text.find("\n", max(head[-1].end, len(text) - TAIL_CHARACTERS)) + 1
    tail = find_numbers(text, begin=begin)[-(NUMBERS_MAX // 4) :] if begin else []
    return (*head, *tail), False
