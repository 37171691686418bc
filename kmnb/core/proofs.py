"""Receipts as evidence: each is read and checked before any of its numbers counts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kmnb.core.evidence import Evidence
from kmnb.core.numbers import find_numbers
from kmnb.core.outcome import Outcome
from kmnb.core.receipt import Receipt, canonical, digest_of, read_numbers
from kmnb.core.slice import Slice
from kmnb.errors import BadRequest, said

WHOLE_SIPS = frozenset({"count", "stats"})
"""Sips that look at every record, so that their numbers pass in strict mode too."""
NARROWING = ("where", "section")
"""Parameters with which they look at a part."""
_STEP = "Pass what outcome.receipt or slice.receipt gave."


@dataclass(frozen=True, slots=True)
class Proof:
    """A receipt that was checked."""

    evidence: Evidence
    """Its numbers."""
    program: str = ""
    """Digest of the program that printed them."""


def read_proof(given: Any) -> Proof | None:
    """Read what a receipt lets pass.

    Args:
        given: A receipt of a run or a sip as object, dict or JSON text, an Outcome, or a Slice.

    Returns:
        Its numbers; None where it is None, or of a run that failed, which lets nothing pass.

    Raises:
        BadRequest: It is no receipt, or was changed after it was made.
    """
    if isinstance(given, Outcome):
        given = given.receipt
    if isinstance(given, Slice):
        return None if given.receipt is None else _of_slice(given, given.receipt)
    if given is None:
        return None
    if isinstance(given, str | bytes):
        given = _parsed(given)
    if isinstance(given, Mapping) and "op" in given:
        return _of_sip(given)
    receipt = Receipt.from_value(given)
    if not receipt.ok:
        return None
    evidence = Evidence(receipt.numbers, f"run {receipt.digest}", is_run=True, whole=True)
    return Proof(evidence, receipt.program_digest)


def _parsed(given: str | bytes) -> Any:
    try:
        return json.loads(given)
    except (ValueError, RecursionError) as error:
        raise BadRequest("this receipt", f"is no JSON ({said(error)})", _STEP) from error


def _of_slice(given: Slice, receipt: Mapping[str, Any]) -> Proof:
    """Take the numbers of an answer's own text, which its receipt has to tell."""
    facts = _facts(receipt)
    if facts.get("textDigest") != text_digest(given.text):
        raise BadRequest("this slice", "has another text than its receipt tells", "Ask again.")
    if "digest" in facts:
        _check_digest(facts)
    return Proof(_evidence(facts, tuple(find_numbers(given.text))))


def _of_sip(given: Mapping[str, Any]) -> Proof:
    """Take the numbers that a sip's receipt lists; without its text the receipt has to prove itself."""
    facts = _facts(given)
    _check_digest(facts)
    return Proof(_evidence(facts, read_numbers(facts.get("numbers"))))


def _facts(given: Mapping[str, Any]) -> dict[str, Any]:
    try:
        facts = dict(given)
    except (TypeError, ValueError) as error:
        raise BadRequest("this receipt", f"cannot be read ({said(error)})", _STEP) from error
    fine = isinstance(facts.get("op"), str) and isinstance(facts.get("parameters"), Mapping)
    if not fine or not isinstance(facts.get("key"), str) or not isinstance(facts.get("textDigest"), str):
        raise BadRequest(
            "this receipt", "lacks the operation, its parameters, the key or the digest of the answer", _STEP
        )
    return facts


def _check_digest(facts: Mapping[str, Any]) -> None:
    told = facts.get("digest")
    if told is None:
        raise BadRequest("this receipt", "has no digest of itself", "Ask again, and pass slice.receipt or the slice.")
    try:
        made = sip_digest(facts)
    except (TypeError, ValueError, RecursionError) as error:
        raise BadRequest("this receipt", f"cannot be read ({said(error)})", _STEP) from error
    if told != made:
        raise BadRequest("this receipt", "was changed after it was made", "Ask again.")


def _evidence(facts: Mapping[str, Any], numbers: tuple[Any, ...]) -> Evidence:
    name = f"{facts['op']:.40} of {facts['key']:.1000} ({facts.get('artifactDigest')!s:.100})"
    narrowed = any(facts["parameters"].get(one) for one in NARROWING)
    return Evidence(numbers, name, is_run=False, whole=facts["op"] in WHOLE_SIPS and not narrowed)


def sip_digest(facts: Mapping[str, Any]) -> str:
    """Give the digest of a sip's receipt, which its field ``digest`` holds."""
    return digest_of(canonical({name: value for name, value in facts.items() if name != "digest"}))


def text_digest(text: str) -> str:
    """Give the digest of an answer's text as its receipt tells it; a lone surrogate counts as a question mark."""
    return digest_of(text.encode("utf-8", "replace"))
