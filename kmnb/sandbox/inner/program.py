"""Become the program: run Python text in this process, or execute another interpreter."""

from __future__ import annotations

import atexit
import os
import signal
import sys
import types
from collections.abc import Callable

from kmnb.sandbox.inner import linux, selftest
from kmnb.sandbox.inner.job import Job
from kmnb.sandbox.inner.leaving import status_of
from kmnb.sandbox.inner.packages import offer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

TIMEOUT_FUNCTION = "BASH_FUNC_timeout%%"
"""Exported function: timeout(1) signals its own process group, which is the whole program where nobody may leave it."""
COMMAND_LINE = linux.CommandLine(b"kmnb-pool")
"""Word in the spawner's command line, by which people tell it from programs."""
_KEPT: list[object] = []


def write_source(job: Job, sockets: str = "") -> None:
    """Put the program's text into the run's folder, where tracebacks and interpreters look for it."""
    if job.mode == "kernel":
        return
    fd = os.open(job.filename, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    # Without a file object: its class is memory that this fork would be the first to touch.
    left = memoryview(job.text(sockets))
    while left:
        left = left[os.write(fd, left) :]
    os.close(fd)


def become(job: Job, variables: dict[str, str], *, library: tuple[str, ...], sockets: str = "") -> NoReturn:
    """Run the job in this process, which ends with it.

    Args:
        job: The job.
        variables: Its whole environment.
        library: ``sys.path`` of Python programs.
        sockets: Folder that a kernel's sockets are made in, as the kernel sees it.
    """
    if job.mode != "kernel":
        # A kernel waits in the pool first, and is the pool's.
        COMMAND_LINE.rename(b"kmnb-run")
    if job.command is not None:
        for ignored in (signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(ignored, signal.SIG_DFL)
        _execute([*job.command, job.filename] if job.mode != "command" else job.command, variables)
    os.environ.clear()
    os.environ.update(variables)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if job.mode == "kernel":
        from kmnb.sandbox.kernels._inside import run_kernel

        _forget_spawner(list(library))
        _end(lambda: run_kernel(job, sockets))
    _forget_spawner(list(library))
    offer(job.library, job.reads)
    if job.mode == "self-test":
        _end(lambda: selftest.attempts(job.facts))
    text = job.source.decode("utf-8")
    _end(lambda: _run_text(text, job.filename, job.mode == "check"))


def _execute(command: list[str], variables: dict[str, str]) -> NoReturn:
    try:
        os.execvpe(command[0], command, variables)  # noqa: S606 - no shell wanted
    except OSError as error:
        os.write(2, f"{command[0]}: {error.strerror}\n".encode())
        os._exit(127)


def _forget_spawner(path: list[str]) -> None:
    """Leave nothing importable but the standard library; the modules themselves stay alive with this frame."""
    for name in [one for one in sys.modules if one == "__main__" or one.partition(".")[0] == "kmnb"]:
        _KEPT.append(sys.modules.pop(name))
    # The spawner looked its own temporary folder up; the program's is another.
    if "tempfile" in sys.modules:
        sys.modules["tempfile"].tempdir = None  # type: ignore[attr-defined]
    sys.path[:] = path
    sys.path_importer_cache.clear()
    sys.argv[:] = ["main.py"]
    sys.orig_argv[:] = [sys.executable, "main.py"]


def _run_text(text: str, filename: str, check: bool) -> int:
    """Run or compile text as the main module and give the exit status that an interpreter would."""
    main = types.ModuleType("__main__")
    main.__dict__.update(__file__=filename, __builtins__=__builtins__)
    sys.modules["__main__"] = main
    try:
        # From text, not from a file: a coding line must not change what came as Unicode.
        code = compile(text, filename, "exec", dont_inherit=True)
        if not check:
            exec(code, main.__dict__)  # noqa: S102 - this is what the sandbox is for
    except SystemExit as leave:
        return status_of(leave.code)
    except BaseException as error:
        trace = error.__traceback__.tb_next if error.__traceback__ else None
        sys.excepthook(type(error), error.with_traceback(trace), trace)
        return 130 if isinstance(error, KeyboardInterrupt) else 1
    return 0


def _end(body: Callable[[], int]) -> NoReturn:
    """Do what an interpreter does at its end, without the spawner's own clean-up."""
    status = 1
    try:
        status = body()
        if "threading" in sys.modules:
            sys.modules["threading"]._shutdown()
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
    except SystemExit as leave:
        status = status_of(leave.code)
    except MemoryError:
        os.write(2, b"MemoryError\n")
    except BaseException as error:
        os.write(2, f"{type(error).__name__}: {error} (at exit)\n".encode())
    os._exit(status)
