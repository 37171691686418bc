"""Become a Jupyter kernel: an interpreter that has ipykernel imported already, forked and isolated."""

from __future__ import annotations

import codecs
import contextlib
import functools
import importlib
import json
import os
import subprocess
import sys
import warnings

from kmnb.sandbox.inner.job import Job
from kmnb.sandbox.inner.leaving import status_of
from kmnb.sandbox.inner.packages import offer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PIECE_CHARACTERS = 1 << 18
"""Most characters of output in one message."""
MODULES = (
    "ipykernel.ipkernel", "ipykernel.kernelapp", "ipykernel.zmqshell", "ipykernel.debugger",
    "IPython.core.completerlib", "IPython.core.debugger", "IPython.core.oinspect", "IPython.extensions.storemagic",
    "IPython.utils.wildcard", "tornado.platform.asyncio", "tornado.queues", "traitlets.config", "cProfile", "pstats",
    "unicodedata",
)  # fmt: skip
"""What a kernel imports on its way to its first cell; one that another version does not have is passed over."""
EXIT_CODE = "kmnb_exit_code"
"""Field of the reply to a cell that left by ``sys.exit``."""
FILE = "kernel.json"
"""Name of the connection file in the kernel's folder."""


def preload(folders: list[str], paths: list[str]) -> None:
    """Import what a kernel needs, before anything is forked; that is most of its start.

    Args:
        folders: Where its packages are installed.
        paths: Their files and folders.
    """
    offer(folders, paths)
    # A kernel that is used once has no debugger's client; importing debugpy would take longer than all the rest.
    sys.modules["debugpy"] = None  # type: ignore[assignment]
    for name in MODULES:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    del sys.modules["debugpy"]


def flush_often(stream: Any) -> None:
    """Let a stream send what it has at once when there is much of it.

    Otherwise ipykernel puts a fifth of a second's output into one message, which for a flood is larger than any that
    a client takes.
    """
    write = stream.write

    def bounded(text: str) -> int:
        for at in range(0, len(text), PIECE_CHARACTERS):
            bounded.waiting += write(text[at : at + PIECE_CHARACTERS])  # type: ignore[attr-defined]
            if bounded.waiting >= PIECE_CHARACTERS:  # type: ignore[attr-defined]
                bounded.waiting = 0  # type: ignore[attr-defined]
                stream.flush()
        return len(text)

    bounded.waiting = 0  # type: ignore[attr-defined]
    stream.write = bounded


def leave_as_programs_do(kernel: Any) -> None:
    """Have ``sys.exit``, ``exit`` and ``quit`` end a cell as they end a program: without a traceback, with their code.

    Args:
        kernel: The running kernel.
    """
    shell, execute, show = kernel.shell, kernel.do_execute, kernel.shell.showtraceback
    codes: list[int] = []

    def shown(exc_tuple: Any = None, *args: Any, **kwargs: Any) -> None:
        kind, value, _ = shell._get_exc_info(exc_tuple)
        if not issubclass(kind, SystemExit):
            show(exc_tuple, *args, **kwargs)
        else:
            codes.append(status_of(value.code))

    async def executed(*args: Any, **kwargs: Any) -> Any:
        codes.clear()
        reply = await execute(*args, **kwargs)
        return reply | {EXIT_CODE: codes[-1]} if codes and reply.get("ename") == "SystemExit" else reply

    # The types of its arguments are looked at when a request comes.
    kernel.do_execute = functools.wraps(execute)(executed)
    shell.showtraceback = shown
    warnings.filterwarnings("ignore", message="To exit: use 'exit'")
    # Those of the notebook ask the kernel to end, whatever code they are given.
    for names in (shell.user_ns, shell.user_ns_hidden):
        names["exit"] = names["quit"] = _LEAVE


class Leave:
    """``exit`` and ``quit`` of a cell."""

    def __call__(self, code: object = None) -> None:
        """Leave the cell."""
        raise SystemExit(code)

    def __repr__(self) -> str:
        return "Use exit() or exit(code) to leave the cell."


_LEAVE = Leave()


def run_commands_through_pipes(shell: Any) -> None:
    """Let ``!command`` work, which needs a terminal otherwise, and there is none.

    Args:
        shell: The kernel's shell.
    """

    def system(command: str) -> None:
        text = shell.var_expand(command, depth=1)
        running = subprocess.Popen(  # noqa: S602 - a person's own line, in the sandbox
            text, shell=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        with running:
            while block := running.stdout.read1(65_536):  # type: ignore[union-attr]
                sys.stdout.write(decoder.decode(block))
        shell.user_ns["_exit_code"] = running.returncode

    shell.system = system


def run_kernel(job: Job, sockets: str) -> int:
    """Serve one client until the kernel is told to stop."""
    with open(FILE, "w", encoding="utf-8") as file:
        json.dump({**job.facts["connection"], "transport": "ipc", "ip": os.path.join(sockets, "s")}, file)
    from ipykernel.kernelapp import IPKernelApp
    from traitlets.config import Config

    config = Config()
    config.IPKernelApp.connection_file = os.path.abspath(FILE)
    config.HistoryManager.enabled = False
    config.InteractiveShell.colors = "nocolor"
    app = IPKernelApp.instance(config=config)
    app.initialize([])  # type: ignore[no-untyped-call]
    # ipykernel asks every program for colours; what a cell prints is kept as text, and its numbers are looked for.
    for name in ("CLICOLOR", "CLICOLOR_FORCE", "FORCE_COLOR"):
        os.environ.pop(name, None)
    for stream in (sys.stdout, sys.stderr):
        flush_often(stream)
    leave_as_programs_do(app.kernel)
    run_commands_through_pipes(app.shell)
    app.start()  # type: ignore[no-untyped-call]
    return 0
