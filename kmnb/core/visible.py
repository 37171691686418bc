"""Text that nobody trusts, made safe to look at."""

from __future__ import annotations

import re

_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f]"
)


def visible(text: str) -> str:
    r"""Make control, bidi and invisible characters visible; tabs and line feeds stay.

    Args:
        text: Any text, lone surrogates included.

    Returns:
        Text that a terminal or a browser shows as it stands; ``\x1b`` becomes ``␛``, U+202E becomes ``\u202e``.
    """
    return _HIDDEN.sub(_picture, text)


def _picture(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code < 0x20:
        return chr(0x2400 + code)
    if 0xD800 <= code <= 0xDFFF:
        return "\ufffd"
    return {0x7F: "␡"}.get(code) or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}")
