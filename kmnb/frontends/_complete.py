"""Tab completion of the magics: sub-commands, options, choices, and names of artifacts.

A completion never waits for the store: names come from the last listing, and a stale one is renewed in the
background on kmnb's own loop.
"""

from __future__ import annotations

import re
import shlex
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Future, TimeoutError
from typing import Any

from kmnb import _bridge
from kmnb.core.describe import Param
from kmnb.frontends._forms import Form

FIRST_SECONDS = 0.03
"""Longest that a completion waits for a listing that is under way."""
FRESH_SECONDS = 2.0
"""Age up to which a listing is not renewed."""
NAMES_MAX = 500
"""Most names of artifacts that are kept for completion."""

_MAGIC = re.compile(r"(?:\s*[\w.\[\], ]+=)?\s*(%{1,2}artifact|%%compute)\s(.*)$", re.DOTALL)
_REFS = ("ref", "refs", "with")


class Names:
    """Keys of the workspace's thread, as of a moment ago."""

    def __init__(self, magics: Any) -> None:
        self._magics = magics
        self._names: tuple[str, ...] = ()
        self._since = 0.0
        self._pending: Future[tuple[str, ...]] | None = None

    def __call__(self) -> tuple[str, ...]:
        """Give the names that are known by now: variables that hold a handle, then keys."""
        return (*self._variables(), *self._keys())

    def _variables(self) -> Iterator[str]:
        # Without that module nobody holds a handle; a completion must not load it.
        if (module := sys.modules.get("kmnb.ops.handle")) is not None:
            known = self._magics.shell.user_ns
            yield from (name for name, it in known.items() if isinstance(it, module.Artifact) and name[:1] != "_")

    def _keys(self) -> tuple[str, ...]:
        workspace = self._magics.known_workspace()
        if workspace is None:
            return ()
        if self._pending is None and time.monotonic() - self._since > FRESH_SECONDS:
            self._pending = _bridge.start(_listed(workspace))
        if self._pending is not None:
            self._collect(self._pending)
        return self._names

    def _collect(self, pending: Future[tuple[str, ...]]) -> None:
        try:
            self._names = pending.result(timeout=FIRST_SECONDS)
        except TimeoutError:
            if not pending.done():
                return
        except Exception:
            # A store that cannot be listed has no names to offer; the next real call says what is wrong.
            self._names = ()
        self._pending, self._since = None, time.monotonic()


async def _listed(workspace: Any) -> tuple[str, ...]:
    names: list[str] = []
    walk = workspace.list_async("")
    try:
        async for artifact in walk:
            names.append(artifact.key)
            if len(names) == NAMES_MAX:
                break
    finally:
        await walk.aclose()
    return tuple(names)


def answer(context: Any, magics: Any) -> dict[str, Any]:
    """Answer IPython's question on Tab.

    Args:
        context: What IPython knows of the cell and the cursor.
        magics: The magics whose lines are completed.

    Returns:
        A result of IPython's second interface; the lines of the magics are taken from other matchers.
    """
    names = magics.names = magics.names or Names(magics)
    found = matches(context.text_until_cursor, names, first_line=context.cursor_line == 0)
    if found is None:
        return {"completions": [], "suppress": False}
    from IPython.core.completer import SimpleCompletion

    fragment, texts = found
    shown = [SimpleCompletion(text=text, type="kmnb") for text in texts]
    return {"completions": shown, "suppress": True, "ordered": True, "matched_fragment": fragment}


def matches(line: str, names: Any, *, first_line: bool = True) -> tuple[str, list[str]] | None:
    """Complete one position.

    Args:
        line: The line up to the cursor.
        names: Called for the names of artifacts.
        first_line: Whether it is the first line of its cell; cell magics begin nowhere else.

    Returns:
        The fragment before the cursor and the texts that may stand in its place; None for lines of others.
    """
    found = _MAGIC.match(line)
    if found is None:
        return None
    sign, rest = found.groups()
    if sign.startswith("%%") and (not first_line or line[:2] != "%%"):
        return None
    if sign == "%%compute":
        from kmnb.frontends._magic_forms import compute_form

        return _offer(*_split(rest), form=compute_form(), names=names)
    words, fragment = _split(rest)
    if not words:
        from kmnb.ops.commands import commands

        return fragment, [name for name in commands() if name.startswith(fragment)]
    form = _form(words[0])
    return (fragment, []) if form is None else _offer(words[1:], fragment, form=form, names=names)


def _form(name: str) -> Form | None:
    from kmnb.frontends._magic_forms import artifact_form
    from kmnb.ops.commands import commands

    command = commands().get(name)
    return None if command is None else artifact_form(command)


def _split(text: str) -> tuple[list[str], str]:
    """Cut the line into finished words and the fragment before the cursor."""
    fragment = "" if text[-1:].isspace() or not text else text.rsplit(maxsplit=1)[-1]
    finished = text[: len(text) - len(fragment)]
    try:
        return shlex.split(finished), fragment
    except ValueError:
        return finished.split(), fragment


def _offer(words: list[str], fragment: str, *, form: Form, names: Any) -> tuple[str, list[str]]:
    options = dict(form.options())
    if "--" not in words:
        name, equals, value = fragment.partition("=")
        if equals and name in options:
            return value, [text for text in _values(options[name], names) if text.startswith(value)]
        if fragment.startswith("-"):
            return fragment, [text for text in (*options, "--help") if text.startswith(fragment) and text[:2] == "--"]
        if words and words[-1] in options and options[words[-1]].kind != "flag":
            return fragment, [text for text in _values(options[words[-1]], names) if text.startswith(fragment)]
    param = _positional(words, form)
    offered = [] if param is None else [text for text in _values(param, names) if text.startswith(fragment)]
    if not fragment and not offered and "--" not in words:
        offered = [text for text in options if text.startswith("--")]
    return fragment, offered


def _positional(words: list[str], form: Form) -> Param | None:
    """Find the positional parameter that the next word belongs to."""
    options = dict(form.options())
    place = sum(1 for word in _plain(words, options))
    declared = form.words()
    if place < len(declared):
        return declared[place]
    return declared[-1] if declared and declared[-1].kind == "texts" else None


def _plain(words: list[str], options: dict[str, Param]) -> Iterator[str]:
    takes_value = ended = False
    for word in words:
        if ended or not (takes_value or word.startswith("-")):
            yield word
        ended = ended or (word == "--" and not takes_value)
        takes_value = not ended and word in options and options[word].kind != "flag"


def _values(param: Param, names: Any) -> tuple[str, ...]:
    return names() if param.name in _REFS else param.choices
