"""Become a Jupyter kernel: an interpreter that has ipykernel imported already, forked and isolated."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from kmnb.sandbox.inner.job import Job
from kmnb.sandbox.inner.packages import offer

PIECE_CHARACTERS = 1 << 18
"""Most characters of output in one message."""
FILE = "kernel.json"
"""Name of the connection file in the kernel's folder."""


def preload(folders: list[str], paths: list[str]) -> None:
    """Import what a kernel needs, before anything is forked; that is most of its start.

    Args:
        folders: Where its packages are installed.
        paths: Their files and folders.
    """
    offer(folders, paths)
    import ipykernel.ipkernel
    import ipykernel.kernelapp
    import ipykernel.zmqshell  # noqa: F401


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
    for stream in (sys.stdout, sys.stderr):
        flush_often(stream)
    app.start()  # type: ignore[no-untyped-call]
    return 0
