"""Run a record sip over content, as the driver does, without a store."""

from __future__ import annotations

from typing import Any

from kmnb._plugins import load
from kmnb.core.arguments import checked
from kmnb.core.records import Dialect
from kmnb.core.slice import Slice
from kmnb.formats._reading import ContentReader

DIALECT = ("delimiter", "quote", "encoding", "header", "strict")


def run_sip(
    name: str,
    content: bytes,
    *,
    max_bytes: int = 65_536,
    step: int = 1 << 16,
    media_type: str | None = None,
    section: str | None = None,
    structured: bool | None = None,
    **arguments: Any,
) -> Slice:
    """Feed content in blocks of ``step`` bytes to a sip over records and give its answer."""
    plugin = load("kmnb.sips", "kmnb.sips", name, "SIP")
    values = checked(plugin.operation, arguments)
    run = plugin.start(values, max_bytes=max_bytes)
    dialect = Dialect(section=section, **{key: values[key] for key in DIALECT})
    wanted = getattr(plugin, "structured", True) if structured is None else structured
    reader = ContentReader(media_type=media_type, dialect=dialect, structured=wanted)
    for at in range(0, len(content), step):
        for batch in reader.records(content[at : at + step]):
            run.feed(batch)
    for batch in reader.last_records():
        run.feed(batch)
    run.end()
    answer: Slice = run.finish()
    return answer
