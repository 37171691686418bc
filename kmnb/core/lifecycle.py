"""Native lifecycle rules of cloud stores: what to tell them so that old discussion artifacts go by themselves. Pure.

A large artifact is an empty pointer under its key, and bytes and attributes apart from it. What lies apart goes a day
later than the pointer, so that nobody meets a pointer to nothing.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

from kmnb.errors import NotSupported

RULE_NAME = "kmnb-discussions-ttl"
"""Beginning of the names of the rules in every store."""
APART = ("parts", "facts")
"""Folders of what lies apart from its key."""
UPLOAD_DAYS = 2
"""After how many days an upload that was never completed is thrown away."""
_DAY = 24 * 3600


@dataclass(frozen=True, slots=True)
class Rule:
    """Rules in the form that a store's own tools take."""

    scheme: str
    """``s3``, ``gs`` or ``az``."""
    document: dict[str, Any]
    """The rules as JSON."""
    command: str
    """How to apply them, when the document is in the file ``rule.json``."""
    days: int
    """After how many whole days objects go; the sweep is exact, this is the net below it."""
    prefix: str
    """Beginning of the keys of discussion artifacts, as the store sees them."""


def lifecycle_rule(scheme: str, *, bucket: str, prefix: str, ttl_seconds: float) -> Rule:
    """Write the lifecycle rules of a cloud store.

    Args:
        scheme: ``s3``, ``gs`` or ``az``.
        bucket: Bucket or container.
        prefix: Prefix of the store in it; empty, or with a trailing slash.
        ttl_seconds: Age at which discussion artifacts expire; rules count whole days, so it is rounded up.

    Raises:
        NotSupported: Another store: it has no such rules.
    """
    days = max(1, math.ceil(ttl_seconds / _DAY))
    writers = {"s3": _s3, "gs": _gs, "az": _az}
    if scheme not in writers:
        step = "On NATS the bucket's TTL does it; elsewhere the sweep."
        raise NotSupported(f"store {scheme}://", "has no lifecycle rules", step)
    document, command = writers[scheme](bucket, prefix, days)
    return Rule(scheme, document, command, days, f"{prefix}discussions/")


def _apart(prefix: str) -> list[str]:
    return [f"{prefix}{folder}/discussions/" for folder in APART]


def _name(prefix: str, what: str) -> str:
    """Name a rule; several stores in one bucket have rules of their own."""
    place = prefix.strip("/").replace("/", "-")
    return "-".join(filter(None, (RULE_NAME, place, what)))[:255]


def _s3(bucket: str, prefix: str, days: int) -> tuple[dict[str, Any], str]:
    ends = [("", f"{prefix}discussions/", days), *zip(APART, _apart(prefix), (days + 1, days + 1), strict=True)]
    rules: list[dict[str, Any]] = [
        {"ID": _name(prefix, what), "Status": "Enabled", "Filter": {"Prefix": start}, "Expiration": {"Days": number}}
        for what, start, number in ends
    ]
    rules.append(
        {
            "ID": _name(prefix, "uploads"),
            "Status": "Enabled",
            "Filter": {"Prefix": f"{prefix}parts/"},
            "AbortIncompleteMultipartUpload": {"DaysAfterInitiation": UPLOAD_DAYS},
        }
    )
    command = f"aws s3api put-bucket-lifecycle-configuration --bucket {bucket}"
    return {"Rules": rules}, f"{command} --lifecycle-configuration file://rule.json"


def _gs(bucket: str, prefix: str, days: int) -> tuple[dict[str, Any], str]:
    delete = {"type": "Delete"}
    rules = [
        {"action": delete, "condition": {"age": days, "matchesPrefix": [f"{prefix}discussions/"]}},
        {"action": delete, "condition": {"age": days + 1, "matchesPrefix": _apart(prefix)}},
        {
            "action": {"type": "AbortIncompleteMultipartUpload"},
            "condition": {"age": UPLOAD_DAYS, "matchesPrefix": [f"{prefix}parts/"]},
        },
    ]
    return {"rule": rules}, f"gcloud storage buckets update gs://{bucket} --lifecycle-file=rule.json"


def _az(bucket: str, prefix: str, days: int) -> tuple[dict[str, Any], str]:
    ends = [("", [f"{prefix}discussions/"], days), ("apart", _apart(prefix), days + 1)]
    rules = [
        {
            "name": _name(prefix, what),
            "enabled": True,
            "type": "Lifecycle",
            "definition": {
                "filters": {"blobTypes": ["blockBlob"], "prefixMatch": [f"{bucket}/{start}" for start in starts]},
                "actions": {"baseBlob": {"delete": {"daysAfterModificationGreaterThan": number}}},
            },
        }
        for what, starts, number in ends
    ]
    command = "az storage account management-policy create --account-name ACCOUNT --resource-group GROUP"
    return {"rules": rules}, f"{command} --policy @rule.json"


def rule_text(rule: Rule) -> str:
    """Write a rule's document as JSON text."""
    return json.dumps(rule.document, indent=2) + "\n"
