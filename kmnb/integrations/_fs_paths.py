"""Paths of the ``artifact`` file system: what an ``artifact://`` URI says, without its scheme."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import quote, unquote

from kmnb.core.addresses import SCHEME, USER_PREFIX, NamedAddress, Target, parse_uri
from kmnb.core.config import Names
from kmnb.core.versions import split_pin
from kmnb.errors import KeySyntaxError

DISCUSSIONS = "discussions"
"""First segment of discussion artifacts."""
_MESH = re.compile(r"\A[^/]+/[^/]+/[^/]+/.+\?version=[0-9]+\Z", re.DOTALL)
# A URI of Agent Mesh that pins a version; without one nothing tells it from a name with slashes.


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

    def path_of(self, filename: str, *, short: bool = False) -> str:
        """Path of a name of the scope; short as long as the short path means that name."""
        name = filename if self.session is not None else USER_PREFIX + filename
        if short and is_short(name) and clean(name) == name:
            return name
        return f"{self.root}/{filename.replace('%', '%25')}"


def _segment(identifier: str) -> str:
    return identifier.replace("%", "%25").replace("/", "%2F")


def is_short(path: str) -> bool:
    """Whether a clean path is a name, or a folder of names, of the workspace's own scopes."""
    return path.partition("/")[0] not in ("apps", DISCUSSIONS) and not _MESH.search(path)


def clean(path: str) -> str:
    """Write a path in the one spelling that listings use, so that equal places are equal texts."""
    bare = path.removeprefix(SCHEME)
    bare = bare if _MESH.search(bare) else bare.strip("/")
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
        path: A URI without its scheme (``apps/…``, ``discussions/…``, or one of Agent Mesh with ``?version=``), or a
            name of the workspace's session of any depth, perhaps with ``user:`` before it and a pin behind it.
        names: Names of the workspace.

    Raises:
        KeySyntaxError: It names no artifact.
    """
    if not is_short(path):
        return parse_uri(SCHEME + path)
    own, _ = own_folders(names)
    return Target(address=NamedAddress.of(path, app=own.app, user=own.user, session=own.session or "-"))


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
    pin = None if target.address is None else split_pin(target.address.filename)[1]
    if target.address is None or target.version is not None or (pin or "").isdigit() or pin == "latest":
        raise KeySyntaxError(
            f"{SCHEME}{path}"[:300], "cannot be written", f"Write at a name without a version; '{USER_PREFIX}' works."
        )
    return target.address


def facts_of(path: str, size: int | None, moment: datetime | None) -> dict[str, Any]:
    """A file as fsspec lists it."""
    return {"name": path, "size": size, "type": "file", "created": moment, "mtime": moment and moment.timestamp()}


def level(path: str, files: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Entries directly below a folder, of all files below it."""
    start, found = f"{path}/" if path else "", dict[str, dict[str, Any]]()
    for entry in files:
        if not entry["name"].startswith(start):
            continue
        head, mark, _ = entry["name"][len(start) :].partition("/")
        if not mark or (not path and not is_short(entry["name"])):
            found[entry["name"]] = entry
        else:
            found.setdefault(start + head, {"name": start + head, "size": 0, "type": "directory"})
    return [found[name] for name in sorted(found)]
