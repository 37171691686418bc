"""The preview in every state: accessible in both themes, honest when the kernel is busy, readable when it is gone."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.lab import READY, open_notebook, use_theme, violations
from tests.frontends.jupyter import surroundings

THEMES = ("JupyterLab Light", "JupyterLab Dark")
KEY = "default/nocrew/t/ada/text-0"


EXECUTE = """code => { void window.jupyterapp.shell.currentWidget.context.sessionContext.session.kernel
    .requestExecute({code}); }"""


def status(shown: Locator) -> Locator:
    return shown.get_by_role("status")


def test_every_view_is_accessible_in_both_themes_and_follows_a_switch(page, gallery, folder):
    shots: dict[str, list[bytes]] = {}
    for theme in THEMES:
        use_theme(page, theme)
        for tool in ("csv", "json", "text", "binary", "empty", "gone"):
            shown = gallery(tool)
            for tab in shown.get_by_role("tab").all():
                tab.click()
                expect(status(shown)).not_to_have_text("loading …")
                assert violations(page, shown) == [], (theme, tool, tab.text_content())
            for name in ("Show as code", "Keys"):
                shown.get_by_role("button", name=name).click()
                assert violations(page, shown) == [], (theme, tool, name)
            shown.get_by_role("tab").first.click()
            path = folder / f"{tool}-{theme.split()[1].lower()}.png"
            shots.setdefault(tool, []).append(shown.screenshot(path=path))
    assert all(light != dark for light, dark in shots.values())
    use_theme(page, THEMES[0])


def test_what_is_gone_is_said(gallery):
    shown = gallery("gone")
    shown.get_by_role("tab", name="Bytes").click()
    expect(status(shown)).to_contain_text("Ask its producer")


def test_a_preview_pages_on_while_a_cell_runs(page, run_cells, folder):
    """Kernels with subshells answer widgets beside a running cell."""
    run_cells(f"ws.get({KEY!r}).preview_widget()")
    shown = page.get_by_role("region", name=f"Preview of {KEY}")
    expect(status(shown)).to_have_text("lines 1–20 of 5,000")
    page.evaluate(EXECUTE, "import time, pathlib\nwhile not pathlib.Path('go').exists(): time.sleep(0.05)")
    shown.get_by_role("region", name="Lines").focus()
    page.keyboard.press("End")
    expect(status(shown)).to_have_text("lines 4,981–5,000 of 5,000")
    folder.joinpath("go").touch()
    page.wait_for_function(READY)
    folder.joinpath("go").unlink()


def test_a_kernel_that_does_not_answer_is_said_at_once_and_nothing_hangs(page, run_cells, folder):
    run_cells(
        "import os, pathlib\n_ = pathlib.Path('pid').write_text(str(os.getpid()))",
        f"ws.get({KEY!r}).preview_widget()",
    )
    shown = page.get_by_role("region", name=f"Preview of {KEY}")
    expect(status(shown)).to_have_text("lines 1–20 of 5,000")
    pid = int(folder.joinpath("pid").read_text())
    os.kill(pid, signal.SIGSTOP)
    try:
        shown.get_by_role("tab", name="Bytes").click()
        expect(status(shown)).to_have_text("waiting for the kernel …", timeout=3000)
        assert violations(page, shown) == []
        shown.screenshot(path=folder / "busy.png")
        expect(status(shown)).to_contain_text("The kernel is busy or gone", timeout=20_000)
        shown.get_by_role("tab", name="Text").click()
        expect(shown.get_by_role("region", name="Lines")).to_contain_text("line 19")
    finally:
        os.kill(pid, signal.SIGCONT)
    shown.get_by_role("tab", name="Bytes").click()
    expect(status(shown)).to_contain_text("bytes 0–320")


def test_after_a_restart_the_static_twin_is_readable_again(page, run_cells, folder):
    run_cells(f"ws.get({KEY!r}).preview_widget()")
    shown = page.get_by_role("region", name=f"Preview of {KEY}")
    expect(status(shown)).to_have_text("lines 1–20 of 5,000")
    twin = page.locator(".jp-RenderedHTMLCommon", has_text=KEY)
    expect(twin).to_be_hidden()
    page.evaluate(
        "() => { void window.jupyterapp.shell.currentWidget.context.sessionContext.session.kernel.restart(); }"
    )
    expect(twin).to_be_visible()
    expect(status(shown)).to_contain_text("Run the cell again")
    shown.get_by_role("tab", name="Bytes").click()
    expect(status(shown)).to_contain_text("Run the cell again")
    page.screenshot(path=folder / "restarted.png")


def saved_notebook(folder: Path) -> Path:
    """A notebook as JupyterLab would have saved it, with outputs."""
    from nbclient import NotebookClient

    cells = [
        "import kmnb; ws = kmnb.connect(thread='t', agent='ada')",
        f"ws.get({KEY!r}).preview_widget()",
        f"ws.get({KEY!r})",
    ]
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    NotebookClient(made, resources={"metadata": {"path": str(folder)}}).execute(
        env=surroundings(folder, KMNB_URL=f"file://{folder}/store")
    )
    made.metadata.pop("widgets", None)
    path = folder / "saved.ipynb"
    # Without a kernel's name JupyterLab asks for one where several are installed.
    made.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(made, path)
    return path


@pytest.mark.parametrize("trusted", [False, True], ids=["untrusted", "trusted"])
def test_a_saved_notebook_shows_the_static_twin(page: Page, lab: Any, folder: Path, trusted: bool) -> None:
    path = saved_notebook(folder)
    assert "line 19" not in json.dumps(
        [output for cell in nbformat.read(path, 4).cells for output in cell.outputs if "model_id" in str(output)]
    )
    if trusted:
        subprocess.run(
            [sys.executable, "-m", "jupyter", "trust", str(path)], env=surroundings(folder), check=True, timeout=60,
            capture_output=True,
        )  # fmt: skip
    open_notebook(page, lab, "saved.ipynb")
    twins = page.locator(".jp-RenderedHTMLCommon", has_text=KEY)
    expect(twins).to_have_count(2)
    for twin in twins.all():
        expect(twin).to_be_visible()
        expect(twin).to_contain_text("line 0")
        expect(twin.get_by_text("more lines").first).to_be_visible()
    outputs = page.locator(".jp-OutputArea-child")
    expect(outputs).to_have_count(3)
    if trusted:
        # The twin stands alone: nothing below it says that a widget is loading or missing.
        expect(outputs.nth(1)).to_contain_text("widget")
        expect(outputs.nth(1)).to_be_hidden()
    else:
        expect(outputs.nth(1)).to_have_text("(interactive: run the cell to use it)")
    page.screenshot(path=folder / f"reopened-{'trusted' if trusted else 'untrusted'}.png")
