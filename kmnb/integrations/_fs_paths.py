"""Paths of the ``artifact`` file system: what an ``artifact://`` URI says, without its scheme."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote, unquote

from kmnb.core.addresses import SCHEME, USER_PREFIX, NamedAddress, Target, parse_uri
from kmnb.core.config import Names
from kmnb.core.versions import split_pin
from kmnb.errors import KeySyntaxError

DISCUSSIONS = "discussions"
"""First segment of discussion artifacts."""


@dataclass(frozen=True, slots=True)
class Folder:
    """The named artifacts of one scope."""

    app: str
    """Application."""
    user: str
    """User."""
    session: str | None
    """Session; None for user scope."""

    @property
    def root(self) -> str:
        """Path of the whole scope."""
        session = f"/sessions/{_segment(self.session)}" if self.session is not None else ""
        return f"apps/{_segment(self.app)}/users/{_segment(self.user)}{session}/artifacts"

    def path_of(self, filename: str) -> str:
        """Path of a name of the scope."""
        return f"{self.root}/{filename.replace('%', '%25')}"


def _segment(identifier: str) -> str:
    return identifier.replace("%", "%25").replace("/", "%2F")


def clean(path: str) -> str:
    """Write a path in the one spelling that listings use, so that equal places are equal texts."""
    bare = path.removeprefix(SCHEME).strip("/") if "?" not in path else path.removeprefix(SCHEME)
    if bare.partition("/")[0] not in ("apps", DISCUSSIONS):
        return bare
    return "/".join(_segment(unquote(part)) for part in bare.split("/"))


def folder_of(path: str) -> Folder | None:
    """Scope that a clean path lies in, at any depth; None for another path."""
    session: str | None
    parts = path.split("/")
    if len(parts) >= 7 and (parts[0], parts[2], parts[4], parts[6]) == ("apps", "users", "sessions", "artifacts"):
        session = unquote(parts[5])
    elif len(parts) >= 5 and (parts[0], parts[2], parts[4]) == ("apps", "users", "artifacts"):
        session = None
    else:
        return None
    return Folder(unquote(parts[1]), unquote(parts[3]), session)


def own_folders(names: Names) -> tuple[Folder, Folder]:
    """Folders of the session and of the user of a workspace."""
    app = (names.component or names.app) if names.scope == "component" else names.app
    return Folder(app, names.user, names.session), Folder(app, names.user, None)


def target_of(path: str, names: Names) -> Target:
    """Read a clean path as one artifact.

    Args:
        path: A URI without its scheme, or a name of the workspace's session of at most three segments, perhaps with
            ``user:`` before it and ``@3`` behind it.
        names: Names of the workspace.

    Raises:
        KeySyntaxError: It names no artifact.
    """
    if path.partition("/")[0] in ("apps", DISCUSSIONS) or path.count("/") >= 3:
        return parse_uri(SCHEME + path)
    own, _ = own_folders(names)
    bare, pin = split_pin(path)
    version = int(pin) if pin is not None and pin.isascii() and pin.isdigit() else None
    name = bare if version is not None or pin == "latest" else path
    return Target(
        address=NamedAddress.of(name, app=own.app, user=own.user, session=own.session or "-"), version=version
    )


def path_of(target: Target) -> str:
    """The clean path of what was found."""
    if target.address is None:
        return clean(f"{DISCUSSIONS}/{quote(target.key or '', safe='/=')}")
    return clean(target.address.uri(target.version))


def writable(path: str, names: Names) -> NamedAddress:
    """Address that a clean path may be written at.

    Raises:
        KeySyntaxError: A pinned version, or no named artifact.
    """
    target = target_of(path, names)
    if target.address is None or target.version is not None:
        raise KeySyntaxError(
            f"{SCHEME}{path}"[:300], "cannot be written", f"Write at a name without a version; '{USER_PREFIX}' works."
        )
    return target.address
