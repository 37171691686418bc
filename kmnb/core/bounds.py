"""Every limit of the house: a named constant with its unit. Nothing returns "all of it"."""

from __future__ import annotations

KIB, MIB = 1024, 1024 * 1024

INLINE_MAX_BYTES = 4096
"""Largest UTF-8 size of a result that stays in the message; one byte more spills."""
ENVELOPE_MAX_BYTES = 4096
"""Largest size of a whole serialised envelope in UTF-8 bytes."""
KEY_MAX_BYTES = 1024
"""Largest size of a key in UTF-8 bytes, on every backend."""

ANSWER_MAX_BYTES = 65_536
"""Default cap of one sip's answer in bytes, position line included."""
ANSWER_CEILING_BYTES = 64 * MIB
"""Largest cap that a caller may ask for with ``max_bytes=``."""
LINE_MAX_BYTES = 8 * MIB
"""Longest line that is treated as one; a longer one is cut and the answer says so."""
WINDOW_BYTES = MIB
"""Largest range that a sip reads from a store at once."""
LISTED_AT_ONCE = 256
"""Most items of a listing that one step into kmnb's thread takes."""
INDEX_MAX_ENTRIES = 4096
"""Most entries of a sparse line index; its stride grows instead."""
INDEX_MAX_BYTES = 48 * KIB
"""Largest stored form of the index, base64 included; it travels with every ``head`` of the object."""
PREVIEW_MAX_BYTES = 2048
"""Largest preview in UTF-8 bytes; the envelope may cut it further."""
DOCUMENT_MAX_BYTES = 256 * MIB
"""Largest document that a whole-document query loads, in its own killable worker."""
QUERY_SECONDS = 10.0
"""Deadline of one jq or JMESPath evaluation."""
DECOMPRESSED_RATIO_MAX = 1000
"""Largest ratio of decompressed to compressed bytes that is read on without being asked."""
DECOMPRESSED_MAX_BYTES = 16 * 1024 * MIB
"""Largest decompressed size that a sip walks through."""
SLURP_MAX_BYTES = 100 * MIB
"""Above this size ``to_pandas`` and the like need an explicit ``max_bytes=``."""

OUTPUT_MAX_BYTES = 65_536
"""Bytes kept of each output pipe of a sandboxed program."""
RUN_SECONDS = 30.0
"""Default deadline of a sandboxed program."""
RUN_SECONDS_MAX = 300.0
"""Longest deadline that may be asked for."""
CODE_MAX_BYTES = MIB
"""Longest program in UTF-8 bytes."""

TTL_SECONDS = 48 * 3600
"""Age at which a discussion artifact expires (GC layer 2)."""
GRACE_SECONDS = 2 * 3600
"""Age below which the sweep leaves an object of a dead thread alone (GC layer 3)."""
SWEEP_SECONDS = 30 * 60
"""Pause between two sweeps."""
HOLD_SECONDS = 7 * 24 * 3600
"""How long a hold lasts unless it says otherwise."""
CONNECT_SECONDS = 5.0
"""Default time-out of connecting to a store."""
REQUEST_SECONDS = 30.0
"""Default time-out of one request to a store."""
