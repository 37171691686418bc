"""Where the peers put a version of a named artifact, and what they write beside it. Pure.

Agent Mesh and the Agent Development Kit each have one layout for folders and one for buckets. In a bucket both write
``{app}/{user}/{session}/{filename}/{n}``; in user scope the kit keeps ``user:`` in the name, Agent Mesh does not.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping
from typing import Any

from kmnb.core.addresses import USER_PREFIX, NamedAddress
from kmnb.core.companion import CORE
from kmnb.core.metadata import Attribute
from kmnb.errors import KeySyntaxError

OWN_FOLDER = ".kmnb"
"""Folder of a peer's store where kmnb keeps what the peer has no place for: counters, facts, discussions."""
USER_SESSION = "user"
"""What stands in the place of a session for user scope; no session may have that name."""
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
# What the library of buckets refuses in a path.


def normal_name(filename: str) -> str:
    """A file name in the form in which Agent Mesh stores it."""
    return unicodedata.normalize("NFKC", filename)


def last_part(identifier: str) -> str:
    """What Agent Mesh leaves of an identifier in a folder; empty after a trailing slash."""
    return identifier.rpartition("/")[2]


def check_bucket_place(address: NamedAddress, *, layout: str) -> None:
    """Refuse what a peer's bucket cannot hold apart from something else.

    Agent Mesh strips the outer slashes of an application; they are passed over.

    Raises:
        KeySyntaxError: A user or session with a slash, in the kit's layout an application with one too, a session
            named ``user``, an application of slashes only, a part that no path of a bucket can have, or a file name
            whose stored form is another path.
    """
    is_mesh = layout == "agent-mesh"
    # Objects of Agent Mesh tell whose they are, and its examples have a namespace with a slash.
    apps = address.app.strip("/").split("/") if is_mesh else [address.app]
    some = [*(("app", part) for part in apps), ("user", address.user), ("session", address.session or "-")]
    for what, value in some:
        if "/" in value:
            raise _refused(what, value, layout, reason="a slash in it would be read as another scope, not kept apart")
        if value in ("", ".", "..") or _CONTROL.search(value):
            raise _refused(what, value, layout, reason="no path of a bucket can have it")
    for part in address.filename.split("/"):
        _check_stored(part, normal_name(part) if is_mesh else part, layout=layout)
        if _CONTROL.search(part):
            raise _refused("file name", address.filename, layout, reason="no path of a bucket can have it")
    if address.session == USER_SESSION:
        raise _refused("session", USER_SESSION, layout, reason="it is where files of the user lie")
    if not address.app.strip("/") or address.app.split("/")[0] == OWN_FOLDER:
        raise _refused("app", address.app, layout, reason="it cannot be a folder of its own")


def check_mesh_folder(address: NamedAddress) -> None:
    """Refuse what Agent Mesh's folders cannot hold apart from something else.

    Raises:
        KeySyntaxError: A slash in a user, a session or a file name, a name or an application whose stored form is a
            way out of its folder, or what :func:`check_bucket_place` refuses.
    """
    if "/" in address.filename:
        raise _refused("file name", address.filename, "agent-mesh", reason="folders in names are dropped there")
    _check_stored(address.filename, normal_name(address.filename), layout="agent-mesh")
    app = last_part(address.app)
    if OWN_FOLDER in (app, address.user if not app else ""):
        raise _refused("app", address.app, "agent-mesh", reason="kmnb keeps its own things there")
    if app in (".", "..") or "\0" in app:
        raise _refused("app", address.app, "agent-mesh", reason="it cannot be a folder of its own")
    for what, value in (("user", address.user), ("session", address.session or "-")):
        if "/" in value or "\0" in value:
            raise _refused(what, value, "agent-mesh", reason="all but its last part is dropped there")
    if address.session == USER_SESSION:
        raise _refused("session", USER_SESSION, "agent-mesh", reason="it is where files of the user lie")


def _check_stored(part: str, stored: str, *, layout: str) -> None:
    """Judge one part of a file name by the form that is stored: characters may become dots and slashes in it."""
    if stored in ("", ".", "..") or "/" in stored or "\0" in stored:
        raise _refused("file name", part, layout, reason="its stored form would lead to another place")


def check_kit_folder(address: NamedAddress) -> None:
    """Refuse what the kit's folders cannot hold apart from something else.

    Raises:
        KeySyntaxError: A backslash, a drive, or a word of the layout where it has a meaning.
    """
    words = {"apps", "users", "sessions", "artifacts", "versions"}
    for what, value in (("app", address.app), ("user", address.user), ("session", address.session or "-")):
        parts = value.split("/")
        if "\\" in value or "\0" in value or any(part in ("", ".", "..") for part in parts):
            raise _refused(what, value, "adk", reason="the kit refuses it")
        if len(parts) > 1 and words & {part.casefold() for part in parts}:
            raise _refused(what, value, "adk", reason="it holds a word of the layout")
    parts = [part.rstrip(" .").casefold() for part in address.filename.split("/")]
    bare = address.filename
    if "\\" in bare or bare != bare.strip() or (len(bare) > 1 and bare[0].isalpha() and bare[1] == ":"):
        raise _refused("file name", bare, "adk", reason="the kit reads it as another one")
    if "versions" in parts or parts[-1] == "metadata.json":
        raise _refused("file name", bare, "adk", reason="it holds a word of the layout")


def _refused(what: str, value: str, layout: str, *, reason: str) -> KeySyntaxError:
    return KeySyntaxError(f"{what} {value!a:.200}", f"layout {layout!r} cannot hold it: {reason}", "Use another name.")


def bucket_folder(app: str, user: str, session: str | None, *, is_mesh: bool) -> str:
    """Folder of a scope in a bucket, with its trailing slash."""
    return f"{app.strip('/') if is_mesh else app}/{user}/{session or USER_SESSION}/"


def bucket_name(address: NamedAddress, *, is_mesh: bool) -> str:
    """Name of a file in its scope's folder in a bucket."""
    if is_mesh:
        return normal_name(address.filename)
    return address.name


def read_bucket_path(parts: list[str], *, is_mesh: bool) -> NamedAddress | None:
    """Tell whose version lies under a path of a bucket, without its number.

    Args:
        parts: Segments of the path before the number.
        is_mesh: Whether the layout is Agent Mesh's, else the kit's.

    Returns:
        The address; None where the path could be that of several.
    """
    if not is_mesh:
        for place, part in enumerate(parts):
            if part.startswith(USER_PREFIX) and place >= 3 and parts[place - 1] == USER_SESSION:
                name = "/".join(parts[place:]).removeprefix(USER_PREFIX)
                return NamedAddress("/".join(parts[: place - 2]), parts[place - 2], None, name)
    if len(parts) != 4 or not all(parts):
        return None
    app, user, session, name = parts
    if session != USER_SESSION:
        return NamedAddress(app, user, session, name)
    return NamedAddress(app, user, None, name) if is_mesh else None


def read_inside_app(app: str, path: str, *, is_mesh: bool) -> NamedAddress | None:
    """Tell whose version lies under a path of a bucket, without its number, when the application is known.

    What follows the application are a user, a session, and a name that may have slashes.
    """
    start = bucket_folder(app, "", None, is_mesh=is_mesh).removesuffix(f"/{USER_SESSION}/")
    parts = path.removeprefix(start).split("/", 2)
    if not path.startswith(start) or len(parts) != 3 or not all(parts):
        return None
    user, session, name = parts
    if session != USER_SESSION:
        return NamedAddress(app, user, session, name)
    if is_mesh or name.startswith(USER_PREFIX):
        return NamedAddress(app, user, None, name if is_mesh else name.removeprefix(USER_PREFIX))
    return None


def header_text(text: str) -> str:
    """A text as Agent Mesh writes it into an object's metadata: ASCII with backslash escapes."""
    return "".join(
        char if char.isascii() and char.isprintable() else char.encode("unicode_escape").decode() for char in text
    )


def mesh_headers(address: NamedAddress, version: int) -> dict[str, str]:
    """Metadata that Agent Mesh keeps with an object."""
    mine = address.session is None
    return {
        "original_filename": header_text(normal_name(address.name)),
        "user_id": header_text(address.user),
        "session_id": header_text(USER_SESSION if mine else address.session or ""),
        "version": str(version),
    }


def is_of(told: Mapping[str, str], address: NamedAddress) -> bool:
    """Whether the metadata of an object of Agent Mesh speaks for an address; without any it does."""
    user, session = told.get("user_id"), told.get("session_id")
    if user is None or session is None:
        return "/" not in address.filename
    name = told.get("original_filename")
    if name is not None and "/" in address.app.strip("/") + address.filename:
        # Several scopes share such a path; then the name has to agree as well.
        names = (address.name, normal_name(address.name), address.filename, normal_name(address.filename))
        if name not in (*names, *map(header_text, names)):
            return False
    mine = user in (address.user, header_text(address.user))
    # The peer writes the session of the writer beside a file of the user.
    return mine and (address.session is None or session in (address.session, header_text(address.session)))


def companion_attributes(document: Mapping[str, Any]) -> dict[str, str]:
    """What a companion of Agent Mesh tells, as attributes: the caller's words, and the columns."""
    custom = {str(name): value for name, value in document.items() if name not in CORE}
    told: dict[str, str] = {Attribute.METADATA: json.dumps(custom, ensure_ascii=False)} if custom else {}
    schema = document.get("schema")
    columns = schema.get("columns") if isinstance(schema, Mapping) else None
    if isinstance(columns, list) and columns and all(isinstance(column, str) for column in columns):
        told[Attribute.COLUMNS] = json.dumps(columns, ensure_ascii=False)
        told[Attribute.SCHEMA] = json.dumps({"columns": [{"name": column} for column in columns]}, ensure_ascii=False)
    return told
