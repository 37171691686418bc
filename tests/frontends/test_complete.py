"""Tab completes sub-commands, options, choices and artifact names, and never waits for the store."""

from __future__ import annotations

import asyncio
import time
from types import SimpleNamespace

import pytest

import kmnb
from kmnb.frontends._complete import Names, matches

KEYS = ("default/nocrew/t/a/pods-0", "default/nocrew/t/a/log-0")


class Known:
    """What a notebook could name."""

    def __call__(self):
        return KEYS

    def filenames(self):
        return ("report.csv", "user:notes.md")

    def variables(self):
        return ("art", "rows")


def offered(line, **options):
    return matches(line, Known(), **options)


@pytest.mark.parametrize("line", ["%artifact he", "  %artifact he", "a = %artifact he", "%artifact help he"])
def test_sub_commands(line):
    assert offered(line) == ("he", ["head"])


def test_a_cell_is_offered_what_takes_a_cell():
    assert offered("%%artifact ") == ("", ["spill", "put", "save", "append"])
    assert offered("%%artifact he") == ("he", [])
    assert offered("%%artifact spill --so") == ("--so", [])
    assert offered("%artifact spill --so") == ("--so", ["--source"])


def test_languages_names_of_named_artifacts_and_variables():
    assert offered("%%compute ") == ("", ["bash", "python"])
    assert offered("%%compute --language=p") == ("p", ["python"])
    assert offered("%artifact load re") == ("re", ["report.csv"])
    assert offered("%artifact put {{ro") == ("{{ro", ["{{rows}}"])
    assert offered("%artifact grep K --max={{a") == ("--max={{a", ["--max={{art}}"])


def test_a_name_with_a_blank_is_offered_as_one_word():
    class Odd(Known):
        def filenames(self):
            return ("my report.csv", "it's.txt", "plain.csv")

    assert matches("%artifact load m", Odd()) == ("m", ["'my report.csv'"])
    assert matches("%artifact load 'm", Odd()) == ("m", ["my report.csv"])
    assert matches("%artifact load i", Odd())[1] == ["'it'\"'\"'s.txt'"]


def test_an_open_quotation_is_no_part_of_a_name():
    assert offered("%artifact head 'default/nocrew/t/a/p") == ("default/nocrew/t/a/p", [KEYS[0]])


@pytest.mark.parametrize("line", ["%artifact nosuch --", "%%compute --session ", "%artifact select K a", "%artifact "])
def test_no_other_completion_stands_among_ours(shell, line):
    from IPython.core.completer import provisionalcompleter

    def forbidden(context):
        raise AssertionError("another matcher was asked")

    forbidden.matcher_api_version, forbidden.matcher_identifier = 2, "forbidden"
    shell.Completer.custom_matchers.append(forbidden)
    try:
        with provisionalcompleter():
            texts = [found.text for found in shell.Completer.completions(line, len(line))]
    finally:
        shell.Completer.custom_matchers.remove(forbidden)
    assert not {"abs", "and", "%page"} & set(texts)


def test_options_are_offered_after_dashes_and_names_before():
    fragment, texts = offered("%artifact head default/nocrew/t/a/p")
    assert (fragment, texts) == ("default/nocrew/t/a/p", [KEYS[0]])
    assert offered("%artifact head ") == ("", list(KEYS))
    assert "--lines" in offered("%artifact head K --")[1]
    assert "--help" in offered("%artifact head --h")[1]
    assert "--out" in offered("%artifact head K 5 ")[1]
    assert "--lines" in offered("%artifact head K --l")[1]


def test_values_of_options_and_choices():
    assert offered("%%compute --with ")[1] == list(KEYS)
    assert offered("%%compute --with=def")[1] == list(KEYS)
    assert offered("%%compute ba", first_line=True)[0] == "ba"
    assert offered("%artifact rm a/b ")[1] == list(KEYS)


def test_after_two_dashes_no_options_are_offered():
    assert offered("%artifact rm -- --l") == ("--l", [])


def test_lines_of_others_are_left_alone():
    assert offered("artifact he") is None
    assert offered("%timeit artifact he") is None
    assert offered("x = '%artifact he") is None
    assert offered("%%compute --", first_line=False) is None
    assert offered("print(%artifact he") is None


def test_an_unknown_sub_command_has_nothing_to_offer():
    assert offered("%artifact nosuch --") == ("--", [])


def of(known_workspace, **variables):
    """Names over a workspace and the variables of a notebook."""
    shell = SimpleNamespace(user_ns=variables, user_ns_hidden={})
    return Names(SimpleNamespace(known_workspace=known_workspace, shell=shell))


class Slow:
    """A workspace whose listing ends when it is told to."""

    def __init__(self):
        self.calls = 0
        self.release = asyncio.Event()

    async def list_async(self, prefix):
        self.calls += 1
        await self.release.wait()
        yield SimpleNamespace(key="a/b/c/d/e-0")


def test_a_slow_store_does_not_keep_tab_waiting():
    from kmnb import _bridge

    slow = Slow()
    names = of(lambda: slow)
    for _ in range(3):
        begun = time.monotonic()
        assert names() == ()
        assert time.monotonic() - begun < 0.25  # the bar is 50 ms; a busy machine gets some room
    assert slow.calls == 1

    async def release():
        slow.release.set()

    _bridge.run(release())
    deadline = time.monotonic() + 10
    while not names() and time.monotonic() < deadline:
        pass
    assert names() == ("a/b/c/d/e-0",)


def test_a_store_that_fails_offers_no_names_and_no_error():
    class Broken:
        async def list_async(self, prefix):
            raise OSError("down")
            yield

    assert of(Broken)() == ()
    assert of(lambda: None)() == ()


def test_variables_that_hold_a_handle_are_offered():
    with kmnb.connect("memory://", thread="t") as ws:
        names = of(
            lambda: None,
            art=ws.put("a", tool="t"),
            number=1,
            _hidden=ws.put("b", tool="t"),
            large=ws.spill("x" * 5000, tool="t"),
            small=ws.spill("x", tool="t"),
        )
        assert matches("%artifact head a", names) == ("a", ["art"])
        assert names() == ("art", "large")
        assert names.variables() == ("art", "number", "large", "small")
