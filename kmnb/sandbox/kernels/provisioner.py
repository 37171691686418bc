"""A kernel provisioner for ``jupyter_client``: any kernelspec's kernel, isolated.

A kernelspec selects it with ``metadata.kernel_provisioner.provisioner_name = "kmnb-sandbox"``. Its kernel gets Unix
sockets instead of ports, an environment built from nothing, a folder of its own, and the walls of the sandbox.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from jupyter_client.provisioning.provisioner_base import KernelProvisionerBase

from kmnb._bridge import bridge
from kmnb.errors import SandboxUnavailable
from kmnb.sandbox._api import check_level
from kmnb.sandbox._host import Answer, Host
from kmnb.sandbox._limits import Limits
from kmnb.sandbox._supervise import take_output
from kmnb.sandbox.kernels._kernel import PORTS, short_parent, submit_kernel
from kmnb.sandbox.kernels._pool import KERNEL_LIMITS

FILE = "connection.json"
"""Name of the connection file in the kernel's folder."""


class SandboxProvisioner(KernelProvisionerBase):
    """Starts a kernel in the sandbox. ``required_level`` may stand in the kernelspec's provisioner config."""

    required_level = 2
    host: Host | None = None
    number = 0
    sockets: str | None = None
    _ended: Answer | None = None
    _watch: asyncio.Task[None] | None = None
    _status: int | None = None
    _running = False

    @property
    def has_process(self) -> bool:
        """Whether a kernel was started and not waited for."""
        return self._running

    async def poll(self) -> int | None:
        """Give the kernel's exit status; None while it runs."""
        return None if self._running and self._status is None else (self._status or 0)

    async def wait(self) -> int | None:
        """Wait for the kernel's end."""
        if self._watch is not None:
            await asyncio.shield(self._watch)
        self._running = False
        return self._status

    async def send_signal(self, signum: int) -> None:
        """Send a signal to the kernel's process; whatever ends it ends everything that it started."""
        if self.host is not None and self._running and self._status is None:
            if signum in (9, 15):
                self.host.end(self.number, "interrupt")
            else:
                self.host.signal(self.number, signum)

    async def kill(self, restart: bool = False) -> None:
        """End the kernel and everything that it started."""
        await self.send_signal(9)

    async def terminate(self, restart: bool = False) -> None:
        """End the kernel and everything that it started."""
        await self.send_signal(15)

    async def cleanup(self, restart: bool = False) -> None:
        """Leave nothing; the spawner has removed the folder already. The last kernel's spawner goes too."""
        if self.host is not None and not restart:
            host, self.host = self.host, None
            await bridge(host.close())
            if self.sockets is not None:
                shutil.rmtree(self.sockets, ignore_errors=True)

    async def pre_launch(self, **kwargs: Any) -> dict[str, Any]:
        """Choose sockets and command before the start."""
        manager: Any = self.parent
        manager.transport, manager.cache_ports = "ipc", False
        for name, port in PORTS.items():
            setattr(manager, name, port)
        self.host = self.host or Host(kernel=False, reads=_environment())
        check_level(await bridge(self.host.start()), int(self.required_level))
        arguments = kwargs.pop("extra_arguments", [])
        return await super().pre_launch(cmd=[*self.kernel_spec.argv, *arguments], **kwargs)

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> Any:
        """Start the kernel and give its connection, with the sockets as clients see them."""
        assert self.host is not None
        manager: Any = self.parent
        key = manager.session.key
        connection = {**PORTS, "key": key.decode(), "signature_scheme": manager.session.signature_scheme}
        facts = {"connection": connection, "variables": _visible(self.kernel_spec.env)}
        if cmd[0] in ("python", "python3"):
            # As jupyter_client reads it: the interpreter of this environment.
            cmd = [sys.executable, *cmd[1:]]
        command = [FILE if word == "{connection_file}" else word for word in cmd]
        # Clients stay connected over a restart, so the sockets' folder outlives the kernel.
        self.sockets = self.sockets or tempfile.mkdtemp(prefix=f"kmnb-kernel-{os.getpid()}-", dir=short_parent())
        await bridge(self._submit(command, facts))
        self._running, self._status = True, None
        manager.ip = os.path.join(self.sockets, "s")
        self.connection_info = manager.get_connection_info()
        manager.write_connection_file()
        self._watch = asyncio.get_running_loop().create_task(self._follow())
        return self.connection_info

    async def _submit(self, command: list[str], facts: dict[str, Any]) -> None:
        assert self.host is not None
        await self.host.start()
        message = {
            "op": "run", "mode": "command", "filename": FILE, "command": command, "output": False, "artifacts": None,
            "limits": Limits(**KERNEL_LIMITS).as_dict(), "parent": short_parent(), "facts": facts,
            "sockets": self.sockets,
        }  # fmt: skip
        self.number, self._ended, _ = await submit_kernel(self.host, message)

    async def _follow(self) -> None:
        """Note how the kernel ends."""
        self._status = await bridge(self._end())

    async def _end(self) -> int:
        assert self.host is not None
        assert self._ended is not None
        try:
            ended, descriptors = await self._ended
            await take_output(self.host, ended, descriptors, output=None, limits=Limits())
        except SandboxUnavailable:
            return -9
        return int(ended["status"] if ended["status"] is not None else -9)


def _environment() -> list[str]:
    """Folders of this environment that a person's notebook needs: interpreter and packages, read-only."""
    packages = [one for one in sys.path if Path(one).name in ("site-packages", "dist-packages") and Path(one).is_dir()]
    own = [os.path.realpath(sys.prefix)] if sys.prefix != sys.base_prefix else []
    return list(dict.fromkeys([*own, *map(os.path.realpath, packages), *_links(sys.executable)]))


def _links(path: str) -> list[str]:
    """What a virtual environment's interpreter leads to, link by link."""
    found: list[str] = []
    while os.path.islink(path) and len(found) < 10:
        path = os.path.normpath(os.path.join(os.path.dirname(path), os.readlink(path)))
        found.append(path)
    return found


def _visible(variables: dict[str, str]) -> dict[str, str]:
    """Variables that the kernelspec itself names; the server's own are left out."""
    return {name: value for name, value in json.loads(json.dumps(variables)).items() if "${" not in value}
