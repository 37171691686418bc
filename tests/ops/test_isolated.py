"""Queries run in a process of their own: hostile programs are stopped, nothing of the host is seen, nothing is left."""

from __future__ import annotations

import asyncio
import os
import time
from typing import Any

import pytest

from kmnb._bridge import run
from kmnb.errors import BadRequest, BoundExceeded, ExpressionError, KmnbError
from kmnb.ops._isolated import IsolatedRun
from kmnb.ops.sip import run_sip, sip_plugin
from tests.sips.driving import BytesArea, info_of, sip_bytes


def jq(program: str, content: bytes = b"null", **arguments: Any) -> Any:
    return sip_bytes(content, "jq", {"program": program, **arguments})


@pytest.mark.parametrize(
    "program",
    [
        "[range(1e12)]",
        "def f: f; f",
        "def f: [f, f]; f",
        "reduce range(1e12) as $i (0; . + 1)",
        "last(repeat(1))",
        '"x" * 1e9 | length | repeat(.) | select(. < 0)',
        "[limit(1e9; repeat([range(1000)]))]",
        'def f(x): "\\(x)\\(x)" | f(.); f("aaaa")',
    ],
)
def test_a_program_without_end_is_stopped_at_its_deadline(program: str) -> None:
    begun = time.perf_counter()
    with pytest.raises((BoundExceeded, ExpressionError)) as caught:
        jq(program, timeout_seconds=0.5)
    assert time.perf_counter() - begun < 8
    assert len(str(caught.value).encode()) <= 2048


@pytest.mark.parametrize(
    "program", ["halt", "halt_error", "input", "[inputs]", '"\\(halt)"', "1 | debug", 'import "x" as x; 1']
)
def test_what_a_query_must_not_do_is_refused(program: str) -> None:
    with pytest.raises(ExpressionError):
        jq(program)


def test_nothing_of_the_host_is_seen() -> None:
    os.environ["SECRET_OF_THE_HOST"] = "s3cret"
    try:
        assert jq("$ENV").values == [{}]
        assert jq("env").values == [{}]
    finally:
        del os.environ["SECRET_OF_THE_HOST"]


@pytest.mark.parametrize(
    "content",
    [
        b"[" * 100_000,
        b"[" * 100_000 + b"]" * 100_000,
        b'{"a":' * 50_000,
        b'{"items":[' + b"[" * 100_000 + b"]}",
        b'{"a":"\xff\xfe',
        b'{"a":1,}',
        b'{"a" 1}',
        b"{,}",
        b'"open',
        b"tru",
        b"01",
        b"{}]",
    ],
)
def test_content_that_is_no_usable_json_is_refused_cleanly(content: bytes) -> None:
    for name, arguments in (
        ("jq", {"program": ".items[] | .a"}),
        ("jmespath", {"expression": "@"}),
    ):
        with pytest.raises(KmnbError) as caught:
            sip_bytes(content, name, arguments)
        assert len(str(caught.value).encode()) <= 2048


def test_odd_but_legal_json_is_read() -> None:
    assert sip_bytes(b'{"a":"\\ud800","b":1}', "jmespath", {"expression": "b"}).values == [1]
    assert sip_bytes(b'{"a":"\\ud800"}', "jmespath", {"expression": "a"}).values == ["\ufffd"]
    assert sip_bytes(b'{"a":1,"a":2}', "jq", {"program": ".a"}).values == [2]
    assert sip_bytes(b'{"a":1,"a":2}', "jmespath", {"expression": "a"}).values == [2]
    assert sip_bytes(b"", "jq", {"program": "."}).values == []
    with pytest.raises(BadRequest, match="twice"):
        sip_bytes(b'{"items":[1],"items":[2]}', "jq", {"program": ".items[]"})


def test_one_huge_string_is_bounded() -> None:
    content = b'{"a":"' + b"x" * 10_000_000 + b'","b":1}'
    assert sip_bytes(content, "jq", {"program": ".b"}).values == [1]
    assert sip_bytes(content, "jmespath", {"expression": "length(a)"}).values == [10_000_000]
    with pytest.raises(BoundExceeded):
        sip_bytes(content, "jq", {"program": ".a"})


def test_an_expression_whose_answer_doubles_at_every_step_is_stopped() -> None:
    expression = " | ".join(["{a: @, b: @}"] * 60)
    with pytest.raises((BoundExceeded, ExpressionError)):
        sip_bytes(b"[1]", "jmespath", {"expression": expression, "timeout_seconds": 0.5})


@pytest.mark.parametrize(
    "expression", ["items[", "foo(", "nothing(@)", "a" * 70_000, "[?a >> b]", "(" * 5000 + ")" * 5000]
)
def test_an_expression_that_cannot_be_used_is_refused_with_a_reason(expression: str) -> None:
    with pytest.raises((ExpressionError, BoundExceeded)) as caught:
        sip_bytes(b"{}", "jmespath", {"expression": expression})
    assert len(str(caught.value).encode()) <= 2048


def test_an_interrupted_query_leaves_no_process() -> None:
    area = BytesArea(b"null")

    async def interrupted() -> float:
        task = asyncio.ensure_future(
            run_sip((area, info_of(b"null")), "jq", {"program": "def f: f; f"})  # type: ignore[arg-type]
        )
        await asyncio.sleep(0.3)
        begun = time.perf_counter()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return time.perf_counter() - begun

    assert run(interrupted()) < 0.2
    assert not _children()


def test_a_query_leaves_no_process() -> None:
    assert jq(".").values == [None]
    assert not _children()


def _children() -> list[int]:
    """Processes of this one that run a query."""
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/stat") as stat, open(f"/proc/{entry}/cmdline") as command:
                if int(stat.read().rpartition(")")[2].split()[1]) == os.getpid() and "_isolated" in command.read():
                    found.append(int(entry))
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


def test_a_run_that_was_never_started_closes() -> None:
    idle = IsolatedRun(sip_plugin("jq"))
    assert run(idle.close()) is None
