"""The small process that keeps one embedded nats-server, and ends it when its last user is gone.

Run as a script by ``_embedded.py``: ``python -I -S _embedded_keeper.py FOLDER BINARY``; standard library only.

Users hold a shared ``flock`` on ``users.lock``; the kernel takes it back when they end, however they end. This
process waits for the exclusive lock, which it gets when nobody is left. The server inherits ``server.lock``, so that
no second server opens the same data while the first still writes.

The server takes nobody without the password, for every user of the machine reaches its port. It is made anew at every
start and lies in two files that only the owner reads: the server's configuration, and ``server.json`` for the users.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import time
from types import FrameType

START_SECONDS = 10.0
"""How long the server may take to answer; a large store has to be recovered first."""
STOP_SECONDS = 10.0
"""How long the server may take to end by itself before it is killed."""
USER = "kmnb"
"""Name that the users of the server log in with."""
PASSWORD_BYTES = 24
"""Random bytes of a password."""
_PR_SET_PDEATHSIG = 1
_CONFIG = """\
# Written by kmnb at every start.
authorization {{
  user: {user}
  password: {password}
}}
jetstream {{
  store_dir: {store}
  sync_interval: "1s"
}}
logfile_size_limit: 1048576
logfile_max_num: 1
"""


class _Ended(Exception):
    """The server ended, or this process was asked to."""


def _raise_ended(_number: int, _frame: FrameType | None) -> None:
    raise _Ended


def _take_lock(folder: str, name: str, seconds: float) -> int:
    handle = os.open(os.path.join(folder, name), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    deadline = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return handle
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise TimeoutError(f"an earlier server still holds {name}") from None
            time.sleep(0.01)


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)


def _write(path: str, text: str) -> None:
    """Put a file in place that only its owner reads, whoever could read the one before."""
    handle = os.open(path + ".new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    with open(handle, "w", encoding="utf-8") as file:
        os.fchmod(handle, 0o600)
        file.write(text)
    os.replace(path + ".new", path)


def _start(folder: str, binary: str, *, name: str, password: str, lock: int) -> subprocess.Popen[bytes]:
    config = os.path.join(folder, "server.conf")
    texts = {"store": os.path.join(folder, "data"), "user": USER, "password": password}
    _write(config, _CONFIG.format_map({key: json.dumps(text, ensure_ascii=False) for key, text in texts.items()}))
    command = [binary, "-c", config, "-n", name, "-a", "127.0.0.1", "-p", "-1"]
    command += ["--ports_file_dir", folder, "-l", os.path.join(folder, "server.log")]
    return subprocess.Popen(  # noqa: S603 - the binary was checked by the caller
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        pass_fds=[lock],
        cwd=folder,
        env={},
        preexec_fn=_die_with_parent,  # noqa: PLW1509 - this process has one thread
    )


def _port(folder: str, server: subprocess.Popen[bytes]) -> int:
    path = os.path.join(folder, f"nats-server_{server.pid}.ports")
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError, ValueError, KeyError, IndexError), open(path, encoding="utf-8") as file:
            return int(json.load(file)["nats"][0].rpartition(":")[2])
        if server.poll() is not None:
            raise RuntimeError(f"the server ended at once, see {os.path.join(folder, 'server.log')}")
        time.sleep(0.002)
    raise TimeoutError(f"the server named no port within {START_SECONDS:.0f} s")


def _wait_ready(port: int) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1) as connection:
            if b'"jetstream":true' in connection.recv(65_536):
                return
        time.sleep(0.005)
    raise TimeoutError(f"the server on port {port} offered no JetStream within {START_SECONDS:.0f} s")


def _stop(server: subprocess.Popen[bytes]) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        if server.poll() is not None:
            return
        server.send_signal(number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            server.wait(STOP_SECONDS)


def _say(line: str) -> None:
    os.write(1, line.encode() + b"\n")
    quiet = os.open(os.devnull, os.O_RDWR)
    os.dup2(quiet, 1)
    os.close(quiet)


def _keep(folder: str, binary: str) -> None:
    name = f"kmnb-{os.urandom(8).hex()}"
    lock = _take_lock(folder, "server.lock", STOP_SECONDS)
    signal.signal(signal.SIGTERM, _raise_ended)
    password = os.urandom(PASSWORD_BYTES).hex()
    server = _start(folder, binary, name=name, password=password, lock=lock)
    try:
        port = _port(folder, server)
        _wait_ready(port)
        facts = {"name": name, "port": port, "pid": server.pid, "keeper": os.getpid()}
        _write(os.path.join(folder, "server.json"), json.dumps(facts | {"user": USER, "password": password}))
        _say("ready")
        signal.signal(signal.SIGCHLD, _raise_ended)
        if server.poll() is not None:
            raise _Ended
        users = os.open(os.path.join(folder, "users.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(users, fcntl.LOCK_EX)
    finally:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        with contextlib.suppress(OSError):
            os.unlink(os.path.join(folder, "server.json"))
        _stop(server)


def main(folder: str, binary: str) -> None:
    """Leave the caller's process tree, keep a server, end with it.

    Args:
        folder: The store's own folder.
        binary: Path of nats-server.
    """
    if os.fork():
        os._exit(0)
    os.umask(0o077)
    try:
        _keep(folder, binary)
    except _Ended:
        pass
    except Exception as error:
        with contextlib.suppress(OSError):
            _say(f"failed: {error}")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
