"""Tab completes sub-commands, options, choices and artifact names, and never waits for the store."""

from __future__ import annotations

import asyncio
import time
from types import SimpleNamespace

import pytest

import kmnb
from kmnb.frontends._complete import Names, matches

KEYS = ("default/nocrew/t/a/pods-0", "default/nocrew/t/a/log-0")


def offered(line, **options):
    return matches(line, lambda: KEYS, **options)


@pytest.mark.parametrize("line", ["%artifact he", "  %artifact he", "a = %artifact he", "%%artifact he"])
def test_sub_commands(line):
    assert offered(line) == ("he", ["head"])


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
    return Names(SimpleNamespace(known_workspace=known_workspace, shell=SimpleNamespace(user_ns=variables)))


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
        names = of(lambda: None, art=ws.put("a", tool="t"), number=1, _hidden=ws.put("b", tool="t"))
        assert matches("%artifact head a", names) == ("a", ["art"])
        assert names() == ("art",)
