"""The preview widget in JupyterLab, by mouse and by keyboard."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

import kmnb
from tests.browser.lab import notebook, open_browser, open_notebook, run_all, running_lab
from tests.frontends.jupyter import Server

START = "%load_ext kmnb\nimport kmnb\nws = kmnb.connect(thread='t', agent='ada')"
SHOTS = Path(__file__).parent / "shots"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("lab")


@pytest.fixture(scope="module")
def lab(folder: Path) -> Iterator[Server]:
    url = f"file://{folder}/store"
    with kmnb.connect(url, thread="t", agent="ada") as workspace:
        workspace.put("".join(f"line {n}\n" for n in range(5000)), tool="text")
        rows = "".join(f"{n},name-{n % 7},{n * 0.5},{'' if n % 4 else '<b>x</b>'}{',0' * 16}\n" for n in range(5000))
        heads = "".join(f",c{n}" for n in range(16))
        workspace.put(f"id,name,half,maybe{heads}\n{rows}", tool="csv", media_type="text/csv")
        items = [{"n": n, "tags": ["a", {"b": None}]} for n in range(300)]
        workspace.put({"kind": "List", "items": items}, tool="json")
        workspace.put(bytes(range(256)) * 40, tool="binary", media_type="application/octet-stream")
    with running_lab(folder, KMNB_URL=url) as server:
        yield server


@pytest.fixture(scope="module")
def browser(folder: Path, lab: Server) -> Iterator[Page]:
    with open_browser(folder, lab.base) as (page, foreign):
        yield page
        assert foreign == []


def preview(page: Page, lab: Server, folder: Path, *, tool: str) -> Locator:
    """Open a fresh notebook that shows one artifact, run it, and give its preview."""
    key = f"default/nocrew/t/ada/{tool}-0"
    cells = (START, f"ws.get({key!r}).preview_widget()")
    folder.joinpath("probe.ipynb").write_text(json.dumps(notebook(*cells)))
    open_notebook(page, lab, "probe.ipynb")
    run_all(page)
    return page.get_by_role("region", name=f"Preview of {key}")


def status(shown: Locator) -> Locator:
    return shown.get_by_role("status")


def test_lines_are_paged_and_found_by_mouse_and_keyboard(browser, lab, folder):
    shown = preview(browser, lab, folder, tool="text")
    text = shown.get_by_role("region", name="Lines")
    expect(text).to_contain_text("line 19")
    text.focus()
    browser.keyboard.press("PageDown")
    expect(text).to_contain_text("line 39")
    browser.keyboard.press("End")
    expect(text).to_contain_text("line 4999")
    expect(status(shown)).to_have_text("lines 4,981–5,000 of 5,000")
    browser.keyboard.press("/")
    browser.keyboard.type("line 777")
    browser.keyboard.press("Enter")
    shown.get_by_role("button", name="778: line 777").click()
    expect(text).to_contain_text("line 780")
    shown.screenshot(path=folder / "text.png")


def test_a_table_is_sorted_filtered_and_paged(browser, lab, folder):
    shown = preview(browser, lab, folder, tool="csv")
    grid = shown.get_by_role("grid")
    expect(status(shown)).to_have_text("rows 1–20 of 5,000")
    expect(grid).to_contain_text("75% empty")
    expect(grid.get_by_role("img")).not_to_have_count(0)
    shown.screenshot(path=folder / "table.png")
    shown.get_by_role("button", name="Sort by half").click()
    shown.get_by_role("button", name="Sort by half").click()
    expect(grid.locator("td").nth(2)).to_have_text("2499.5")
    expect(grid.locator("th[aria-sort=descending]")).to_contain_text("half")
    shown.get_by_role("combobox", name="Column").select_option("name")
    shown.get_by_role("textbox", name="Value").fill("name-3")
    shown.get_by_role("button", name="Add filter").click()
    expect(status(shown)).to_have_text("rows 1–20 of 714")
    grid.locator("td").first.focus()
    browser.keyboard.press("Control+End")
    expect(status(shown)).to_have_text("rows 695–714 of 714")
    assert (
        browser.evaluate("document.activeElement.ariaColIndex ?? document.activeElement.getAttribute('aria-colindex')")
        == "21"
    )
    shown.get_by_role("button", name="Show as code").click()
    expect(shown.get_by_role("region", name="Code")).to_contain_text("where=\"`name` = 'name-3'\"")
    shown.screenshot(path=folder / "sorted.png")
    assert shown.evaluate("node => node.querySelectorAll('*').length") <= 900


def test_a_document_is_opened_by_keyboard(browser, lab, folder):
    shown = preview(browser, lab, folder, tool="json")
    shown.get_by_role("tab", name="Tree").click()
    tree = shown.get_by_role("tree")
    expect(tree).to_contain_text("items: array of 300")
    tree.get_by_role("treeitem").first.focus()
    for key in ("ArrowDown", "ArrowRight"):
        browser.keyboard.press(key)
    expect(tree).to_contain_text("0: object of 2")
    for key in ("ArrowDown", "ArrowRight"):
        browser.keyboard.press(key)
    expect(tree).to_contain_text("tags: array of 2")
    shown.screenshot(path=folder / "tree.png")
    browser.keyboard.press("End")
    expect(tree).to_contain_text("… 200 more")
    browser.keyboard.press("Enter")
    expect(tree).to_contain_text("100: object of 2")
    browser.keyboard.press("End")
    expect(tree).to_contain_text("… 100 more")


def test_bytes_and_facts(browser, lab, folder):
    shown = preview(browser, lab, folder, tool="binary")
    expect(shown.get_by_role("region", name="Bytes in hexadecimal")).to_contain_text("00 01 02 03")
    expect(status(shown)).to_have_text("bytes 0–320 of 10,240 · application/octet-stream")
    shown.get_by_role("tab", name="Info").click()
    expect(shown).to_contain_text("expires in 47 h")
    shown.screenshot(path=folder / "info.png")
