"""Write the preview of content from what the pass over it has found."""

from __future__ import annotations

import re

from kmnb.core.preview import compose, names
from kmnb.formats._description import Description
from kmnb.formats._pass import ContentPass

_HEAD_BYTES = 4096
_SPACED_BYTES = 16_384
_INDENT = re.compile(r"\s*\n\s*")


def write_preview(about: Description, ended: ContentPass, size: int) -> str:
    """Write a preview.

    Args:
        about: What the beginning tells.
        ended: The pass, finished.
        size: Stored size in bytes.

    Returns:
        Clean text within the limit; its first line answers by itself.
    """
    room = _SPACED_BYTES if about.is_spaced else _HEAD_BYTES
    head = (
        bytes(ended.head[:room]).removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace") if about.shows_content else ""
    )
    is_cut = ended.decoded > room
    tail = ended.tail.decode("utf-8", "ignore") if is_cut and about.shows_content else ""
    if about.head is not None:
        head, tail = about.head, ""
    if about.is_spaced:
        head, tail = _INDENT.sub(" ", head)[:_HEAD_BYTES], _INDENT.sub(" ", tail)
    return compose(_summary(about, ended, size), parts=(about.outcome, about.shape), head=head, tail=tail)


def _summary(about: Description, ended: ContentPass, size: int) -> str:
    facts: list[str] = []
    if len(ended.sections) > 1:
        facts.append(f"{len(ended.sections)} sections: {', '.join(ended.sections[:8])}")
    if ended.rows is not None:
        noun = about.noun.removesuffix("s") if ended.rows == 1 and about.noun != "series" else about.noun
        facts.append(f"{ended.rows:,} {noun}{f' ({about.note})' if about.note else ''}")
    elif about.note:
        facts.append(about.note)
    if about.key:
        is_list = about.key in ("columns", "keys")
        total = len(about.firsts) if is_list else ended.rows
        facts.append(f"{about.key}: {names(about.firsts, total=total, most=30 if is_list else 12)}")
    facts += [f"{size:,} bytes", ended.found.content_type]
    if ended.found.codec:
        facts.append(ended.found.codec)
    if ended.note:
        facts.append(ended.note)
    return " · ".join(facts)
