"""The lifecycle rule of a workspace's store."""

from __future__ import annotations

from urllib.parse import urlsplit

from kmnb.core.answers import Answer
from kmnb.core.display import Card
from kmnb.core.lifecycle import lifecycle_rule, rule_text
from kmnb.core.metadata import Area
from kmnb.ops.context import Context


def lifecycle_answer(context: Context) -> Answer:
    """Tell the native lifecycle rule of a cloud store; its text is the rule's document.

    Raises:
        NotSupported: The store has no such rules.
    """
    parts = urlsplit(context.backend.url)
    prefix = "/".join(filter(None, (parts.path.strip("/"), Area.DISCUSSIONS.value))) + "/"
    rule = lifecycle_rule(parts.scheme, bucket=parts.netloc, prefix=prefix, ttl_seconds=context.settings.ttl_seconds)
    title = f"objects below {prefix} go after {rule.days} days; apply with: {rule.command}"
    data = {"rule": rule.document, "command": rule.command, "days": rule.days}
    return Answer(Card(title, body=rule_text(rule)), data, rule_text(rule))
