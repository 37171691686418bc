"""One file store for each test, and shells that use it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def store_url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A store that kernel, server and command line find by themselves."""
    for name in [name for name in os.environ if name.startswith("KMNB_")]:
        monkeypatch.delenv(name)
    url = f"file://{tmp_path}/store"
    monkeypatch.setenv("KMNB_URL", url)
    monkeypatch.setenv("KMNB_AGENT", "ada")
    return url


@pytest.fixture
def shell(store_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """An IPython shell without history, with kmnb loaded."""
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    config = Config()
    config.HistoryManager.enabled = False
    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance(config=config)
    shell.run_line_magic("load_ext", "kmnb")
    yield shell
    workspace = shell.user_ns.get("ws")
    shell.run_line_magic("unload_ext", "kmnb")
    if workspace is not None:
        workspace.close()
    shell.restore_sys_module_state()
    InteractiveShell.clear_instance()
