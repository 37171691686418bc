"""Compare two versions of a name by what they hold."""

from __future__ import annotations

import json
from itertools import chain
from typing import Any

from kmnb.core.bounds import MIB
from kmnb.core.diff import Diff, diff_bytes, diff_lines, diff_paths, diff_rows
from kmnb.core.records import Dialect
from kmnb.errors import BoundExceeded
from kmnb.formats._detect import Detection, detect, format_named, head_wanted
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
    texts = [_decoded(content, artifact) for content, artifact in zip(contents, (old, new), strict=True)]
    kinds = {format_named(found.format).kind for found, _ in texts}
    if kinds == {"json"}:
        try:
            return diff_paths(*(json.loads(text.removeprefix(b"\xef\xbb\xbf")) for _, text in texts))
        except (ValueError, RecursionError):
            kinds = {"text"}
    if kinds == {"table"}:
        return diff_rows(*(_rows(found, text) for found, text in texts))
    if "binary" in kinds:
        return diff_bytes(len(contents[0]), len(contents[1]), same=False)
    return diff_lines(*(text.decode("utf-8", "replace") for _, text in texts))


def _decoded(content: bytes, artifact: Artifact) -> tuple[Detection, bytes]:
    """Open compressed content and decode its text, as the sips see it."""
    found = detect(content[: head_wanted(content)], media_type=artifact.media_type, name=None)
    decoder, text = found.decoder(), bytearray()
    for piece in chain(decoder.feed(content), decoder.finish()):
        text += piece
        if len(text) > COMPARE_MAX_BYTES:
            raise BoundExceeded(
                "comparing", f"the unpacked text has more than {COMPARE_MAX_BYTES:,} bytes", "Compare with run",
                limit="COMPARE_MAX_BYTES", value=COMPARE_MAX_BYTES, unit="bytes",
            )  # fmt: skip
    return found, bytes(text)


def _rows(found: Detection, text: bytes) -> list[dict[str, Any]]:
    splitter = format_named(found.format).split(Dialect())
    rows = [*splitter.feed(text).rows, *splitter.finish().rows]
    names = splitter.columns or ()
    return [dict(zip(names, row, strict=False)) for row in rows]
