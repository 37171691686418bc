"""Kernels kept ready, used once; and sessions, which keep one until it is idle for long or closed."""

from __future__ import annotations

import asyncio
import contextlib
import time
from dataclasses import dataclass, field

from kmnb._bridge import on_exit
from kmnb.core.bounds import MIB
from kmnb.errors import SandboxUnavailable
from kmnb.sandbox._host import ENGINES, Host
from kmnb.sandbox._limits import Limits
from kmnb.sandbox._packages import package_paths
from kmnb.sandbox.kernels._kernel import Kernel, start_kernel

KERNEL_PACKAGES = ("ipykernel",)
"""What a kernel needs besides the standard library, with all that these require."""
SESSION_IDLE_SECONDS = 1800.0
"""Time after which a session that ran no cell is closed."""
SESSIONS_MAX = 8
"""Most sessions at the same time."""
KERNEL_LIMITS = {"address_bytes": 1024 * MIB, "cpu_seconds": 3600, "processes": 64}
"""Limits of kernels that differ from those of programs: their threads and libraries take more."""


@dataclass(slots=True)
class Pool:
    """The kernels of one process. All methods run on kmnb's own loop."""

    engines: tuple[str, ...] = ENGINES
    """Ways of isolating, in order."""
    landlock_abi: int | None = None
    """Keep to this version of Landlock."""
    packages: tuple[str, ...] = ()
    """Further packages that cells may import."""
    ready: asyncio.Queue[Kernel] = field(default_factory=asyncio.Queue)
    """Kernels that wait for their one cell."""
    sessions: dict[str, Kernel] = field(default_factory=dict)
    """Kernels that are kept, by name."""
    used: dict[str, float] = field(default_factory=dict)
    """When a session was last used, by the monotonic clock."""
    host: Host | None = None
    """Its spawner."""
    _filling: asyncio.Task[None] | None = None
    _watching: asyncio.Task[None] | None = None

    async def open(self) -> Host:
        """Have a spawner that forks kernels.

        Raises:
            SandboxUnavailable: ipykernel is not installed, or no engine works.
        """
        if self.host is None:
            try:
                reads, library = await asyncio.to_thread(package_paths, (*KERNEL_PACKAGES, *self.packages))
            except ValueError as error:
                raise SandboxUnavailable("kernels", str(error), "pip install 'kmnb[lab]'") from error
            host = Host(self.engines, self.landlock_abi, kernel=True, reads=reads, library=library)
            await host.start()
            # After the spawner's own farewell was registered, so that it comes before it.
            on_exit(self.close)
            self.host = host
        await self.host.start()
        return self.host

    async def take(self) -> Kernel:
        """Give a kernel that has run nothing, and prepare the next one."""
        host = await self.open()
        while not self.ready.empty():
            kernel = self.ready.get_nowait()
            if kernel.alive:
                break
            await kernel.end("setup")
        else:
            kernel = await start_kernel(host, Limits(**KERNEL_LIMITS))
        self.refill()
        return kernel

    def refill(self) -> None:
        """Prepare a kernel in the background when there is none."""
        if self.ready.empty() and (self._filling is None or self._filling.done()):
            self._filling = asyncio.get_running_loop().create_task(self._fill())

    async def _fill(self) -> None:
        with contextlib.suppress(SandboxUnavailable):
            self.ready.put_nowait(await start_kernel(await self.open(), Limits(**KERNEL_LIMITS)))

    async def session(self, name: str) -> Kernel:
        """Give the kernel of a session; a new one when there is none or it has ended."""
        kernel = self.sessions.get(name)
        if kernel is not None and not kernel.alive:
            await self.close_session(name)
            kernel = None
        if kernel is None:
            if len(self.sessions) >= SESSIONS_MAX:
                await self.close_session(min(self.used, key=lambda one: self.used[one]))
            kernel = self.sessions[name] = await self.take()
            if self._watching is None or self._watching.done():
                self._watching = asyncio.get_running_loop().create_task(self._close_idle())
        self.used[name] = time.monotonic()
        return kernel

    async def close_session(self, name: str) -> bool:
        """End a session; tells whether there was one."""
        kernel = self.sessions.pop(name, None)
        self.used.pop(name, None)
        if kernel is not None:
            await kernel.end("interrupt")
        return kernel is not None

    async def _close_idle(self) -> None:
        while self.used:
            # Until the one that was not used for longest may be idle long enough; most often it was used meanwhile.
            await asyncio.sleep(max(0.0, min(self.used.values()) + SESSION_IDLE_SECONDS - time.monotonic()))
            old = time.monotonic() - SESSION_IDLE_SECONDS
            for name in [one for one, used in self.used.items() if used <= old]:
                await self.close_session(name)

    async def close(self) -> None:
        """End all kernels and the spawner."""
        for task in (self._filling, self._watching):
            if task is not None:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
        kernels = list(self.sessions.values())
        while not self.ready.empty():
            kernels.append(self.ready.get_nowait())
        self.sessions.clear()
        await asyncio.gather(*(kernel.end("interrupt") for kernel in kernels), return_exceptions=True)
        if self.host is not None:
            await self.host.close()
