"""Save the fenced blocks of what a model writes; what is left is the text for the reader."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kmnb.core.fences import Begun, Ended, Event, FenceScanner, Piece
from kmnb.errors import BadRequest, KmnbError, clip
from kmnb.ops.context import Context
from kmnb.ops.embeds import Resolved
from kmnb.ops.named import address_of
from kmnb.ops.saving import save_version, told_of

BLOCK_MAX_BYTES = 10_000_000
"""Largest content of a block, in UTF-8 bytes; a larger one is not saved."""
BLOCKS_MAX = 100
"""Most blocks of one text or stream; further ones are not saved."""
PROGRESS_BYTES = 4096
"""How much of a block arrives between two parts that tell of it."""
PROGRESS = "artifact_creation_progress"
"""Type of the parts that tell how far a block is."""


@dataclass(slots=True)
class _Block:
    """The block that is arriving."""

    parameters: Mapping[str, str]
    header: str
    pieces: list[str] = field(default_factory=list)
    size: int = 0
    waiting: list[str] = field(default_factory=list)
    untold: int = 0

    def part(self, status: str, **more: Any) -> dict[str, Any]:
        """Tell of it as Agent Mesh does."""
        tags = _tags(self.parameters)
        facts = {"mime_type": self.parameters.get("mime_type"), "description": self.parameters.get("description")}
        known = {name: clip(value, 1000) for name, value in facts.items() if value}
        return {
            "type": PROGRESS,
            "filename": clip(self.parameters.get("filename", ""), 1000),
            "status": status,
            "bytes_transferred": self.size,
            **known,
            **({"tags": tags} if tags else {}),
            **more,
        }


def _tags(parameters: Mapping[str, str]) -> list[str]:
    return [tag.strip() for tag in parameters.get("tags", "").split(",") if tag.strip()]


@dataclass(slots=True)
class Blocks:
    """One text or stream. Its methods run on kmnb's loop and raise nothing for what the text holds."""

    context: Context
    """The workspace that saves."""
    scanner: FenceScanner = field(default_factory=FenceScanner)
    """Holds back what may still begin or end a block."""
    block: _Block | None = None
    """The block that is arriving."""
    count: int = 0
    """Blocks so far."""

    async def feed(self, text: str) -> Resolved:
        """Take the next piece."""
        return await self._take(self.scanner.feed(text))

    async def finish(self) -> Resolved:
        """End the text; a block without its end becomes text again."""
        return await self._take(self.scanner.finish())

    async def whole(self, text: str) -> Resolved:
        """Take a whole text."""
        first, last = await self.feed(text), await self.finish()
        return Resolved(first + last, (*first.parts, *last.parts), (*first.problems, *last.problems))

    async def _take(self, events: Iterable[Event]) -> Resolved:
        seen: list[str] = []
        parts: list[dict[str, Any]] = []
        problems: list[str] = []
        for event in events:
            if isinstance(event, str):
                seen.append(event)
            elif isinstance(event, Begun):
                self.block, self.count = _Block(event.parameters, event.header), self.count + 1
                parts.append(self.block.part("in-progress"))
            elif self.block is not None and isinstance(event, Piece):
                parts += self._arrived(self.block, event.text)
            elif self.block is not None and isinstance(event, Ended):
                block, self.block = self.block, None
                text, part = await self._end(block, is_whole=event.is_whole)
                seen.append(text)
                parts.append(part)
                problems += [text] if part["status"] == "failed" else []
        return Resolved("".join(seen), parts, problems)

    def _arrived(self, block: _Block, text: str) -> list[dict[str, Any]]:
        count = len(text.encode("utf-8", "replace"))
        block.size += count
        if block.size > BLOCK_MAX_BYTES:
            block.pieces.clear()
            return []
        block.pieces.append(text)
        block.waiting.append(text)
        block.untold += count
        if block.untold < PROGRESS_BYTES:
            return []
        chunk = "".join(block.waiting)
        block.waiting, block.untold = [], 0
        return [block.part("in-progress", artifact_chunk=chunk)]

    async def _end(self, block: _Block, *, is_whole: bool) -> tuple[str, dict[str, Any]]:
        """What of a block enters the text, and the part that tells its end."""
        content = "".join(block.pieces)
        if not is_whole:
            text = block.header + content
            return text, block.part("cancelled", rolled_back_text=text)
        try:
            version = await self._save(block, content)
        except KmnbError as error:
            problem = clip(f"[Error: the artifact was not saved. {error.thing}: {error.reason}]", 500)
            return problem, block.part("failed", error=problem)
        return "", block.part("completed", version=version)

    async def _save(self, block: _Block, content: str) -> int:
        name = block.parameters.get("filename", "")
        if block.size > BLOCK_MAX_BYTES:
            raise BadRequest(f"artifact {name!a:.200}", f"has more than {BLOCK_MAX_BYTES:,} bytes")
        if self.count > BLOCKS_MAX:
            raise BadRequest(f"artifact {name!a:.200}", f"there are more than {BLOCKS_MAX} blocks")
        address = address_of(self.context, name)
        tags = _tags(block.parameters) or None
        description = block.parameters.get("description") or None
        told = told_of(address, _metadata(block.parameters), description=description, tags=tags)
        media_type = block.parameters.get("mime_type") or None
        saved = await save_version(self.context, address, content, media_type=media_type, told=told)
        return saved.version or 0


def _metadata(parameters: Mapping[str, str]) -> dict[str, Any] | None:
    text = parameters.get("metadata")
    if not text:
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    # Values cannot hold quotes, so JSON with texts in it is cut by the grammar; the artifact is saved all the same.
    return value if isinstance(value, dict) else None
