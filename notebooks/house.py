"""The house of the demo: a folder for everything, processes that cannot get lost, and an end that leaves nothing."""

from __future__ import annotations

import contextlib
import ctypes
import io
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import NoReturn

ROLE_SECONDS = 120
"""Longest that one role may take."""
SIGNALS = (signal.SIGTERM, signal.SIGINT)
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36


class Ended(BaseException):
    """A signal asked the demo to end."""

    def __init__(self, number: int) -> None:
        super().__init__(f"The demo was ended by {signal.Signals(number).name}.")
        self.code = 128 + number


def on_signal(number: int, _: object) -> NoReturn:
    """End at once; further signals do not disturb the tidying up."""
    ignore_signals()
    raise Ended(number)


def ignore_signals() -> None:
    """Let nothing come between from here on."""
    for each in SIGNALS:
        signal.signal(each, signal.SIG_IGN)


def prctl(option: int, value: int) -> None:
    """Set a property of this process."""
    if ctypes.CDLL(None).prctl(option, value, 0, 0, 0) != 0:
        sys.exit(f"prctl({option}, {value}) was refused")


def die_with_parent() -> None:
    """Have the kernel end this process when its parent ends, however that ends."""
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def take_any_text() -> None:
    """Have stdout and stderr take any character: where they are ASCII only, others are escaped."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def children() -> dict[int, str]:
    """Processes whose parent we are, also by adoption, and their command lines, empty once they ended."""
    found = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            _, _, facts = (entry / "stat").read_text("utf-8", "replace").rpartition(")")
            command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if int(facts.split()[1]) == os.getpid():
            found[int(entry.name)] = command
    return found


def leftovers(folder: Path, *, besides: Collection[str]) -> list[str]:
    """Our children that still run, and what lies in the folder besides what may."""
    running = [f"process {pid}: {command}" for pid, command in children().items() if command]
    return running + sorted(f"file {path.name}" for path in folder.iterdir() if path.name not in besides)


@contextlib.contextmanager
def open_house() -> Iterator[Path]:
    """Give a folder for everything; afterwards end every process that is left, and remove it.

    Who opens it leaves all work to children: a thread of this process could go on writing.

    SIGTERM and SIGINT end the whole at once, with one line on stderr and the usual exit code.
    """
    prctl(PR_SET_CHILD_SUBREAPER, 1)  # so that no process can get lost
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    folder = Path(tempfile.mkdtemp(prefix="kmnb-demo-"))
    try:
        try:
            for each in SIGNALS:
                signal.signal(each, on_signal)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
            yield folder
        finally:
            ignore_signals()
    except Ended as ended:
        print(ended, file=sys.stderr)
        sys.exit(ended.code)
    finally:
        while left := children():
            for pid in left:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
        shutil.rmtree(folder)


def run(command: list[str], environment: Mapping[str, str]) -> int:
    """Run a program with additions to the environment, out of reach of the terminal's Ctrl-C; give its exit code.

    When this process is asked to end meanwhile, the program is killed.
    """
    whole = {**os.environ, **environment}
    return subprocess.run(command, check=False, timeout=ROLE_SECONDS, start_new_session=True, env=whole).returncode
