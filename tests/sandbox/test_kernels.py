"""Cells in isolated kernels: fresh ones, sessions, interrupts, and messages that are not believed."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest
from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import AsyncKernelManager
from jupyter_client.provisioning import KernelProvisionerFactory

from kmnb._bridge import run as wait_for
from kmnb.errors import SandboxUnavailable
from kmnb.sandbox._output import Keeper
from kmnb.sandbox.kernels import _cells, run_cell
from kmnb.sandbox.kernels._client import Cell, status_of, take_output
from kmnb.sandbox.kernels._pool import Pool

from .conftest import ENGINES, descendants


@pytest.fixture(scope="module", params=ENGINES)
def pool(request: pytest.FixtureRequest) -> Iterator[Pool]:
    """Kernels that are isolated in one way."""
    one = Pool(engines=(request.param,))
    try:
        wait_for(one.open())
    except SandboxUnavailable as error:
        pytest.skip(f"this machine refuses the engine {request.param}: {error}")
    yield one
    wait_for(one.close())


def cell(pool: Pool, code: str, **options: Any) -> Any:
    return wait_for(run_cell(code, pool=pool, **options))


def test_each_cell_has_a_kernel_of_its_own(pool: Pool) -> None:
    first = cell(pool, "x = 1\nprint(get_ipython().kernel.implementation)\nid(x) > 0")
    assert (first.stdout, first.exit_code) == ("ipython\nTrue\n", 0)
    second = cell(pool, "print('x' in dir())")
    assert second.stdout == "False\n"
    assert first.receipt.interpreter.endswith(", ipykernel")
    assert first.level >= 2


def test_an_exception_is_an_outcome(pool: Pool) -> None:
    outcome = cell(pool, "1 / 0")
    assert (outcome.exit_code, outcome.reason) == (1, "exit")
    assert "ZeroDivisionError" in outcome.stderr
    assert "\x1b" not in outcome.stderr


def test_no_program_is_asked_for_colours(pool: Pool) -> None:
    names = "CLICOLOR", "CLICOLOR_FORCE", "FORCE_COLOR"
    assert cell(pool, f"import os; print([name for name in {names} if name in os.environ])").stdout == "[]\n"


def test_a_cell_that_ends_its_kernel_tells_the_exit_code(pool: Pool) -> None:
    outcome = cell(pool, "import os; os._exit(3)")
    assert (outcome.exit_code, outcome.ok) == (3, False)
    assert cell(pool, "1").ok


@pytest.mark.parametrize(
    ("code", "exit_code", "stderr"),
    [
        ("import sys\nsys.exit(3)", 3, ""),
        ("import sys\nsys.exit(0)", 0, ""),
        ("raise SystemExit", 0, ""),
        ("import sys\nsys.exit(None)", 0, ""),
        ("import sys\nsys.exit(-1)", 255, ""),
        ("import sys\nsys.exit('no such pod')", 1, "no such pod\n"),
    ],
)
def test_sys_exit_ends_a_cell_as_it_ends_a_program(pool: Pool, code: str, exit_code: int, stderr: str) -> None:
    outcome = cell(pool, code)
    assert (outcome.exit_code, outcome.stderr, outcome.reason) == (exit_code, stderr, "exit")


LEAVING = {
    "import sys; sys.exit(0)": (0, ""),
    "import sys; sys.exit()": (0, ""),
    "import sys; sys.exit(3)": (3, ""),
    "import sys; sys.exit(-1)": (255, ""),
    "import sys; sys.exit('a text')": (1, "a text\n"),
    "import sys; sys.exit('3')": (1, "3\n"),
    "raise SystemExit": (0, ""),
    "exit(4)": (4, ""),
    "quit()": (0, ""),
}


@pytest.mark.parametrize("code", LEAVING)
def test_a_cell_can_leave_as_a_program_does(pool: Pool, code: str) -> None:
    outcome = cell(pool, f"print('before')\n{code}\nprint('after')", session="leaving")
    assert (outcome.exit_code, outcome.stderr) == LEAVING[code]
    assert (outcome.stdout, outcome.reason, outcome.ok) == ("before\n", "exit", outcome.exit_code == 0)
    assert cell(pool, "1", session="leaving").notes == ()


def test_commands_and_magics_of_a_cell_work_without_a_terminal(pool: Pool) -> None:
    code = "word = 'two words'\n!echo $word; echo err >&2\nlines = !echo one; echo three\nprint(lines)\n%ls -d /nowhere"
    outcome = cell(pool, code)
    assert outcome.exit_code == 0
    assert outcome.stdout.startswith("two words\nerr\n['one', 'three']\n"), outcome.stdout
    assert "nowhere" in outcome.stdout
    assert cell(pool, "!exit 7\n_exit_code").stdout == "7\n"
    assert cell(pool, "%%bash\necho $((6 * 7))").stdout == "42\n"
    assert "not found" in cell(pool, "%no_such_magic").stderr


def test_links_among_artifacts_show_nothing_else(pool: Pool, tmp_path: Path) -> None:
    (tmp_path / "shelf").mkdir()
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "secret").chmod(0o444)
    (tmp_path / "shelf" / "link").symlink_to(tmp_path / "secret")
    (tmp_path / "shelf" / "folder").symlink_to("/etc")
    code = "import os\nfor n in ('link', 'folder/hostname'): print(open(os.environ['KMNB_ARTIFACTS'] + '/' + n).read())"
    outcome = cell(pool, code, artifacts_folder=tmp_path / "shelf")
    assert (outcome.stdout, outcome.exit_code) == ("", 1)
    assert "secret" not in outcome.stderr.replace("/secret", "")


HOSTILE = """
kernel, session = get_ipython().kernel, get_ipython().kernel.session
parent, ident = kernel.get_parent("shell"), kernel._get_shell_context_var(kernel._shell_parent_ident)
deep = b"[" * 100_000 + b"]" * 100_000
for content in (b"[1]", b"7", b"null", b'"x"', b'{"status": []}', b"{", b"", deep, b'{"a": ' + deep + b"}"):
    for kind in ("stream", "execute_reply", "status", "error"):
        session.send(kernel.iopub_socket, kind, content, parent=parent, ident=b"x")
    if not content.startswith(b'{"'):
        session.send(kernel.shell_stream, "execute_reply", content, parent=parent, ident=ident)
"""


def test_forged_messages_raise_nothing(pool: Pool) -> None:
    outcome = cell(pool, HOSTILE + "print('done')")
    assert outcome.stdout.endswith("done\n"), outcome.stderr


FORGED_REPLIES: list[tuple[Any, tuple[str, int]]] = [
    ({"status": "ok"}, ("ok", 0)),
    ({"status": ["ok"]}, ("error", 1)),
    ({}, ("error", 1)),
    ({"status": "error", "ename": "SystemExit", "evalue": ""}, ("error", 0)),
    ({"status": "error", "ename": "SystemExit", "evalue": "3"}, ("error", 3)),
    ({"status": "error", "ename": "SystemExit", "evalue": "text"}, ("error", 1)),
    ({"status": "error", "ename": "SystemExit", "evalue": [1]}, ("error", 1)),
    ({"status": "error", "ename": "SystemExit", "evalue": "9" * 5000}, ("error", 1)),
    ({"status": "error", "kmnb_exit_code": 300}, ("error", 44)),
    ({"status": "error", "kmnb_exit_code": True}, ("error", 1)),
    ({"status": "error", "kmnb_exit_code": "0"}, ("error", 1)),
]


@pytest.mark.parametrize(("content", "meant"), FORGED_REPLIES)
def test_a_reply_tells_the_exit_code(content: Any, meant: tuple[str, int]) -> None:
    assert status_of(content) == meant


def test_a_session_keeps_its_variables_until_it_is_closed(pool: Pool) -> None:
    assert cell(pool, "x = 41", session="s").ok
    outcome = cell(pool, "x + 1", session="s")
    assert (outcome.stdout, outcome.receipt.session) == ("42\n", "s")
    assert wait_for(pool.sessions.close(("", "s")))
    assert cell(pool, "x", session="s").exit_code == 1
    assert wait_for(pool.sessions.close(("", "s")))
    assert not wait_for(pool.sessions.close(("", "s")))


def test_an_interrupted_session_keeps_its_variables(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    # A busy machine may take longer to deliver the interrupt; the kernel would be ended then.
    monkeypatch.setattr(_cells, "INTERRUPT_SECONDS", 10.0)

    async def scene() -> Any:
        await run_cell("x = 7", pool=pool, session="i")
        heard = asyncio.Event()
        code = "import time\nprint('begun', flush=True)\ntime.sleep(30)"
        task = asyncio.ensure_future(run_cell(code, pool=pool, session="i", on_output=lambda *_: heard.set()))
        await asyncio.wait_for(heard.wait(), 10)
        begin = time.monotonic()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return time.monotonic() - begin, await run_cell("x", pool=pool, session="i")

    seconds, outcome = wait_for(scene())
    assert seconds < 10
    assert outcome.stdout == "7\n"
    wait_for(pool.sessions.close(("", "i")))


def test_the_time_limit_ends_a_cell_that_ignores_interrupts(pool: Pool) -> None:
    code = (
        "import signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nprint('early', flush=True)\ntime.sleep(60)"
    )
    outcome = cell(pool, code, timeout_seconds=1)
    assert (outcome.stdout, outcome.exit_code, outcome.timed_out) == ("early\n", -1, True)
    assert outcome.seconds < 3


def test_too_much_output_ends_a_cell(pool: Pool) -> None:
    outcome = cell(pool, "while True: print('x' * 100_000)", timeout_seconds=60)
    assert (outcome.reason, outcome.truncated) == ("output", True)


def test_output_comes_as_it_is_made(pool: Pool) -> None:
    pieces: list[tuple[str, str]] = []
    code = "import sys\nprint('one', flush=True)\nprint('two', file=sys.stderr, flush=True)\n3"
    cell(pool, code, on_output=lambda name, text: pieces.append((name, text)))
    assert "".join(text for name, text in pieces if name == "stdout") == "one\n3\n"
    assert "".join(text for name, text in pieces if name == "stderr") == "two\n"


RICH = "class R:\n def _repr_mimebundle_(self, **k): return {'text/plain': 'p', 'text/html': '<b>'}\nR()"


def test_rich_results_are_text_unless_more_is_asked_for(pool: Pool) -> None:
    assert cell(pool, RICH).displays == ({"text/plain": "p"},)
    assert cell(pool, RICH, mimes=("text/html",)).displays == ({"text/html": "<b>"},)


def test_artifacts_and_output_of_a_kernel_that_was_ready_before_they_were_named(pool: Pool, tmp_path: Path) -> None:
    shelf, taken = tmp_path / "shelf", tmp_path / "taken"
    (shelf / "ns").mkdir(parents=True)
    taken.mkdir()
    (shelf / "ns" / "data.csv").write_text("1\n2\n")
    (shelf / "ns" / "data.csv").chmod(0o444)
    code = (
        "import os\nwhere = os.environ['KMNB_ARTIFACTS']\nprint(open(where + '/ns/data.csv').read().split())\n"
        "open(os.environ['KMNB_OUTPUT'] + '/made.txt', 'w').write('x')\n"
        "try: open(where + '/ns/data.csv', 'w')\nexcept OSError as error: print('refused')"
    )
    outcome = cell(pool, code, artifacts_folder=shelf, output_folder=taken)
    assert outcome.stdout.split("\n")[0] == "['1', '2']"
    assert "refused" in outcome.stdout
    assert os.listdir(taken) == ["made.txt"]
    assert (shelf / "ns" / "data.csv").read_text() == "1\n2\n"


def test_only_the_standard_library_can_be_imported(pool: Pool) -> None:
    assert "ModuleNotFoundError" in cell(pool, "import pandas").stderr


def test_nothing_is_left_when_the_pool_is_closed() -> None:
    one = Pool()
    assert cell(one, "import os\nif os.fork() == 0:\n import time; time.sleep(60)").exit_code in (0, 1)
    assert cell(one, "1", session="kept").ok
    assert one.host is not None
    spawner = one.host._process.pid  # type: ignore[union-attr]
    folders = [kernel.artifacts for kernel in (session.kernel for session in one.sessions.known.values())]
    wait_for(one.close())
    assert descendants(spawner) == {}
    assert not Path(f"/proc/{spawner}").exists()
    assert not any(folder.exists() for folder in folders)


FORGED: list[tuple[str, Any]] = [
    ("stream", {"name": "stdout", "text": 7}),
    ("stream", "text"),
    ("display_data", {"data": {"text/html": "<script>"}}),
    ("execute_result", {"data": {"text/plain": ["x"]}}),
    ("comm_open", {"comm_id": "1", "target_name": "jupyter.widget", "data": {}}),
    ("update_display_data", {"data": {"text/plain": "x"}}),
    ("clear_output", {"wait": False}),
    ("input_request", {"prompt": "password"}),
    ("error", {"traceback": 7, "ename": "\x1b[31mX"}),
    ("payload", [{"source": "set_next_input"}]),
]


@pytest.mark.parametrize(("kind", "content"), FORGED)
def test_a_message_of_another_form_brings_nothing_but_text(kind: str, content: Any) -> None:
    taken = Cell((Keeper(1000), Keeper(1000)))
    take_output(taken, kind, content)
    assert taken.displays == []
    assert taken.outputs[0].text()[0] == ""
    assert taken.outputs[1].text()[0] in ("", "X\n")


@pytest.fixture
def manager() -> AsyncKernelManager:
    """A manager whose kernelspec asks for the provisioner, as the installed one does."""
    point = EntryPoint(
        "kmnb-sandbox", "kmnb.sandbox.kernels.provisioner:SandboxProvisioner", "jupyter_client.kernel_provisioners"
    )
    KernelProvisionerFactory.instance().provisioners["kmnb-sandbox"] = point
    one = AsyncKernelManager()
    one._kernel_spec = KernelSpec(
        argv=["python", "-m", "ipykernel_launcher", "-f", "{connection_file}"],
        display_name="Python (isolated)",
        language="python",
        metadata={"kernel_provisioner": {"provisioner_name": "kmnb-sandbox"}},
    )
    return one


def test_a_whole_notebook_can_run_on_the_provisioner(manager: AsyncKernelManager) -> None:
    async def scene() -> tuple[str, float, bool]:
        await manager.start_kernel()
        client = manager.client()
        client.start_channels()
        await client.wait_for_ready(timeout=30)
        told: list[str] = []
        code = "import os, socket\nprint(sorted(os.environ))\ntry: socket.socket()\nexcept OSError: print('refused')"
        await client.execute_interactive(code, output_hook=lambda m: told.append(m["content"].get("text", "")))
        under_way = asyncio.Event()
        code = "import time\nprint('begun', flush=True)\ntime.sleep(30)"

        def heard(message: dict[str, Any]) -> None:
            if message["msg_type"] == "stream":
                under_way.set()

        waiting = asyncio.ensure_future(client.execute_interactive(code, output_hook=heard))
        await asyncio.wait_for(under_way.wait(), 10)
        begin = time.monotonic()
        await manager.interrupt_kernel()
        await asyncio.wait_for(waiting, 10)
        seconds = time.monotonic() - begin
        await manager.restart_kernel(now=True)
        await client.wait_for_ready(timeout=30)
        client.stop_channels()
        await manager.shutdown_kernel(now=True)
        return "".join(told), seconds, await manager.is_alive()

    told, seconds, alive = asyncio.run(scene())
    assert "refused" in told
    assert "SECRET" not in told
    assert seconds < 2
    assert not alive
