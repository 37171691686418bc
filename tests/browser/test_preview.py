"""The preview widget in JupyterLab, by mouse and by keyboard."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

import kmnb
from tests.browser.lab import notebook, open_browser, open_notebook, run_all, running_lab
from tests.frontends.jupyter import Server

CELLS = (
    "%load_ext kmnb\nimport kmnb\nws = kmnb.connect(thread='t', agent='ada')",
    "ws.get('default/nocrew/t/ada/text-0').preview_widget()",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("lab")


@pytest.fixture(scope="module")
def lab(folder: Path) -> Iterator[Server]:
    url = f"file://{folder}/store"
    with kmnb.connect(url, thread="t", agent="ada") as workspace:
        workspace.put("".join(f"line {n}\n" for n in range(5000)), tool="text")
    with running_lab(folder, KMNB_URL=url) as server:
        yield server


@pytest.fixture(scope="module")
def browser(folder: Path, lab: Server) -> Iterator[Page]:
    with open_browser(folder, lab.base) as (page, foreign):
        yield page
        assert foreign == []


@pytest.fixture
def page(browser: Page, lab: Server, folder: Path) -> Page:
    folder.joinpath("probe.ipynb").write_text(json.dumps(notebook(*CELLS)))
    open_notebook(browser, lab, "probe.ipynb")
    run_all(browser)
    return browser


def test_a_preview_pages_through_lines_by_mouse_and_keyboard(page, folder):
    preview = page.get_by_role("region", name="Preview of default/nocrew/t/ada/text-0")
    text = preview.get_by_role("region", name="Lines")
    expect(text).to_contain_text("line 19")
    text.focus()
    page.keyboard.press("PageDown")
    expect(text).to_contain_text("line 39")
    page.keyboard.press("End")
    expect(text).to_contain_text("line 4999")
    expect(preview.get_by_role("status")).to_have_text("lines 4,981–5,000 of 5,000")
    page.keyboard.press("/")
    page.keyboard.type("line 777")
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    preview.get_by_role("button", name="778: line 777").click()
    expect(text).to_contain_text("line 780")
    page.screenshot(path=folder / "preview.png")
