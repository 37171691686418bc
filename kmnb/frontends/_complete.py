"""Tab completion of the magics: sub-commands, options, choices, and names of artifacts.

A completion never waits for the store: names come from the last listing, and a stale one is renewed in the
background on kmnb's own loop.
"""

from __future__ import annotations

import re
import shlex
import sys
import time
from collections.abc import Callable, Coroutine, Iterator
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
_OPENED = re.compile(r"\{\{(\w*)$")
_REFS = ("ref", "refs", "with")


class Names:
    """What there is to name in a notebook, as of a moment ago.

    Args:
        magics: The magics whose lines are completed.
    """

    def __init__(self, magics: Any) -> None:
        self._magics = magics
        self._keys, self._filenames = _Listing(_keys_of), _Listing(_filenames_of)

    def __call__(self) -> tuple[str, ...]:
        """Give the references that are known by now: variables that hold a handle, then keys."""
        return (*self._handles(), *self._keys.known(self._magics.known_workspace()))

    def filenames(self) -> tuple[str, ...]:
        """Give the named artifacts that are known by now."""
        return self._filenames.known(self._magics.known_workspace())

    def variables(self) -> tuple[str, ...]:
        """Give the variables that a person made."""
        shell = self._magics.shell
        return tuple(name for name in list(shell.user_ns) if name[:1] != "_" and name not in shell.user_ns_hidden)

    def _handles(self) -> Iterator[str]:
        # Without that module nobody holds a handle; a completion must not load it.
        if (module := sys.modules.get("kmnb.ops.handle")) is not None:
            for name, value in list(self._magics.shell.user_ns.items()):
                # What a spill gave stands for what it stored.
                spilled = getattr(value, "artifact", None) if type(value).__module__ == "kmnb.ops.spill" else None
                if name[:1] != "_" and isinstance(value if spilled is None else spilled, module.Artifact):
                    yield name


class _Listing:
    """One listing of a store that is renewed in the background.

    Args:
        listed: Lists a workspace.
    """

    def __init__(self, listed: Callable[[Any], Coroutine[Any, Any, tuple[str, ...]]]) -> None:
        self._listed = listed
        self._names: tuple[str, ...] = ()
        self._since = 0.0
        self._pending: Future[tuple[str, ...]] | None = None

    def known(self, workspace: Any) -> tuple[str, ...]:
        """Give the names that are known by now; None as a workspace has none."""
        if workspace is None:
            return ()
        if self._pending is None and time.monotonic() - self._since > FRESH_SECONDS:
            self._pending = _bridge.start(self._listed(workspace))
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


async def _filenames_of(workspace: Any) -> tuple[str, ...]:
    return tuple((await workspace.filenames_async())[:NAMES_MAX])


async def _keys_of(workspace: Any) -> tuple[str, ...]:
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
    shown = _Only(SimpleCompletion(text=text, type="kmnb") for text in texts)
    # Where nothing of ours fits, the name of a file may.
    others = set() if texts else {"IPCompleter.file_matcher"}
    told = {"completions": shown, "suppress": True, "do_not_suppress": others}
    return told | {"ordered": True, "matched_fragment": fragment}


class _Only(list[Any]):
    """Completions that no other matcher adds to, also where there are none: IPython asks for their number first.

    Python's completions would be wrong in our lines, and looking for them takes a second.
    """

    def __len__(self) -> int:
        return max(super().__len__(), 1)


def matches(line: str, names: Any, *, first_line: bool = True) -> tuple[str, list[str]] | None:
    """Complete one position.

    Args:
        line: The line up to the cursor.
        names: Gives the names there are; see :class:`Names`.
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
    words, fragment = _split(rest)
    fitted = _offered(sign, words, fragment, names=names)
    is_quoted = rest[: len(rest) - len(fragment)][-1:] in ("'", '"')
    # A name with a blank is one word only between quotation marks.
    return fitted if is_quoted else (fitted[0], [_word(text) for text in fitted[1]])


def _word(text: str) -> str:
    try:
        is_one = text.startswith("{{") or shlex.split(text) == [text]
    except ValueError:
        is_one = False
    return text if is_one or "={{" in text else shlex.quote(text)


def _offered(sign: str, words: list[str], fragment: str, *, names: Any) -> tuple[str, list[str]]:
    if (opened := _OPENED.search(fragment)) is not None:
        before = fragment[: opened.start()]
        return fragment, [f"{before}{{{{{name}}}}}" for name in names.variables() if name.startswith(opened[1])]
    if sign == "%%compute":
        from kmnb.frontends._magic_forms import compute_form

        return _offer(words, fragment, form=compute_form(), names=names)
    if not words or words == ["help"]:
        return fragment, [name for name in _commands(sign) if name.startswith(fragment)]
    form = _form(sign, words[0])
    return (fragment, []) if form is None else _offer(words[1:], fragment, form=form, names=names)


def _commands(sign: str) -> Iterator[str]:
    """Walk the sub-commands; those that take no data take no cell, sips among them, which are not loaded for that."""
    from kmnb.ops._command import SOURCE
    from kmnb.ops.commands import commands
    from kmnb.ops.sip import sip_names

    known = commands()
    if sign == "%artifact":
        return iter(known)
    return (name for name in known if name not in sip_names() and SOURCE in known[name].operation.params)


def _form(sign: str, name: str) -> Form | None:
    from kmnb.frontends._magic_forms import artifact_form, cell_form
    from kmnb.ops.commands import find_command

    if name not in _commands(sign):
        return None
    return (artifact_form if sign == "%artifact" else cell_form)(find_command(name))


def _split(text: str) -> tuple[list[str], str]:
    """Cut the line into finished words and the fragment before the cursor."""
    fragment = "" if text[-1:].isspace() or not text else text.rsplit(maxsplit=1)[-1]
    finished = text[: len(text) - len(fragment)]
    if fragment[:1] in ("'", '"'):
        fragment = fragment[1:]
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
    if param.name in _REFS:
        return tuple(names())
    if param.name == "filename":
        return tuple(names.filenames())
    if param.name == "language":
        from kmnb.ops._commands_compute import language_names

        return language_names()
    return param.choices
