"""Take sips of bytes at hand, with a store that counts and cuts as a test wants."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kmnb._bridge import run
from kmnb.core.metadata import Attribute, ObjectInfo
from kmnb.core.slice import Slice
from kmnb.formats._inspect import inspect
from kmnb.ops import _windows
from kmnb.ops.sip import run_sip


@dataclass(frozen=True)
class Cut:
    """How large the windows are."""

    size: int


class BytesArea:
    """One object at hand; it counts what is read of it."""

    def __init__(self, data: bytes) -> None:
        self.data, self.moved, self.calls = data, 0, 0

    async def get_range(self, key: str, start: int, end: int, *, info: ObjectInfo | None = None) -> bytes:
        piece = self.data[start:end]
        self.moved += len(piece)
        self.calls += 1
        return piece


def info_of(data: bytes, *, indexed: bool = False, media_type: str | None = None) -> ObjectInfo:
    """Facts of an object, as the store tells them of a spilled or of a foreign one."""
    attributes: dict[str, str] = {}
    if indexed:
        attributes = inspect(data, media_type=media_type).attributes()
    elif media_type is not None:
        attributes = {Attribute.CONTENT_TYPE: media_type}
    digest = "sha256:" + hashlib.sha256(data).hexdigest()
    return ObjectInfo("ns/crew/t/agent/tool-0", len(data), digest, attributes=attributes)


def sip_bytes(
    data: bytes,
    name: str,
    arguments: Mapping[str, Any],
    *,
    cut: Cut | None = None,
    indexed: bool = False,
    media_type: str | None = None,
    area: BytesArea | None = None,
) -> Slice:
    """Take one sip; windows are as large as ``cut`` says. What it says that it moved is what the store has given."""
    import pytest

    area = area or BytesArea(data)
    before = area.moved
    with pytest.MonkeyPatch.context() as patch:
        if cut is not None:
            patch.setattr(_windows, "FIRST_WINDOW_BYTES", cut.size)
            patch.setattr(_windows, "WINDOW_BYTES", cut.size)
        info = info_of(data, indexed=indexed, media_type=media_type)
        answer: Slice = run(run_sip((area, info), name, arguments))  # type: ignore[arg-type]
    assert answer.fetched_bytes == area.moved - before
    return answer
