"""Become a Jupyter kernel: an interpreter that has ipykernel imported already, forked and isolated."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import sys
import warnings

from kmnb.sandbox.inner.job import Job
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
    # A cell may end with sys.exit() as any program may.
    warnings.filterwarnings("ignore", message="To exit: use")
    for stream in (sys.stdout, sys.stderr):
        flush_often(stream)
    app.start()  # type: ignore[no-untyped-call]
    return 0
