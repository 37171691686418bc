"""``kmnb ipython enable``: the magics are there in every session, without ``%load_ext``.

A startup file of the IPython profile names the magics; kmnb itself is imported when one of them is used first.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from kmnb.core.answers import Answer, line
from kmnb.core.describe import Operation, Param
from kmnb.errors import BadRequest
from kmnb.frontends._frontend import Frontend

FILE = "50-kmnb.py"
"""Name of the startup file."""
_MARK = "# Written by `kmnb ipython enable`; `kmnb ipython disable` removes it."
_TEXT = f"""\
{_MARK}
for _name in ("artifact", "compute"):
    get_ipython().magics_manager.register_lazy(_name, "kmnb")
del _name
"""

_ACTIONS = ("enable", "disable", "status")
OPERATION = Operation(
    "ipython",
    "Have %artifact and %%compute in every IPython session and kernel, without %load_ext.",
    (
        Param("action", "text", "What to do.", required=True, positional=True, choices=_ACTIONS),
        Param("profile", "text", "IPython profile.", default="default"),
    ),
)


def main(words: Sequence[str]) -> int:
    """Run ``kmnb ipython``.

    Args:
        words: The words after it.

    Returns:
        The exit code.

    Raises:
        BadRequest: Words that cannot be understood, or a file that is not kmnb's.
    """
    from kmnb.frontends._forms import Form, HelpAsked
    from kmnb.frontends._output import put_text

    try:
        given, _ = Form(OPERATION, "kmnb ipython").parse(words)
    except HelpAsked as asked:
        return put_text(asked.args[0])
    return put_text(change(given["action"], folder_of(given["profile"])).text)


def folder_of(profile: str) -> Path:
    """Find the startup folder of a profile; the default profile is made when it is not there."""
    from IPython.core.profiledir import ProfileDir, ProfileDirError
    from IPython.paths import get_ipython_dir

    base, profiles = get_ipython_dir(), cast(Any, ProfileDir)
    try:
        found = profiles.find_profile_dir_by_name(base, profile)
    except ProfileDirError:
        if profile != "default":
            raise BadRequest(
                f"profile {profile[:100]!r}", "there is none", f"ipython profile create {profile}"
            ) from None
        found = profiles.create_profile_dir_by_name(base, profile)
    return Path(found.startup_dir)


def change(action: str, folder: Path) -> Answer:
    """Enable, disable, or tell; doing it twice is harmless.

    Args:
        action: ``enable``, ``disable`` or ``status``.
        folder: Startup folder of the profile.

    Returns:
        One line for people.

    Raises:
        BadRequest: The file is there and not kmnb's.
    """
    path = folder / FILE
    there = path.is_file()
    if there and not path.read_text(encoding="utf-8", errors="replace").startswith(_MARK):
        raise BadRequest(str(path), "is a file of somebody else", "Move it away first.")
    if action == "enable":
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(_TEXT, encoding="utf-8")
        there = True
    elif action == "disable":
        path.unlink(missing_ok=True)
        there = False
    return line(f"{'enabled' if there else 'not enabled'}: {path}", {"enabled": there, "path": str(path)})


FRONTEND = Frontend("Have the magics in every IPython session.", main)
