"""The lifecycle rules of a workspace's store."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from kmnb.core.answers import Answer
from kmnb.core.display import Card
from kmnb.core.lifecycle import Rule, lifecycle_rule, rule_text
from kmnb.errors import NotSupported, StoreError
from kmnb.ops.context import Context
from kmnb.storage._protocols import LifecycleBackend, LifecycleRules

_ELSEWHERE = {
    "gs": "Google takes them with the token of somebody who may administer the bucket, which kmnb does not have",
    "az": "Azure takes them at the account's management address, which a storage key does not open",
}


async def lifecycle_answer(context: Context, *, apply: bool = False) -> Answer:
    """Tell the native lifecycle rules of a cloud store; its text is their document.

    Args:
        context: The workspace.
        apply: Whether to put them into the bucket and read them back.

    Raises:
        NotSupported: The store has no such rules, or takes them only elsewhere.
        StoreError: The store refused them.
    """
    backend, parts = context.backend, urlsplit(context.backend.url)
    prefix = backend.prefix if isinstance(backend, LifecycleBackend) else ""
    rule = lifecycle_rule(parts.scheme, bucket=parts.netloc, prefix=prefix, ttl_seconds=context.settings.ttl_seconds)
    data: dict[str, Any] = {"rule": rule.document, "command": rule.command, "days": rule.days}
    goes = f"objects below {rule.prefix} go after {rule.days} days"
    if not apply:
        return Answer(Card(f"{goes}; apply with: {rule.command}", body=rule_text(rule)), data, rule_text(rule))
    rules = backend.lifecycle if isinstance(backend, LifecycleBackend) else None
    if rules is None:
        step = f"Put what kmnb lifecycle prints into rule.json, then: {rule.command}"
        raise NotSupported(f"lifecycle rules of {context.backend.url}", _ELSEWHERE.get(parts.scheme, ""), step)
    kept = await _applied(rules, rule)
    title = f"{goes}: applied and read back; {kept} rules of others stay"
    return Answer(Card(title, body=rule_text(rule)), data | {"applied": True, "others": kept}, f"{title}\n")


async def _applied(rules: LifecycleRules, rule: Rule) -> int:
    """Apply rules and make sure that they stand in the bucket; gives the number of rules of others."""
    await rules.apply(rule.document)
    present = {str(one.get("ID")): one for one in await rules.read()}
    ours = {str(one["ID"]) for one in rule.document["Rules"]}
    missing = [name for name in ours if present.get(name, {}).get("Status") != "Enabled"]
    if missing:
        raise StoreError("lifecycle rules", f"the store took them but does not tell of {missing[0]}", "Try again.")
    return len(present.keys() - ours)
