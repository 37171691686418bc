"""Isolated Jupyter kernels: a fresh one for each ``%%compute`` cell, kept ones for sessions, and a provisioner."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kmnb.sandbox.kernels._cells import close_session, close_sessions, run_cell, warm
    from kmnb.sandbox.kernels._gateway import run_remote
    from kmnb.sandbox.kernels.provisioner import SandboxProvisioner

__all__ = ["SandboxProvisioner", "close_session", "close_sessions", "run_cell", "run_remote", "warm"]


def __getattr__(name: str) -> Any:
    # On first use: a forked kernel's side of this package must not load the client's.
    if name == "SandboxProvisioner":
        from kmnb.sandbox.kernels.provisioner import SandboxProvisioner

        return SandboxProvisioner
    if name == "run_remote":
        from kmnb.sandbox.kernels._gateway import run_remote

        return run_remote
    if name in __all__:
        from kmnb.sandbox.kernels import _cells

        return getattr(_cells, name)
    raise AttributeError(f"module 'kmnb.sandbox.kernels' has no attribute {name!r}")
