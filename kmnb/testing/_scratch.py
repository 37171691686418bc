"""Throw-away stores: a real service on loopback, on a port that the system picks, ended by its process id.

A file ``kmnb/testing/_<scheme>.py`` that exposes ``start() -> Scratch`` brings a scheme.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import re
import selectors
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType

START_SECONDS = 30.0
"""How long a service may take until it answers."""


class ScratchUnavailable(Exception):
    """No such service can be had here; the text says why."""


class Scratch:
    """A throw-away store that is running.

    Args:
        url: Its URL, for ``kmnb.open_store`` and ``kmnb.connect``.
        environment: Variables that its credentials need; they are set until it is closed.
        fresh: Makes the URL of another, empty store in the same service.
        close: Ends the service.

    Use it as a context manager, or call :meth:`close`.
    """

    def __init__(
        self,
        url: str,
        *,
        environment: Mapping[str, str] | None = None,
        fresh: Callable[[int], str] | None = None,
        close: Callable[[], object] | None = None,
    ) -> None:
        self.url, self.environment = url, dict(environment or {})
        self._fresh, self._close, self._number = fresh, close, 0
        self._before = {name: os.environ.get(name) for name in self.environment}
        os.environ.update(self.environment)

    def __str__(self) -> str:
        return self.url

    def __repr__(self) -> str:
        return f"<scratch {self.url}>"

    def fresh(self) -> str:
        """Give the URL of another, empty store in the same service.

        Returns:
            A URL that was not given before.
        """
        self._number += 1
        return self._fresh(self._number) if self._fresh is not None else self.url

    def close(self) -> None:
        """End the service and remove what it stored; twice is harmless."""
        close, self._close = self._close, None
        if close is None:
            return
        for name, value in self._before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        close()

    def __enter__(self) -> Scratch:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


def scratch(scheme: str) -> Scratch:
    """Start a throw-away store.

    Args:
        scheme: ``memory``, ``file``, ``nats``, ``s3``, ``gs`` or ``az``.

    Returns:
        The running store; ``with scratch("s3") as place: kmnb.open_store(place.url)``.

    Raises:
        ScratchUnavailable: It cannot be had here; the text says what is missing and how to get it.
    """
    name = scheme.partition("+")[0]
    try:
        module = importlib.import_module(f"kmnb.testing._{name}")
        start: Callable[[], Scratch] = module.start
    except (ModuleNotFoundError, AttributeError):
        raise ScratchUnavailable(f"no throw-away store of the kind {scheme!r} is known") from None
    return start()


class Service:
    """A child process that serves on loopback; it ends with this process.

    Args:
        command: Program and arguments.
        ready: Matches the line of its output that says where it listens.
        environment: Further variables for it.
    """

    def __init__(self, *command: str, ready: str, environment: Mapping[str, str] | None = None) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="kmnb-scratch-"))
        words = [word.replace("{folder}", str(self.folder)) for word in command]
        self._process = subprocess.Popen(  # noqa: S603 - the caller's own command
            [sys.executable, "-m", "kmnb.testing._keeper", *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=self.folder,
            env={**os.environ, **_importable(), **(environment or {})},
        )
        assert self._process.stdout is not None
        self._drained = threading.Thread(target=_drain, args=(self._process.stdout.fileno(),), daemon=True)
        try:
            self.ready = self._wait(re.compile(ready))
        except BaseException:
            self.close()
            raise

    def _wait(self, ready: re.Pattern[str]) -> re.Match[str]:
        output = self._process.stdout
        assert output is not None
        said, until = b"", time.monotonic() + START_SECONDS
        with selectors.DefaultSelector() as selector:
            selector.register(output, selectors.EVENT_READ)
            while (left := until - time.monotonic()) > 0:
                if not selector.select(left):
                    continue
                block = os.read(output.fileno(), 65_536)
                said += block
                if found := ready.search(said.decode(errors="replace")):
                    self._drained.start()
                    return found
                if not block:
                    break
        text = said.decode(errors="replace").strip()[-800:]
        raise ScratchUnavailable(f"{self._process.args!r} did not start: {text or 'it said nothing in time'}")

    def close(self) -> None:
        """End it, wait for it, and remove its folder."""
        process = self._process
        with contextlib.suppress(OSError):
            assert process.stdin is not None
            process.stdin.close()
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if self._drained.ident is not None:
            self._drained.join(5)
        assert process.stdout is not None
        process.stdout.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def _drain(output: int) -> None:
    """Read what a service says later, so that it never waits for a reader."""
    with contextlib.suppress(OSError):
        while os.read(output, 65_536):
            pass


def _importable() -> dict[str, str]:
    package = str(Path(__file__).resolve().parents[2])
    return {"PYTHONPATH": os.pathsep.join(filter(None, (package, os.environ.get("PYTHONPATH"))))}
