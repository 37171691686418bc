"""``kmnb migrate SRC DST``: copy named artifacts between stores and layouts."""

from __future__ import annotations

from collections.abc import Sequence

from kmnb.core.describe import Operation, Param
from kmnb.core.layouts import LAYOUTS
from kmnb.frontends._frontend import Frontend

OPERATION = Operation(
    "migrate",
    "Copy named artifacts into another store: all versions, metadata, tombstones, labels; run it again to go on.",
    (
        Param("source", "text", "Store that is read.", required=True, positional=True),
        Param("target", "text", "Store that is written.", required=True, positional=True),
        Param("layout_from", "text", "Layout of the source.", default="kmnb", choices=LAYOUTS),
        Param("layout_to", "text", "Layout of the target.", default="kmnb", choices=LAYOUTS),
        Param("app", "text", "Only this application."),
        Param("user", "text", "Only this user of the application."),
        Param("session", "text", "Only this session of the user."),
        Param("json", "flag", "Whether to print JSON.", default=False),
    ),
)


def main(words: Sequence[str]) -> int:
    """Run ``kmnb migrate``.

    Args:
        words: The words after it.

    Returns:
        The exit code: 1 when something was not copied.

    Raises:
        BadRequest: Words that cannot be understood, a layout that there is not, or a session without its user.
        StoreError: One of the stores cannot be opened or listed.
    """
    from kmnb import _bridge
    from kmnb.core.jsonable import json_text
    from kmnb.frontends._forms import Form, HelpAsked
    from kmnb.frontends._output import put_text, remark
    from kmnb.frontends._progress import patience, terminal_show
    from kmnb.ops.migrate import migrate_stores, scope_of

    try:
        given, _ = Form(OPERATION, "kmnb migrate").parse(words)
    except HelpAsked as asked:
        return put_text(asked.args[0])
    if (show_line := terminal_show()) is not None:
        _bridge.patience = patience(show_line)
    layouts = {name: given[name] for name in ("layout_from", "layout_to")}
    prefix = scope_of(given["app"], given["user"], given["session"])
    done = migrate_stores(given["source"], given["target"], prefix=prefix, **layouts)
    answer = done.answer()
    put_text(f"{json_text(answer.data, indent=2)}\n" if given["json"] else answer.text)
    remark(answer.card.title)
    return 1 if done.failures else 0


FRONTEND = Frontend("Copy named artifacts between stores and layouts.", main)
