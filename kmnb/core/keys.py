"""Keys of discussion artifacts: ``{namespace}/{crew}/{thread}/{agent}/{name}``.

kmnb writes the name as ``{tool}-{seq}`` and reads every other one that a peer may have chosen, at any depth. What
stands outside ``[A-Za-z0-9._-]`` in a segment is written as ``=XX``, the UTF-8 bytes in hexadecimal, ``=`` included.
The escape is reversible and injective, so no identifier can be read as a separator, a wildcard or another identifier.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from kmnb.core.bounds import KEY_MAX_BYTES
from kmnb.errors import KeySyntaxError, clip

CREWLESS = "nocrew"
"""Crew segment of an agent without a crew."""

_REFUSED = frozenset(map(chr, range(32))) | {"\x7f", "\\", "\ufffe", "\uffff"}
# The last two are no characters of XML, in which buckets list and delete; one such key would end a whole listing.
_PLAIN = re.compile(r"[A-Za-z0-9._-]+")
_OTHER = re.compile(r"[^A-Za-z0-9._-]")
_ESCAPED = re.compile(r"(?:[A-Za-z0-9._-]|=[0-9A-F]{2})+")
_ESCAPE_RUN = re.compile(r"(?:=[0-9A-F]{2})+")
_NUMBERED = re.compile(r"(.+)-(0|[1-9][0-9]{0,17})", re.DOTALL)


def escape(text: str, *, what: str = "identifier") -> str:
    """Write an identifier as one key segment.

    Args:
        text: Any text but the empty one, ``.`` and ``..``.
        what: What the identifier is, for the error.

    Returns:
        A segment of ``[A-Za-z0-9._-]`` and ``=XX``; the text itself where nothing needs an escape.

    Raises:
        KeySyntaxError: Empty, ``.`` or ``..``, not text, or not encodable.
    """
    if not isinstance(text, str):
        raise KeySyntaxError(f"{what} {text!r:.80}", "is not text", "Give a string.")
    if text in ("", ".", ".."):
        raise KeySyntaxError(f"{what} {text!r}", "cannot be a key segment", "Give a name that is not empty, . or ..")
    if _PLAIN.fullmatch(text):
        return text
    try:
        return _OTHER.sub(_escape_one, text)
    except UnicodeEncodeError as error:
        raise KeySyntaxError(
            f"{what} {text!a:.80}", "holds a lone surrogate", "Give text that UTF-8 can write."
        ) from error


def _escape_one(match: re.Match[str]) -> str:
    return "".join(f"={byte:02X}" for byte in match.group().encode())


def unescape(segment: str) -> str:
    """Read an identifier back from a key segment.

    Args:
        segment: One segment of a key, written by kmnb or by a peer.

    Returns:
        The identifier; the segment itself where it is not one that :func:`escape` writes.
    """
    if "=" not in segment or not _ESCAPED.fullmatch(segment):
        return segment
    try:
        text = _ESCAPE_RUN.sub(lambda run: bytes.fromhex(run.group().replace("=", "")).decode(), segment)
    except UnicodeDecodeError:
        return segment
    return text if text not in ("", ".", "..") and _OTHER.sub(_escape_one, text) == segment else segment


def check_key(key: str) -> str:
    """Tell whether an object may have a key, of any grammar and depth.

    Args:
        key: Segments separated by ``/``.

    Returns:
        The key itself.

    Raises:
        KeySyntaxError: Empty, too long, rooted, with an empty, ``.`` or ``..`` segment, with a control character, a
            backslash, U+FFFE or U+FFFF, or not encodable.
    """
    if not isinstance(key, str) or not key:
        raise KeySyntaxError(f"key {key!r:.80}", "is not a key", "Give segments separated by '/'.")
    if problem := _problem_of(key):
        raise KeySyntaxError(f"key {clip(ascii(key), 200)}", problem, "Take a key from list() or from an envelope.")
    return key


def _problem_of(key: str) -> str:
    try:
        size = len(key.encode())
    except UnicodeEncodeError:
        return "holds a lone surrogate"
    if size > KEY_MAX_BYTES:
        return f"has {size} UTF-8 bytes; the limit KEY_MAX_BYTES is {KEY_MAX_BYTES}"
    if not _REFUSED.isdisjoint(key):
        return "holds a control character, a backslash, U+FFFE or U+FFFF"
    for segment in key.split("/"):
        if segment in ("", ".", ".."):
            return f"has the segment {segment!r}, which no key can have"
    return ""


def join_key(*segments: str) -> str:
    """Make a key of identifiers, each escaped, and check it as a whole.

    Args:
        segments: Identifiers, outermost first.

    Raises:
        KeySyntaxError: An identifier cannot be a segment, or the key is too long.
    """
    return check_key("/".join(escape(segment) for segment in segments))


def check_prefix(prefix: str) -> str:
    """Check a prefix of whole segments; the trailing slash is optional and is removed.

    Args:
        prefix: Segments separated by ``/``; empty for everything.

    Raises:
        KeySyntaxError: No key can begin like that.
    """
    return check_key(prefix.removesuffix("/") if isinstance(prefix, str) else prefix) if prefix != "" else ""


@dataclass(frozen=True, slots=True)
class DiscussionKey:
    """A discussion artifact's address, as identifiers without escapes."""

    namespace: str
    """Kubernetes namespace, or whatever separates installations."""
    crew: str
    """Crew; ``nocrew`` for agents without one."""
    thread: str
    """Discussion thread."""
    agent: str
    """Producing agent."""
    name: str
    """Last part: ``{tool}-{seq}``, or ``{signal}-{uuid}`` of a peer."""

    @property
    def text(self) -> str:
        """The key as it is stored. Raises KeySyntaxError where no key can be made of it."""
        return join_key(self.namespace, self.crew, self.thread, self.agent, self.name)

    @property
    def tool(self) -> str | None:
        """Tool of a ``{tool}-{seq}`` name; None for another name."""
        found = _NUMBERED.fullmatch(self.name)
        return found.group(1) if found else None

    @property
    def sequence(self) -> int | None:
        """Number of a ``{tool}-{seq}`` name; None for another name."""
        found = _NUMBERED.fullmatch(self.name)
        return int(found.group(2)) if found else None

    @classmethod
    def parse(cls, key: str) -> DiscussionKey | None:
        """Read a stored key.

        Args:
            key: A key of any grammar.

        Returns:
            Its parts, or None where it has not exactly five segments.

        Raises:
            KeySyntaxError: No object can have that key.
        """
        segments = check_key(key).split("/")
        return cls(*map(unescape, segments)) if len(segments) == 5 else None


def numbered_name(tool: str, sequence: int) -> str:
    """Name of the n-th result of a tool, ``{tool}-{seq}``, before escapes."""
    return f"{tool}-{sequence}"


def crew_prefix(namespace: str, crew: str) -> str:
    """Prefix of all keys of a crew, without the trailing slash."""
    return join_key(namespace, crew or CREWLESS)


def thread_prefix(namespace: str, crew: str, thread: str) -> str:
    """Prefix of all keys of a thread, without the trailing slash; an empty thread is refused.

    Raises:
        KeySyntaxError: An identifier cannot be a segment.
    """
    return join_key(namespace, crew or CREWLESS, thread)


class ThreadFinder:
    """Tells the threads of keys that belong to one crew.

    Args:
        namespace: Namespace that must be the first segment.
        crew: Crew that must be the second segment.
    """

    def __init__(self, namespace: str, crew: str) -> None:
        self._start = crew_prefix(namespace, crew) + "/"
        self._known: dict[str, str] = {}

    def thread_of(self, key: str) -> str | None:
        """Thread that a stored key of any depth belongs to.

        Returns:
            Its identifier, or None for another crew, a malformed key, or one with nothing below its third segment.
        """
        if not key.startswith(self._start):
            return None
        segment, _, rest = key[len(self._start) :].partition("/")
        if not segment or not rest or "//" in rest or rest[0] == "/" or rest[-1] == "/":
            return None
        thread = self._known.get(segment)
        if thread is None:
            thread = self._known[segment] = unescape(segment)
        return thread


def thread_of(key: str, *, namespace: str, crew: str) -> str | None:
    """Thread of one key; see :class:`ThreadFinder`."""
    return ThreadFinder(namespace, crew).thread_of(key)


def local_path(base: str, key: str) -> str:
    """Path of an artifact below a folder, segment by segment; nothing leaves the folder.

    Args:
        base: The folder, as a path with ``/``.
        key: A key of any grammar and depth.

    Raises:
        KeySyntaxError: No object can have that key.
    """
    return f"{base.rstrip('/')}/{check_key(key)}"
