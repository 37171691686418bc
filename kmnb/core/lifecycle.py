"""Native lifecycle rules of cloud stores: what to tell them so that old discussion artifacts go by themselves. Pure."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

from kmnb.errors import NotSupported

RULE_NAME = "kmnb-discussions-ttl"
"""Name of the rule in every store."""
_DAY = 24 * 3600


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule in the form that a store's own tools take."""

    scheme: str
    """``s3``, ``gs`` or ``az``."""
    document: dict[str, Any]
    """The rule as JSON."""
    command: str
    """How to apply it, when the document is in the file ``rule.json``."""
    days: int
    """After how many whole days objects go; the sweep is exact, this is the net below it."""


def lifecycle_rule(scheme: str, *, bucket: str, prefix: str, ttl_seconds: float) -> Rule:
    """Write the lifecycle rule of a cloud store.

    Args:
        scheme: ``s3``, ``gs`` or ``az``.
        bucket: Bucket or container.
        prefix: Prefix of the keys of discussion artifacts, as the store sees them.
        ttl_seconds: Age at which they expire; rules count whole days, so it is rounded up.

    Raises:
        NotSupported: Another store: it has no such rules.
    """
    days = max(1, math.ceil(ttl_seconds / _DAY))
    writers = {"s3": _s3, "gs": _gs, "az": _az}
    if scheme not in writers:
        step = "On NATS the bucket's TTL does it; elsewhere the sweep."
        raise NotSupported(f"store {scheme}://", "has no lifecycle rules", step)
    document, command = writers[scheme](bucket, prefix, days)
    return Rule(scheme, document, command, days)


def _s3(bucket: str, prefix: str, days: int) -> tuple[dict[str, Any], str]:
    rule = {
        "ID": RULE_NAME,
        "Status": "Enabled",
        "Filter": {"Prefix": prefix},
        "Expiration": {"Days": days},
        "AbortIncompleteMultipartUpload": {"DaysAfterInitiation": 1},
    }
    command = f"aws s3api put-bucket-lifecycle-configuration --bucket {bucket}"
    return {"Rules": [rule]}, f"{command} --lifecycle-configuration file://rule.json"


def _gs(bucket: str, prefix: str, days: int) -> tuple[dict[str, Any], str]:
    rule = {"action": {"type": "Delete"}, "condition": {"age": days, "matchesPrefix": [prefix]}}
    return {"rule": [rule]}, f"gcloud storage buckets update gs://{bucket} --lifecycle-file=rule.json"


def _az(bucket: str, prefix: str, days: int) -> tuple[dict[str, Any], str]:
    rule = {
        "name": RULE_NAME,
        "enabled": True,
        "type": "Lifecycle",
        "definition": {
            "filters": {"blobTypes": ["blockBlob"], "prefixMatch": [f"{bucket}/{prefix}"]},
            "actions": {"baseBlob": {"delete": {"daysAfterModificationGreaterThan": days}}},
        },
    }
    command = "az storage account management-policy create --account-name ACCOUNT --resource-group GROUP"
    return {"rules": [rule]}, f"{command} --policy @rule.json"


def rule_text(rule: Rule) -> str:
    """Write a rule's document as JSON text."""
    return json.dumps(rule.document, indent=2) + "\n"
