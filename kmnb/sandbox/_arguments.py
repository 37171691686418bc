"""Check what callers hand to the sandbox, before anything is started."""

from __future__ import annotations

import glob
import os
import stat
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from kmnb.errors import BadRequest, clip, shown

SESSION_MAX_BYTES = 200
"""Longest name of a session in UTF-8 bytes."""
CLOSED = ("/proc", "/sys", "/dev", "/run", "/etc", "/boot")
"""Folders of the system: a program may read neither them nor what is below them."""
OPEN = ("/dev/shm",)  # noqa: S108 - nothing is made there
"""Folders below those that hold people's own files."""
SECRETS = (
    ".ssh", ".aws", ".azure", ".kube", ".gnupg", ".docker", ".config", ".netrc", ".jupyter", ".local/share/jupyter",
    ".ipython", ".mozilla", ".password-store", ".local/share/keyrings", ".pki", ".thunderbird", ".oci",
)  # fmt: skip
"""Below a home: where credentials and kernels' connection files lie."""
SHARED = ("/tmp", "/var/tmp", "/usr", "/home", "/root", "/opt", "/srv", "/media")  # noqa: S108 - nothing is made there
"""Folders of which a part may be shown, never the whole."""


def check_level_asked(level: Any) -> int:
    """Check the isolation that is asked for.

    Raises:
        BadRequest: No whole number of one digit. One above 3 is for the caller to hear that there is none.
    """
    if not isinstance(level, int) or isinstance(level, bool) or not 0 <= level <= 9:
        raise BadRequest("required_level", f"must be 0, 1, 2 or 3, not {shown(level)}", "The usual level is 2.")
    return level


def check_folder(name: str, path: Any) -> Path | None:
    """Find a folder that is named by an argument; its path without symbolic links.

    Args:
        name: The argument's name.
        path: A path; None stays None.

    Raises:
        BadRequest: No path, not there, or no folder.
    """
    if path is None:
        return None
    step = "Give the path of a folder as a text or a Path."
    if not isinstance(path, str | os.PathLike) or not isinstance(os.fspath(path), str):
        raise BadRequest(name, f"must be a path, not {shown(path)}", step)
    if not os.fspath(path):
        raise BadRequest(name, "is an empty path", step)
    try:
        real = os.path.realpath(os.path.abspath(path))
        found = os.stat(real)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "it can be no path"
        raise BadRequest(f"{name} {shown(os.fspath(path))}", f"is not there ({why})", step) from None
    if not stat.S_ISDIR(found.st_mode):
        raise BadRequest(f"{name} {shown(os.fspath(path))}", "is no folder", step)
    return Path(real)


def check_shown_folder(name: str, path: Any) -> Path | None:
    """Find a folder that a program is to read, unless showing it would give the machine away.

    Args:
        name: The argument's name.
        path: A path; None stays None.

    Raises:
        BadRequest: As :func:`check_folder`; a symbolic link; the root, a home, a folder of the system, one that holds
            credentials, or one that holds any of these.
    """
    folder = check_folder(name, path)
    if folder is None:
        return None
    thing = f"{name} {shown(os.fspath(path))}"
    if os.path.islink(os.path.abspath(path)):
        raise BadRequest(thing, "is a symbolic link, which may lead elsewhere tomorrow", f"Give {shown(str(folder))}.")
    why = _why_not(str(folder))
    if why:
        raise BadRequest(thing, why, "Put what the program is to read into a folder of its own, and give that.")
    return folder


def _why_not(folder: str) -> str:
    own = (os.path.expanduser("~"), os.environ.get("HOME", ""), "/root", *glob.glob("/home/*"))
    homes = {os.path.realpath(one) for one in own if one}
    secrets = [os.path.realpath(os.path.join(home, one)) for home in homes for one in SECRETS]
    if any(_within(folder, one) for one in CLOSED) and not any(_within(folder, one + "/") for one in OPEN):
        return "belongs to the system, not to a program's data"
    if any(_within(folder, one) for one in secrets):
        return "is where credentials and settings lie"
    everything = [*homes, *SHARED, *CLOSED, *filter(os.path.exists, secrets)]
    if any(_within(one, folder) for one in everything):
        return "holds much more than a program's data: a home, temporary files of others, or parts of the system"
    return ""


def _within(path: str, folder: str) -> bool:
    """Tell whether a path is a folder or below it; with a slash at the end, only below it."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def check_facts(artifacts: Any) -> tuple[Mapping[str, Any], ...]:
    """Check the facts of artifacts that a receipt is to name.

    Raises:
        BadRequest: No list of dicts with a key that is text.
    """
    step = "Give a list of dicts with key, digest and size."
    if artifacts is None:
        return ()
    if isinstance(artifacts, str | bytes | Mapping) or not isinstance(artifacts, Iterable):
        raise BadRequest("artifacts", f"must be a list, not {shown(artifacts)}", step)
    found = tuple(artifacts)
    for one in found:
        if not isinstance(one, Mapping) or not isinstance(one.get("key"), str):
            raise BadRequest("artifacts", f"holds {shown(one)}", step)
    return found


def check_names(name: str, values: Any, *, example: str) -> tuple[str, ...]:
    """Check a list of names that an argument holds.

    Args:
        name: The argument's name.
        values: What was given.
        example: How it is written, for the error.

    Raises:
        BadRequest: No list of texts, or an empty one among them.
    """
    step = f"Write {name}={example}."
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise BadRequest(name, f"must be a list of names, not {shown(values)}", step)
    found = tuple(values)
    for one in found:
        if not isinstance(one, str) or not one.strip() or not one.isprintable():
            raise BadRequest(name, f"holds {shown(one)}, which is no name", step)
    return found


def check_session(name: Any) -> str:
    """Check the name of a session.

    Raises:
        BadRequest: No text, empty, too long, or with characters that cannot be shown.
    """
    step = f"Use a short word of at most {SESSION_MAX_BYTES} bytes, for example 'main'."
    if not isinstance(name, str) or not name.strip() or not name.isprintable():
        raise BadRequest("session", f"must be a name, not {shown(name)}", step)
    if len(name.encode()) > SESSION_MAX_BYTES:
        raise BadRequest("session", f"has a name of {len(name.encode()):,} bytes", step)
    return name


class Listener:
    """What a caller wants told of each piece of output. What it raises ends its listening, not the run.

    Args:
        told: Called with ``stdout`` or ``stderr`` and a piece of text; None for nobody.

    Raises:
        BadRequest: Something that cannot be called.
    """

    def __init__(self, told: Any) -> None:
        if told is not None and not callable(told):
            step = "Give a function of two arguments: 'stdout' or 'stderr', and a piece of text."
            raise BadRequest("on_output", f"cannot be called: {shown(told)}", step)
        self._told: Callable[[str, str], object] | None = told
        self.notes: tuple[str, ...] = ()

    def __call__(self, name: str, text: str) -> None:
        if self._told is None:
            return
        try:
            self._told(name, text)
        except Exception as error:
            self._told = None
            self.notes = (clip(f"on_output raised {type(error).__name__}: {error}; it was not called any more", 300),)
