"""The magics in a real kernel: what a notebook gets to see."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.frontends.jupyter import SECONDS, Kernel, running_kernel


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    folder: Path = tmp_path_factory.mktemp("kernel")
    with running_kernel(folder, KMNB_URL=f"file://{folder}/store", KMNB_AGENT="ada") as kernel:
        kernel.run("%load_ext kmnb")
        kernel.run("%%artifact spill --tool rows --out s\nfor n in range(2000): print('row', n)")
        kernel.run("art = s.artifact")
        yield kernel


KEY = "default/nocrew/default/ada/rows-0"


LISTED = """
magics = get_ipython().magics_manager.registry["KmnbMagics"]
magics.names()
if magics.names._keys._pending is not None:
    magics.names._keys._pending.result(60)
"""


def complete(kernel: Kernel, code: str) -> list[str]:
    request = kernel.client.complete(code)
    while True:
        reply = kernel.client.get_shell_msg(timeout=SECONDS)
        if reply["parent_header"]["msg_id"] == request:
            content = reply["content"]
            return [code[: content["cursor_start"]] + match for match in content["matches"]]


def test_tab_completes_through_the_kernel(kernel):
    assert complete(kernel, "%artifact he") == ["%artifact head"]
    assert "%artifact head K --lines" in complete(kernel, "%artifact head K --")
    # A Tab does not wait for a listing that takes longer than a moment; the test waits for it between two.
    complete(kernel, "%artifact head default/no")
    kernel.run(LISTED)
    assert complete(kernel, "%artifact head default/no") == [f"%artifact head {KEY}"]
    assert complete(kernel, "%%compute --ti") == ["%%compute --timeout"]
    assert "artifact" not in complete(kernel, "pri")


def test_a_bundle_is_the_same_each_time_and_small(kernel):
    one, two = kernel.shown("%artifact head art 5"), kernel.shown("%artifact head art 5")
    assert one == two
    assert one["text/plain"].split("\n")[1] == "row 0"
    assert len(one["text/html"].encode()) <= 16_384
    assert "<script" not in one["text/html"]
    shown = kernel.shown("%artifact show art")
    assert shown["application/vnd.kmnb.artifact.v1+json"]["key"] == KEY
    assert "widget" not in str(sorted(shown))


def test_an_error_is_one_line_on_the_wire(kernel):
    (error,) = [
        content for content in kernel.run("%artifact head a/b/c/d/e-9", fails=True) if content["kind"] == "error"
    ]
    assert error["ename"] == "ArtifactNotFound"
    assert len(error["traceback"]) == 1
    assert error["traceback"][0] == f"ArtifactNotFound [not-found]: {error['evalue']}"


def test_showing_a_handle_makes_no_call(kernel):
    kernel.run(
        "import kmnb.storage.backends.file as backend\n"
        "from kmnb import _bridge\n"
        "calls = []\n"
        "before = _bridge._Job.__init__\n"
        "def counted(self, coroutine): calls.append(coroutine); before(self, coroutine)\n"
        "_bridge._Job.__init__ = counted\n"
    )
    kernel.run(
        "bundle = art._repr_mimebundle_(); text = repr(art), str(art), art.preview, art.size, dir(art), len(text := '')"
    )
    assert kernel.text("print(len(calls))") == "0\n"
    kernel.run("_bridge._Job.__init__ = before")


def test_a_shell_variable_like_text_is_not_expanded(kernel):
    kernel.run("x = 5")
    bundle = kernel.shown("%artifact grep art '$x{x}'")
    assert "0" in bundle["text/plain"].split("\n")[0]


def test_async_twins_work_under_top_level_await(kernel):
    assert kernel.text("got = await art.head_async(1); print(got.values)") == "['row 0']\n"


@pytest.mark.parametrize(
    ("code", "command"),
    [
        ("%%compute\nprint('begun', flush=True)\nimport time\ntime.sleep(60)", "%%compute"),
        ("%artifact put {{endless}} --tool slow", "%artifact"),
    ],
)
def test_an_interrupted_magic_is_one_line(kernel, code, command):
    kernel.run(
        "import time\ndef forever():\n    print('begun', flush=True)\n    while True:\n        time.sleep(0.01)\n"
        "        yield b'x'\nendless = forever()"
    )
    # What a program prints is shown at once, except under tests.
    quiet = "('PYTEST_VERSION', 'PYTEST_CURRENT_TEST', 'KMNB_QUIET')"
    kernel.run(f"import os\nfor name in {quiet}: os.environ.pop(name, None)")
    request = kernel.client.execute(code)
    errors = []
    for kind, content in kernel.until_idle(request):
        if "begun" in str(content):
            kernel.manager.interrupt_kernel()
        if kind == "error":
            errors.append(content["traceback"])
    kernel.run("os.environ['KMNB_QUIET'] = '1'")
    assert errors == [[f"KeyboardInterrupt: {command} was stopped, and with it what it had begun."]]


@pytest.mark.parametrize("line", ["--session {{art}}", "--timeout {{art}}", "--remote {{art}}", "{{art}}"])
def test_a_handle_in_the_place_of_a_text_is_refused_in_one_line(kernel, line):
    (error,) = [one for one in kernel.run(f"%%compute {line}\n1", fails=True) if one["kind"] == "error"]
    assert error["traceback"][0].startswith("BadRequest [bad-request]: "), error["traceback"]
    assert len(error["traceback"]) == 1


def test_a_variable_that_cannot_be_is_refused_before_anything_is_done(kernel):
    kernel.run("data = 'some text'")
    kernel.run("%artifact put {{data}} --tool unwanted --out 1a", fails=True)
    assert "unwanted" not in kernel.shown("%artifact ls")["text/plain"]


def test_a_cell_that_awaits_is_told_to_await_in_a_cell_of_its_own(kernel):
    (error,) = [
        content
        for content in kernel.run("%%artifact spill --tool t\nawait art.head_async(1)", fails=True)
        if content["kind"] == "error"
    ]
    assert error["traceback"] == [
        "BadRequest [bad-request]: %%artifact: a cell inside a cell cannot await in a kernel. "
        "Await in a cell of its own, then %artifact spill {{name}} --tool NAME."
    ]
