"""Addresses of named artifacts, and the ``artifact://`` URIs of both areas and of both peers.

Three grammars share the scheme; the literal first segment decides: ``discussions`` is a discussion key, ``apps`` is
the Agent Development Kit's grammar, anything else is Agent Mesh's. kmnb emits the first two.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from urllib.parse import parse_qs, quote, unquote

from kmnb.core.keys import check_key, escape, unescape
from kmnb.errors import KeySyntaxError, clip

SCHEME = "artifact://"
"""Scheme of every artifact URI."""
USER_PREFIX = "user:"
"""Beginning of a file name that opts into user scope."""
SEGMENT_MAX_BYTES = 180
"""Longest escaped identifier that stands in a named key itself; a longer one is stored under its digest."""

_MET_MAX = 4096
_met: dict[str, str] = {}
# Long identifiers that this process wrote as digests, so that other layouts can spell them out; bounded.

_ADK = re.compile(
    r"apps/(?P<app>[^/]+)/users/(?P<user>[^/]+)(?:/sessions/(?P<session>[^/]+))?"
    r"/artifacts/(?P<filename>.+?)(?:/versions/(?P<version>[0-9]{1,18}))?",
    re.DOTALL,
)
_PINNED = re.compile(r"/versions/[0-9]{1,18}\Z")


@dataclass(frozen=True, slots=True)
class NamedAddress:
    """Where all versions of one named artifact live."""

    app: str
    """Application, or whatever the storage scope puts in its place."""
    user: str
    """The end user."""
    session: str | None
    """The conversation; None in user scope."""
    filename: str
    """Name without the ``user:`` prefix; slashes are part of it."""

    @classmethod
    def of(cls, name: str, *, app: str, user: str, session: str) -> NamedAddress:
        """Address of a name as people write it; ``user:`` before it means user scope.

        Raises:
            KeySyntaxError: An identifier is empty, ``.`` or ``..``, or the name has a ``..`` segment.
        """
        if not isinstance(name, str):
            raise KeySyntaxError(f"name {name!a:.80}", "is not text", "Give a string.")
        mine = name.startswith(USER_PREFIX)
        bare = _check_filename(name.removeprefix(USER_PREFIX) if mine else name)
        for what, value in (("app", app), ("user", user), ("session", session)):
            escape(value, what=what)
        return cls(app, user, None if mine else session, bare)

    @property
    def name(self) -> str:
        """The name as people write it, ``user:`` included."""
        return self.filename if self.session is not None else USER_PREFIX + self.filename

    @property
    def key(self) -> str:
        """Prefix of the keys of all versions, in the kmnb layout."""
        return check_key(f"{scope_prefix(self.app, self.user, self.session)}/{_short(self.filename)}")

    @property
    def is_short(self) -> bool:
        """Whether the key itself tells every identifier, so that no record has to be read."""
        return "/==" not in f"/{self.key}"

    def version_key(self, version: int) -> str:
        """Key of one version."""
        return f"{self.key}/{version}"

    def uri(self, version: int | None = None) -> str:
        """The URI in the Agent Development Kit's grammar; without a version it means the latest."""
        session = f"/sessions/{_quote(self.session)}" if self.session is not None else ""
        pin = f"/versions/{version}" if version is not None else ""
        # In user scope one ``user:`` before the name is the scope's, so a name that begins so itself is written whole.
        shown = self.name if self.filename.startswith(USER_PREFIX) else self.filename
        name = quote(shown, safe="/")
        if version is None and _PINNED.search(name):
            name = name.replace("/versions/", "%2Fversions%2F")
        return f"{SCHEME}apps/{_quote(self.app)}/users/{_quote(self.user)}{session}/artifacts/{name}{pin}"


def scope_prefix(app: str, user: str, session: str | None) -> str:
    """Prefix of everything of a session, or of user scope where the session is None."""
    start = f"{_short(app)}/{_short(user)}"
    return f"{start}/u" if session is None else f"{start}/s/{_short(session)}"


def parse_version_key(key: str) -> tuple[NamedAddress | None, int] | None:
    """Read a key of the named area in the kmnb layout.

    Args:
        key: A stored key.

    Returns:
        Address and version; the address is None where an identifier stands there by its digest only. None for
        another layout.
    """
    segments = key.split("/")
    if not segments[-1].isascii() or not segments[-1].isdigit():
        return None
    if len(segments) == 6 and segments[2] == "s":
        parts: list[str | None] = [segments[0], segments[1], segments[3], segments[4]]
    elif len(segments) == 5 and segments[2] == "u":
        parts = [segments[0], segments[1], None, segments[3]]
    else:
        return None
    version = int(segments[-1])
    if any(part is not None and part.startswith("==") for part in parts):
        return None, version
    app, user, session, name = (None if part is None else unescape(part) for part in parts)
    return NamedAddress(app or "", user or "", session, name or ""), version


@dataclass(frozen=True, slots=True)
class Place:
    """What a prefix of the named area covers: one scope, or one name in it."""

    app: str
    """Application."""
    user: str
    """The end user."""
    session: str | None
    """The conversation; None in user scope."""
    filename: str | None
    """Name without the ``user:`` prefix; None for the whole scope."""


def parse_app(prefix: str) -> str | None:
    """Read the application of a prefix of the named area; None for a digest that this process never met."""
    return _identifier(prefix.partition("/")[0])


def parse_place(prefix: str) -> Place | None:
    """Read a prefix of the named area that is a whole scope or a whole name.

    Identifiers that stand there by their digest are known where this process met them.

    Returns:
        The place; None for every other prefix.
    """
    segments = prefix.split("/")
    if len(segments) in (4, 5) and segments[2] == "s":
        session, rest = segments[3], segments[4:]
    elif len(segments) in (3, 4) and segments[2] == "u":
        session, rest = None, segments[3:]
    else:
        return None
    app, user = _identifier(segments[0]), _identifier(segments[1])
    inside = None if session is None else _identifier(session)
    filename = _identifier(rest[0]) if rest else None
    if app is None or user is None or (session is not None and inside is None) or (rest and filename is None):
        return None
    return Place(app, user, inside, filename)


@dataclass(frozen=True, slots=True)
class Target:
    """What an artifact URI points at: exactly one of the two is set."""

    key: str | None = None
    """Key in the discussion area."""
    address: NamedAddress | None = None
    """Address in the named area."""
    version: int | None = None
    """Pinned version; None for the latest."""


def discussion_uri(key: str) -> str:
    """URI of a discussion artifact."""
    return f"{SCHEME}discussions/{quote(key, safe='/=')}"


def parse_uri(uri: str) -> Target:
    """Read an artifact URI of any of the three grammars.

    Raises:
        KeySyntaxError: Not such a URI; the message says what one looks like.
    """
    body = uri.removeprefix(SCHEME)
    if body == uri:
        raise KeySyntaxError(clip(uri, 200), "is not an artifact:// URI", "It begins with artifact://.")
    first, _, rest = body.partition("/")
    if first == "discussions":
        return Target(key=check_key(unquote(rest)))
    if first == "apps" and (found := _ADK.fullmatch(body)):
        app, user, session, name, version = (None if part is None else unquote(part) for part in found.groups())
        scope = USER_PREFIX if session is None and not (name or "").startswith(USER_PREFIX) else ""
        address = NamedAddress.of(scope + (name or ""), app=app or "", user=user or "", session=session or "-")
        return Target(address=address, version=None if version is None else int(version))
    return _mesh_target(uri, body)


def _mesh_target(uri: str, body: str) -> Target:
    path, _, query = body.partition("?")
    parts = [unquote(part) for part in path.split("/", 3)]
    if len(parts) != 4:
        raise KeySyntaxError(
            clip(uri, 200),
            "does not name an artifact",
            "Known: artifact://discussions/KEY, artifact://apps/APP/users/USER/sessions/SESSION/artifacts/NAME"
            "/versions/N and artifact://APP/USER/SESSION/NAME?version=N.",
        )
    version = parse_qs(query).get("version", [""])[0]
    address = NamedAddress.of(parts[3], app=parts[0], user=parts[1], session=parts[2])
    return Target(address=address, version=int(version) if version.isascii() and version.isdigit() else None)


def _quote(text: str | None) -> str:
    return quote(text or "", safe="")


def _short(identifier: str) -> str:
    segment = escape(identifier)
    if len(segment) <= SEGMENT_MAX_BYTES:
        return segment
    digest = "==" + hashlib.sha256(identifier.encode()).hexdigest()
    if digest not in _met:
        if len(_met) >= _MET_MAX:
            _met.pop(next(iter(_met)), None)
        _met[digest] = identifier
    return digest


def _identifier(segment: str) -> str | None:
    """Read a segment of a named key; None for a digest that this process never met."""
    return _met.get(segment) if segment.startswith("==") else unescape(segment)


def _check_filename(name: str) -> str:
    escape(name, what="file name")
    if "\0" in name:
        raise KeySyntaxError(f"file name {name!a:.80}", "holds a NUL character")
    if name.startswith("/") or any(part in ("", ".", "..") for part in name.split("/")):
        raise KeySyntaxError(
            f"file name {name!a:.80}", "is rooted or has an empty, '.' or '..' part", "Give a plain name."
        )
    return name
