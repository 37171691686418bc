"""``kmnb config show``: every setting, its value, and where it comes from, without opening a store."""

from __future__ import annotations

from collections.abc import Sequence

from kmnb.core.answers import Answer, table
from kmnb.core.describe import Operation, Param
from kmnb.frontends._frontend import Frontend

OPERATION = Operation(
    "config",
    "Show every setting, its value, and where it comes from; no store is opened.",
    (
        Param("action", "text", "What to do.", default="show", positional=True, choices=("show",)),
        Param("config", "text", "Configuration file."),
        Param("json", "flag", "Whether to print JSON.", default=False),
    ),
)


def main(words: Sequence[str]) -> int:
    """Run ``kmnb config``.

    Args:
        words: The words after it.

    Returns:
        The exit code.

    Raises:
        BadRequest: Words that cannot be understood, or a setting that cannot be meant.
    """
    from kmnb.core.jsonable import json_text
    from kmnb.frontends._forms import Form, HelpAsked
    from kmnb.frontends._output import put_text

    try:
        given, _ = Form(OPERATION, "kmnb config").parse(words)
    except HelpAsked as asked:
        return put_text(asked.args[0])
    answer = settings(given["config"])
    return put_text(f"{json_text(answer.data, indent=2)}\n" if given["json"] else answer.text)


def settings(config: str | None = None) -> Answer:
    """List the settings that ``kmnb.connect`` would use now.

    Args:
        config: A configuration file; the usual places when absent.

    Returns:
        A table of name, value and origin; addresses are shown without user info.
    """
    from kmnb.frontends._settings import resolve

    found = resolve({}, config).origins
    rows = [(setting.name, setting.value, setting.origin) for setting in found]
    return table(f"{len(rows)} settings", ("setting", "value", "from"), rows)


FRONTEND = Frontend("Show every setting and where it comes from.", main)
