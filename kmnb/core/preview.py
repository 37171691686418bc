"""What a preview may hold: bounded, without secrets, without characters that act instead of showing.

A preview is untrusted text. These functions make it harmless as text; who renders it still escapes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from kmnb.core.bounds import PREVIEW_MAX_BYTES

CUT = "…"
"""Mark of something that was cut."""

# Controls (but LF and TAB), bidi marks and overrides, zero-width and invisible characters, tags, lone surrogates.
_ACTING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff"
    "\U000e0000-\U000e007f]"
)
_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_SECRETS: Sequence[tuple[str, re.Pattern[str]]] = (
    ("private-key", re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)")),
    ("private-key", re.compile(r"(?<![A-Za-z0-9+/=])(?:[A-Za-z0-9+/=]{16,}+\s++)++-----END [A-Z ]*PRIVATE KEY-----")),
    ("private-key", re.compile(r"LS0tLS1CRUdJTi[A-Za-z0-9+/=]{20,}")),
    ("jwt", re.compile(r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*")),
    ("aws-key", re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b")),
    ("github-token", re.compile(r"\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,})")),
    ("slack-token", re.compile(r"\bxox[abprs]-[A-Za-z0-9-]{10,}")),
    ("api-key", re.compile(r"\b(?:sk|rk|pk)[-_](?:live|test|proj|ant|or)?[-_]?[A-Za-z0-9_-]{20,}")),
    ("google-key", re.compile(r"\bAIza[A-Za-z0-9_-]{30,}")),
    ("bearer", re.compile(r"(?i)\b(?:bearer|basic)\s+(?=[A-Za-z0-9+/_.~-]*[0-9])[A-Za-z0-9+/_.~=-]{16,}")),
    ("url-password", re.compile(r"(?<=://)[^\s:/@'\"]*:[^\s/@'\"]+(?=@)")),
    (
        "secret",
        re.compile(
            r"(?i)(?<![a-z])(?:password|passwd|pwd|secret|client[-_]?secret|api[-_]?key|access[-_]?key|auth[-_]?token|"
            r"access[-_]?token|refresh[-_]?token|private[-_]?key|token)(?P<sep>[\"']?\s*[:=]\s*[\"']?)"
            r"(?P<value>(?!<redacted)[^\s\"',;&<>{}\[\]]{6,})"
        ),
    ),
)
_SECRET_MIN = 10
"""No pattern of a secret matches less than this many characters."""


_SECRET_NAME = re.compile(
    r"(?i)(?:^|[^a-z])(?:password|passwd|pwd|secret|token|api[-_ ]?key|access[-_ ]?key|private[-_ ]?key|credentials?)"
    r"(?:$|[^a-z])"
)


def is_secret_name(name: str) -> bool:
    """Tell whether a column or field of that name likely holds secrets."""
    return _SECRET_NAME.search(name) is not None


def neutralise(text: str) -> str:
    """Make control, bidi and escape characters visible; colour codes go, everything else stays."""
    if text.isascii() and text.isprintable():
        return text
    return _ACTING.sub(lambda match: _visible(match.group()), _ANSI.sub("", text.replace("\r\n", "\n")))


def _visible(char: str) -> str:
    code = ord(char)
    if code < 0x20:
        return chr(0x2400 + code)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def redact(text: str) -> str:
    """Replace what looks like a secret by a placeholder that tells its kind."""
    if len(text) < _SECRET_MIN:
        return text
    for kind, pattern in _SECRETS:
        text = pattern.sub(lambda match, kind=kind: _placeholder(match, kind), text)  # type: ignore[misc]
    return text


def _placeholder(match: re.Match[str], kind: str) -> str:
    if "value" not in match.re.groupindex:
        return f"<redacted:{kind}>"
    return match.group()[: match.start("value") - match.start()] + f"<redacted:{kind}>"


def clean(text: str) -> str:
    """Redact and neutralise."""
    return neutralise(redact(text))


def fit(text: str, limit_bytes: int) -> str:
    """Cut a text at a character boundary so that it has at most a number of UTF-8 bytes, the mark included."""
    raw = text.encode("utf-8", "replace")
    if len(raw) <= limit_bytes:
        return raw.decode("utf-8")
    room = max(0, limit_bytes - len(CUT.encode()))
    return raw[:room].decode("utf-8", "ignore") + (CUT if limit_bytes >= len(CUT.encode()) else "")


def names(values: Iterable[str], *, total: int | None, most: int = 12, limit_bytes: int = 120) -> str:
    """Join first values by commas, as many as fit, with a mark when there are more.

    Args:
        values: The first values.
        total: How many there are in all; None when these are all.
        most: Most values that are shown.
        limit_bytes: Most UTF-8 bytes of the answer, about.
    """
    shown: list[str] = []
    size = 0
    values = list(values)
    for value in values:
        word = fit(" ".join(clean(value).split()), 60) or '""'
        size += len(word.encode()) + 2
        if shown and (size > limit_bytes or len(shown) >= most):
            break
        shown.append(word)
    more = len(shown) < (len(values) if total is None else total)
    return ", ".join([*shown, CUT] if more else shown)


def compose(
    summary: str, *, parts: Sequence[str] = (), head: str = "", tail: str = "", limit_bytes: int = PREVIEW_MAX_BYTES
) -> str:
    """Put a preview together.

    Args:
        summary: The first line; it answers by itself and is never dropped.
        parts: Shape, outcome fields and the like, in order of worth; each may be dropped when there is no room.
        head: Beginning of the content.
        tail: End of the content, given a third of the room that head and tail share; may be empty.
        limit_bytes: Largest size of the preview in UTF-8 bytes.

    Returns:
        Clean text within the limit.
    """
    lines = [fit(" ".join(clean(summary).split("\n")), limit_bytes // 4)]
    left = limit_bytes - len(lines[0].encode())
    for part in parts:
        text = fit(clean(part).strip("\n"), max(0, min(left // 2, 700)))
        if text and left > 40:
            lines.append(text)
            left -= len(text.encode()) + 1
    lines += _ends(clean(head), clean(tail), left - 8)
    return fit("\n".join(lines), limit_bytes)


def _ends(head: str, tail: str, room: int) -> list[str]:
    if room < 40 or not head:
        return []
    if not tail:
        return [_whole_lines(head, room)]
    end_room = room // 3
    end = tail.encode("utf-8", "replace")[-end_room:].decode("utf-8", "ignore")
    if len(end) < len(tail) and "\n" in end.rstrip("\n"):
        end = end.partition("\n")[2]
    return [_whole_lines(head, room - len(end.encode()) - 8), end.rstrip("\n")]


def _whole_lines(text: str, room: int) -> str:
    """Cut a text between lines where that loses little; a mark follows in any case of a cut."""
    cut = fit(text.rstrip("\n"), room)
    if not cut.endswith(CUT):
        return f"{cut}\n{CUT}" if len(cut) < len(text.rstrip("\n")) else cut
    whole = cut.rpartition("\n")[0]
    return f"{whole}\n{CUT}" if len(whole) > len(cut) // 2 else cut
