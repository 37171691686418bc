"""What the Agent Development Kit allows as names and references, in its own words."""

from __future__ import annotations

import re
from typing import Any, NamedTuple, NoReturn
from urllib.parse import unquote

from kmnb.core.addresses import SCHEME, USER_PREFIX, NamedAddress
from kmnb.errors import KeySyntaxError, NotSupported, clip

RESERVED = frozenset({"apps", "users", "sessions", "artifacts", "versions"})
"""Words of the URI grammar, which an identifier with a slash must not hold."""
HOPS_MAX = 5
"""Most references that one load follows."""

_DRIVE = re.compile(r"[A-Za-z]:")
_PART = rf"(?:(?!/(?:{'|'.join(sorted(RESERVED))})/).)+?"
_URI = re.compile(
    rf"{SCHEME}apps/({_PART})/users/({_PART})(?:/sessions/({_PART}))?/artifacts/(.+)/versions/([0-9]{{1,18}})",
    re.DOTALL,
)


class Scope(NamedTuple):
    """Whose artifacts are meant, as the caller names them."""

    app: str
    """Application."""
    user: str
    """End user."""
    session: str | None
    """Conversation; None for user scope."""


class Reference(NamedTuple):
    """What an ``artifact://`` URI of the kit points at."""

    scope: Scope
    """Where."""
    filename: str
    """Name, ``user:`` included in user scope."""
    version: int
    """Version."""


def kit() -> Any:
    """The kit's module of types.

    Raises:
        NotSupported: The kit is not installed.
    """
    try:
        from google.genai import types
    except ImportError as error:
        raise missing() from error
    return types


def missing() -> NotSupported:
    """The error of a missing kit."""
    return NotSupported("kmnb.integrations.adk", "google-adk is not installed", "Run: pip install 'kmnb[adk]'.")


def invalid(message: str) -> NoReturn:
    """Raise the kit's ``InputValidationError``; before 1.19 it was a ``ValueError``."""
    try:
        from google.adk.errors.input_validation_error import InputValidationError
    except ImportError:
        raise ValueError(message) from None
    raise InputValidationError(clip(message))


def check_segment(value: Any, field: str) -> None:
    """Check an identifier as the kit's own services do.

    Args:
        value: What the caller gave.
        field: Name of the argument, for the error.
    """
    if not isinstance(value, str) or not value.strip():
        invalid(f"{field} must not be empty.")
    shown = f"{field} {value[:200]!r}"
    parts = value.replace("\\", "/").split("/")
    if "\0" in value:
        invalid(f"{field} must not contain null bytes.")
    if value[0] in "/\\":
        invalid(f"{shown} must not be an absolute path or start with a slash.")
    if _DRIVE.match(value):
        invalid(f"{shown} must not be drive-qualified.")
    if value == "." or ".." in parts:
        invalid(f"{shown} must not contain traversal segments.")
    if len(parts) > 1 and RESERVED & {part.casefold() for part in parts}:
        invalid(f"{shown} must not contain reserved path segments.")


def check_scope(scope: Scope) -> None:
    """Check application, user and, where there is one, session."""
    check_segment(scope.app, "app_name")
    check_segment(scope.user, "user_id")
    if scope.session is not None:
        check_segment(scope.session, "session_id")


def address_of(scope: Scope, filename: str, *, app: str | None = None, is_new: bool = False) -> NamedAddress:
    """Address of a name.

    Args:
        scope: Whose.
        filename: The name; ``user:`` before it means user scope.
        app: What takes the place of the application's name; None for the name itself.
        is_new: Whether something is to be saved there.
    """
    bare = filename.removeprefix(USER_PREFIX)
    mine = bare != filename
    if not mine and scope.session is None:
        invalid("Session ID must be provided for session-scoped artifacts.")
    check_scope(scope._replace(session=None) if mine else scope)
    if is_new and not mine and (scope.session or "").replace("\\", "/").split("/")[0] == "user":
        invalid("session_id must not be or start with the reserved value 'user'.")
    _check_filename(bare)
    try:
        return NamedAddress.of(filename, app=app or scope.app, user=scope.user, session=scope.session or "-")
    except KeySyntaxError as error:
        invalid(str(error))


def _check_filename(bare: str) -> None:
    if not bare:
        invalid("filename must not be empty.")
    if "\0" in bare:
        invalid("filename must not contain null bytes.")
    if bare[0] == "/":
        invalid(f"filename {bare[:200]!r} must not be an absolute path or start with a slash.")
    if {".", ".."} & set(bare.split("/")):
        invalid(f"filename {bare[:200]!r} must not contain traversal segments.")


def is_reference(uri: str | None) -> bool:
    """Whether a part's URI points at another artifact."""
    return bool(uri) and str(uri).startswith(SCHEME)


def references_of(uri: str, scope: Scope) -> list[Reference]:
    """Read a reference, and check that it stays in the caller's scope.

    The kit writes names as they are, others write them with ``%XX``: both readings are given, the plain one first.

    Args:
        uri: The URI.
        scope: The caller's scope.
    """
    found = _URI.fullmatch(uri)
    if not found:
        invalid(f"Invalid artifact reference URI: {uri}")
    app, user, session, name, version = found.groups()
    plain = (app, user, session, name)
    read = tuple(None if part is None else unquote(part) for part in plain)
    readings = [_reference(parts, int(version)) for parts in dict.fromkeys((plain, read))]
    inside = [reading for reading in readings if reading.scope[:2] == scope[:2]]
    if not inside:
        invalid("Artifact references must stay within the same app and user scope.")
    inside = [reading for reading in inside if reading.scope.session in (None, scope.session)]
    if not inside:
        invalid("Session-scoped artifact references must stay within the same session scope.")
    return inside


def _reference(parts: tuple[str | None, ...], version: int) -> Reference:
    app, user, session, name = parts
    filename = name or ""
    if session is None and not filename.startswith(USER_PREFIX):
        filename = USER_PREFIX + filename
    return Reference(Scope(app or "", user or "", session), filename, version)
