"""Keys as paths of a file store, there and back. Pure.

=====================  ==================================================================================
key                    path
=====================  ==================================================================================
``ns/t1/pods-0``       ``ns/t1/pods-0@``: a leaf ends in ``@``, so ``ns/t1`` may be an object as well
``A b/é``              ``=41=20b/=c3=a9@``: all but ``a-z 0-9 . _ -`` is escaped, so that neither case nor
                       Unicode forms can clash; a dot in front is escaped too
``<200 bytes>``        every 80 bytes of a segment become one name, continued by names that begin with ``+``
=====================  ==================================================================================
"""

from __future__ import annotations

import re

PIECE_BYTES = 80
"""Bytes of a segment that go into one file name; escaped and marked they take at most 242 bytes."""
LEAF = "@"
"""Ends the name of an object's file."""
MORE = "+"
"""Begins the name of a further piece of the same segment."""

_PLAIN = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789._-")
_NAME = re.compile(r"\+?(?:[a-z0-9_-]|=[0-9a-f]{2})(?:[a-z0-9._-]|=[0-9a-f]{2})*@?\Z")


def _escape(piece: bytes) -> str:
    text = "".join(chr(byte) if byte in _PLAIN else f"={byte:02x}" for byte in piece)
    return f"=2e{text[1:]}" if text.startswith(".") else text


def folder_path(prefix: str) -> str:
    """Give the relative folder that holds everything below a checked prefix; empty for the whole area."""
    names: list[str] = []
    for segment in prefix.encode().split(b"/") if prefix else ():
        for start in range(0, len(segment), PIECE_BYTES):
            names.append((MORE if start else "") + _escape(segment[start : start + PIECE_BYTES]))
    return "/".join(names)


def object_path(key: str) -> str:
    """Give the relative path of the file of a checked key."""
    return folder_path(key) + LEAF


def read_name(name: str) -> bytes | None:
    """Decode one file name.

    Args:
        name: Name of an entry of a folder.

    Returns:
        What it adds to the key: ``/`` and a piece, or a further piece; None for a name that is none of ours, and for
        one that means a key whose file has another name.
    """
    if not _NAME.match(name):
        return None
    text = name.removeprefix(MORE).removesuffix(LEAF)
    plain = re.sub(r"=(..)", lambda found: chr(int(found[1], 16)), text).encode("latin-1")
    if len(plain) > PIECE_BYTES or b"/" in plain or ("=" in text and _escape(plain) != text):
        return None
    return plain if name.startswith(MORE) else b"/" + plain


def sort_key(name: str, added: bytes) -> tuple[bytes, bool]:
    """Order the entries of a folder so that a walk gives keys in order of their UTF-8 bytes.

    A short folder holds only keys that go on with a slash; a full one may also hold the next piece.
    """
    leaf = name.endswith(LEAF)
    full = len(added.removeprefix(b"/")) == PIECE_BYTES
    return (added if leaf or full else added + b"/"), not leaf
