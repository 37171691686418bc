"""Compare two versions of a name by what they hold."""

from __future__ import annotations

import json
from typing import Any

from kmnb.core.bounds import MIB
from kmnb.core.diff import Diff, diff_bytes, diff_lines, diff_paths, diff_rows
from kmnb.core.records import Dialect
from kmnb.formats._detect import detect, format_named
from kmnb.ops.handle import Artifact
from kmnb.ops.whole import read_whole

COMPARE_MAX_BYTES = 16 * MIB
"""Largest version that is compared by its content, in bytes."""


async def compare(old: Artifact, new: Artifact) -> Diff:
    """Compare two artifacts: tables by rows and columns, JSON by paths, text by lines, anything else by digest.

    Args:
        old: The one.
        new: The other.

    Raises:
        ArtifactNotFound: One of them is gone.
        BoundExceeded: One of them is larger than :data:`COMPARE_MAX_BYTES`.
    """
    one, other = [await artifact.locate() for artifact in (old, new)]
    if one[1].digest == other[1].digest:
        return diff_bytes(one[1].size or 0, other[1].size or 0, same=True)
    contents = [await read_whole(area, info.key, info=info, max_bytes=COMPARE_MAX_BYTES) for area, info in (one, other)]
    kinds = {_kind(content, artifact) for content, artifact in zip(contents, (old, new), strict=True)}
    if kinds == {"json"}:
        try:
            return diff_paths(json.loads(contents[0]), json.loads(contents[1]))
        except (ValueError, RecursionError):
            kinds = {"text"}
    if kinds == {"table"}:
        return diff_rows(*(_rows(content, artifact) for content, artifact in zip(contents, (old, new), strict=True)))
    if "binary" in kinds:
        return diff_bytes(len(contents[0]), len(contents[1]), same=False)
    return diff_lines(*(content.decode("utf-8", "replace") for content in contents))


def _kind(content: bytes, artifact: Artifact) -> str:
    found = detect(content[:65_536], media_type=artifact.media_type, name=None)
    return str(format_named(found.format).kind)


def _rows(content: bytes, artifact: Artifact) -> list[dict[str, Any]]:
    found = detect(content[:65_536], media_type=artifact.media_type, name=None)
    splitter = format_named(found.format).split(Dialect())
    rows = [*splitter.feed(content).rows, *splitter.finish().rows]
    names = splitter.columns or ()
    return [dict(zip(names, row, strict=False)) for row in rows]
