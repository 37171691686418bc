"""An interrupt of any blocking call gives the prompt back at once and leaves nothing running, on every backend."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kmnb.testing import ScratchUnavailable, scratch
from tests.frontends.jupyter import Kernel, running_kernel

SCHEMES = ("memory", "file", "nats", "s3", "gs", "az")
LIMIT_SECONDS = 5.0
"""The bar is 0.2 s and `make bench` measures it; here it only must not be the length of the call."""

PREPARE = """
import asyncio, itertools, threading, time
import kmnb
from kmnb import _bridge
ws = kmnb.connect({url!r}, thread='t', agent='ada')
art = ws.put(b'line of text\\n' * 400_000, tool='big')
art.grep('nothing here')

async def _tasks():
    await asyncio.sleep(0)
    return {{t.get_coro().__qualname__ for t in asyncio.all_tasks() if t is not asyncio.current_task()}}

def standing():
    # Idle workers of pools stay for the next call.
    threads = {{t.name for t in threading.enumerate() if not t.name.startswith(('kmnb-io', 'asyncio_'))}}
    return threads | _bridge.run(_tasks())

def endless():
    print('begun', flush=True)
    while True:
        time.sleep(0.005)
        yield b'x' * 65536

def reading():
    print('begun', flush=True)
    for n in itertools.count():
        art.grep(f'nothing {{n}}')

async def waiting():
    print('begun', flush=True)
    for n in itertools.count():
        await art.grep_async(f'nothing {{n}}')

before = standing()
"""

SETTLED = """
deadline = time.monotonic() + 10
# Rounds in the background come and go: what is told is what the last look found.
while (left := standing() - before) and time.monotonic() < deadline:
    time.sleep(0.05)
print(sorted(left), [a.key.rpartition('/')[2] for a in ws.list()], art.head(1).values)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("interrupt")


@pytest.fixture(scope="module", params=SCHEMES)
def kernel(request: pytest.FixtureRequest, folder: Path) -> Iterator[Kernel]:
    try:
        service = scratch(request.param)
    except ScratchUnavailable as reason:
        pytest.skip(str(reason))
    with service, running_kernel(folder, **service.environment) as kernel:
        kernel.run(PREPARE.format(url=service.url))
        yield kernel


def interrupted(kernel: Kernel, code: str) -> float:
    """Run a cell that does not end, interrupt it once it has begun, and give the seconds until the prompt is back."""
    request = kernel.client.execute(code)
    asked = 0.0
    names = []
    for kind, content in kernel.until_idle(request):
        if kind == "stream" and "begun" in content["text"]:
            time.sleep(0.2)  # well inside the call
            asked = time.monotonic()
            kernel.manager.interrupt_kernel()
        elif kind == "error":
            names.append(content["ename"])
    assert names in (["KeyboardInterrupt"], ["CancelledError"]), names
    return time.monotonic() - asked


@pytest.mark.parametrize(
    "code", ["ws.put(endless(), tool='slow')", "reading()", "await waiting()"], ids=["put", "read", "await"]
)
def test_an_interrupt_ends_a_call_and_leaves_nothing(kernel, code):
    assert interrupted(kernel, code) < LIMIT_SECONDS
    assert kernel.text(SETTLED) == "[] ['big-0'] ['line of text']\n"
