"""Kernels kept ready, used once; and those of sessions."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from kmnb._bridge import on_exit
from kmnb.core.bounds import MIB
from kmnb.errors import SandboxUnavailable
from kmnb.sandbox._host import ENGINES, Host
from kmnb.sandbox._limits import Limits
from kmnb.sandbox._packages import package_paths
from kmnb.sandbox.kernels._kernel import Kernel, start_kernel
from kmnb.sandbox.kernels._sessions import Sessions

KERNEL_PACKAGES = ("ipykernel",)
"""What a kernel needs besides the standard library, with all that these require."""
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
    host: Host | None = None
    """Its spawner."""
    sessions: Sessions = field(init=False)
    """Kernels that are kept."""
    _opening: asyncio.Task[None] | None = None
    _filling: asyncio.Task[None] | None = None

    def __post_init__(self) -> None:
        self.sessions = Sessions(self.take)

    async def open(self) -> Host:
        """Have a spawner that forks kernels.

        Raises:
            SandboxUnavailable: ipykernel is not installed, or no engine works.
        """
        if self._opening is None or (self._opening.done() and self.host is None):
            # A task of its own, so that whoever waits for it may be cancelled and nobody opens a second one.
            self._opening = asyncio.get_running_loop().create_task(self._open())
            self._opening.add_done_callback(lambda task: task.cancelled() or task.exception())
        await asyncio.shield(self._opening)
        assert self.host is not None
        await self.host.start()
        return self.host

    async def _open(self) -> None:
        try:
            reads, library = await asyncio.to_thread(package_paths, (*KERNEL_PACKAGES, *self.packages))
        except ValueError as error:
            raise SandboxUnavailable("kernels", str(error), "pip install 'kmnb[lab]'") from error
        host = Host(self.engines, self.landlock_abi, kernel=True, reads=reads, library=library)
        await host.start()
        # After the spawner's own farewell was registered, so that it comes before it.
        on_exit(self.close)
        self.host = host

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

    @contextlib.asynccontextmanager
    async def once(self) -> AsyncIterator[tuple[Kernel, tuple[str, ...]]]:
        """Have a kernel for one cell, which ends in any case."""
        kernel = await self.take()
        try:
            yield kernel, ()
        finally:
            await kernel.end("interrupt")

    async def close(self) -> None:
        """End all kernels and the spawner."""
        if self._filling is not None:
            self._filling.cancel()
            await asyncio.gather(self._filling, return_exceptions=True)
        kernels = []
        while not self.ready.empty():
            kernels.append(self.ready.get_nowait())
        ends = [kernel.end("interrupt") for kernel in kernels]
        await asyncio.gather(self.sessions.stop(), *ends, return_exceptions=True)
        if self.host is not None:
            await self.host.close()
