"""Become a Jupyter kernel: an interpreter that has ipykernel imported already, forked and isolated."""

from __future__ import annotations

import json
import os

from kmnb.sandbox.inner.job import Job
from kmnb.sandbox.inner.packages import offer

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
    app.start()  # type: ignore[no-untyped-call]
    return 0
