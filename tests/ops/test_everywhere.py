"""A workspace works wherever Python runs: scripts, running loops, threads, forked children."""

from __future__ import annotations

import asyncio
import inspect
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import kmnb
from kmnb import _bridge
from kmnb.errors import KmnbError
from kmnb.ops.workspace import Workspace
from tests.children import python


def use(ws: Workspace) -> str:
    art = ws.put("a\nb\n" * 2000, tool="x")
    assert ws.get(art.key).head(1).values == ["a"]
    return art.key


def test_blocking_calls_work_inside_a_running_loop(ws: Workspace) -> None:
    async def cell() -> str:
        return use(ws)

    assert asyncio.run(cell()).endswith("x-0")


def test_coroutine_twins_work_on_any_loop_and_can_run_at_once(ws: Workspace) -> None:
    async def cell() -> list[str]:
        arts = await asyncio.gather(*(ws.put_async(f"{number}", tool="x") for number in range(10)))
        async for art in ws.list_async():
            assert art.size is not None
        return [art.key for art in arts]

    assert len(set(asyncio.run(cell()))) == 10
    assert len(list(ws.list())) == 10


def test_threads_share_a_workspace(ws: Workspace) -> None:
    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(lambda _: use(ws), range(16)))) == 16


def test_closing_twice_and_going_on_after_errors(url: str, names: dict[str, str]) -> None:
    before = threading.active_count()
    for _ in range(3):
        with kmnb.connect(url, **names) as ws:
            for wrong in (lambda: ws.get("../x"), lambda: ws.get("a/b/c/d/e"), lambda: ws.spill(object(), tool="x")):
                with pytest.raises(KmnbError):
                    wrong()
            use(ws)
        ws.close()
    assert threading.active_count() <= before + 8


SCRIPT = """
import os, sys, kmnb
url, namespace = sys.argv[1:]
ws = kmnb.connect(url, namespace=namespace, thread="t", agent="a")
first = ws.put("parent", tool="x")
child = os.fork()
if child == 0:
    code = 1
    try:
        own = ws.put("child", tool="x")
        assert ws.get(first.key).read(0, 10) == b"parent"
        assert own.key.endswith("x-1"), own.key
        code = 0
    finally:
        sys.stdout.flush(); sys.stderr.flush()
        os._exit(code)
code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
assert ws.put("parent again", tool="x").key.endswith("x-2")
print(code, len(list(ws.list())))
"""


def test_a_forked_child_and_its_parent_both_work_on(shared_url: str, names: dict[str, str]) -> None:
    answer = python("-W", "ignore::DeprecationWarning", "-c", SCRIPT, shared_url, names["namespace"], seconds=60)
    assert answer.clean, answer
    assert answer.out.split() == ["0", "3"]


CONNECTS = """
import sys, kmnb
for _ in range(20):
    ws = kmnb.connect(sys.argv[1])
    ws.put("x", tool="x")
    art = ws.put("x", tool="x")
    del ws
import gc, time
from kmnb import _bridge
assert art.head(1).values == ["x"]
del art
deadline = time.monotonic() + 30
while (kept := len(_bridge._closers)) > 1 and time.monotonic() < deadline:
    gc.collect()  # again and again: a background round may hold what it works on
    time.sleep(0.01)
print(kept)
"""


def test_a_workspace_that_nobody_holds_is_let_go(shared_url: str) -> None:
    answer = python("-c", CONNECTS, shared_url, seconds=60)
    assert answer.clean, answer
    assert int(answer.out) <= 1


def test_unreachable_servers_are_named_without_credentials_in_time() -> None:
    with pytest.raises(KmnbError) as caught:
        kmnb.connect("nats://user:secret@127.0.0.1:1")
    assert "127.0.0.1" in str(caught.value)
    assert "secret" not in str(caught.value)


def test_settings_tell_where_each_value_comes_from(names: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KMNB_CREW", "from-env")
    with kmnb.connect("memory://", namespace="n", config={"thread": "from-config"}) as ws:
        origins = {setting.name: (setting.value, setting.origin) for setting in ws.settings}
    assert origins["namespace"] == ("n", "call")
    assert origins["crew"] == ("from-env", "environment KMNB_CREW")
    assert origins["thread"] == ("from-config", "call (config)")
    assert origins["session"] == ("from-config", "default")
    assert origins["app"] == ("n", "default")


@pytest.mark.parametrize("is_handed_over", [True, False])
def test_an_interrupt_while_a_call_begins_leaves_nothing_running(
    is_handed_over: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def begin(job: Any) -> Any:
        if is_handed_over:
            begun(job)
        raise KeyboardInterrupt

    begun = _bridge._Job.begin
    monkeypatch.setattr(_bridge._Job, "begin", begin)
    coroutine = asyncio.sleep(60)
    with pytest.raises(KeyboardInterrupt):
        _bridge.run(coroutine)
    assert inspect.getcoroutinestate(coroutine) == inspect.CORO_CLOSED
