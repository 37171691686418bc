"""JupyterLab in headless Chromium: token and XSRF on, every request to another host fails the test."""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, expect, sync_playwright

from tests.frontends.jupyter import Server, running_server

ARGUMENTS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
]  # fmt: skip
SETTINGS = {
    "@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False},
    "@jupyterlab/docmanager-extension:plugin": {"autosave": False},
}
READY = """() => { const s = window.jupyterapp?.shell?.currentWidget?.context?.sessionContext;
    const k = s?.session?.kernel; return !!(s?.isReady && k?.connectionStatus === 'connected'
    && k.status === 'idle'); }"""
GO_ON = {"tags": ["raises-exception"]}
"""Metadata of a cell whose error does not keep the next ones from running."""
RUN_ALL = "() => { void window.jupyterapp.commands.execute('notebook:run-all-cells'); }"


@contextlib.contextmanager
def running_lab(folder: Path, **environment: str) -> Iterator[Server]:
    """Start JupyterLab without its dialogs."""
    settings = folder / "settings"
    settings.mkdir(parents=True, exist_ok=True)
    settings.joinpath("overrides.json").write_text(json.dumps(SETTINGS))
    options = (f"--LabApp.app_settings_dir={settings}", "--LabApp.expose_app_in_browser=True")
    with running_server(folder, *options, lab=True, **environment) as server:
        yield server


@contextlib.contextmanager
def open_browser(folder: Path, base: str) -> Iterator[tuple[Page, list[str]]]:
    """Open a page; give it and the list of what was asked of other hosts, and of errors of the page."""
    foreign: list[str] = []
    expect.set_options(timeout=30_000)
    with sync_playwright() as play:
        context = play.chromium.launch_persistent_context(
            str(folder / "browser"), executable_path=shutil.which("chromium"), headless=True, args=ARGUMENTS,
            viewport={"width": 1280, "height": 1000},
        )  # fmt: skip
        try:
            page = context.pages[0]
            page.set_default_timeout(30_000)

            def decide(route: Any) -> None:
                if route.request.url.startswith((base, "data:", "blob:")):
                    route.continue_()
                else:
                    foreign.append(route.request.url)
                    route.abort()

            page.route("**/*", decide)
            page.on("pageerror", lambda error: foreign.append(f"page error: {error}"))
            yield page, foreign
        finally:
            context.close()


def notebook(*cells: str) -> dict[str, Any]:
    """A notebook of code cells without outputs."""
    return {
        "cells": [
            {
                "cell_type": "code",
                "id": f"c{n}",
                "source": cell,
                "metadata": dict(GO_ON),
                "outputs": [],
                "execution_count": None,
            }
            for n, cell in enumerate(cells)
        ],
        "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def open_notebook(page: Page, server: Server, path: str) -> None:
    """Open a notebook and wait until its kernel is idle."""
    page.goto(f"{server.base}lab/tree/{path}?token={server.token}&reset")
    page.locator("#jupyterlab-splash").wait_for(state="detached")
    page.wait_for_function(READY)


def run_all(page: Page) -> None:
    """Run every cell."""
    page.evaluate(RUN_ALL)


def use_theme(page: Page, name: str) -> None:
    """Switch the theme of the running page, as a person would."""
    page.evaluate("name => { void window.jupyterapp.commands.execute('apputils:change-theme', {theme: name}); }", name)
    page.wait_for_function("name => document.body.dataset.jpThemeName === name", arg=name)
    page.locator("#jupyterlab-splash").wait_for(state="detached")


AXE_RUN = """async node => {
  const found = await axe.run(node, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice']});
  return found.violations.map(v => [v.id, v.impact, v.nodes.map(n => n.html.slice(0, 160) + ' ' + n.failureSummary)]);
}"""


def violations(page: Page, shown: Any) -> list[Any]:
    """What axe finds wrong with a part of the page."""
    import axe_playwright_python

    if not page.evaluate("() => 'axe' in window"):
        source = Path(axe_playwright_python.__file__).with_name("axe.min.js").read_text(encoding="utf-8")
        page.evaluate("source => { (0, eval)(source); }", source)
    found: list[Any] = shown.evaluate(AXE_RUN)
    return found
