"""The preview widget in JupyterLab, by mouse and by keyboard."""

from __future__ import annotations

from playwright.sync_api import Locator, expect


def status(shown: Locator) -> Locator:
    return shown.get_by_role("status")


def test_lines_are_paged_and_found_by_mouse_and_keyboard(page, gallery, folder):
    shown = gallery("text")
    text = shown.get_by_role("region", name="Lines")
    expect(text).to_contain_text("line 19")
    text.focus()
    page.keyboard.press("PageDown")
    expect(text).to_contain_text("line 39")
    page.keyboard.press("End")
    expect(text).to_contain_text("line 4999")
    expect(status(shown)).to_have_text("lines 4,981–5,000 of 5,000")
    page.keyboard.press("/")
    page.keyboard.type("line 777")
    page.keyboard.press("Enter")
    shown.get_by_role("button", name="778: line 777").click()
    expect(text).to_contain_text("line 780")
    shown.screenshot(path=folder / "text.png")


def test_a_table_is_sorted_filtered_and_paged(page, gallery, folder):
    shown = gallery("csv")
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
    page.keyboard.press("s")
    expect(grid.locator("th[aria-sort=ascending]")).to_contain_text("id")
    page.keyboard.press("Control+End")
    expect(status(shown)).to_have_text("rows 695–714 of 714")
    assert (
        page.evaluate("document.activeElement.ariaColIndex ?? document.activeElement.getAttribute('aria-colindex')")
        == "21"
    )
    shown.get_by_role("button", name="Show as code").click()
    expect(shown.get_by_role("region", name="Code")).to_contain_text("where=\"`name` = 'name-3'\"")
    shown.screenshot(path=folder / "sorted.png")
    assert shown.evaluate("node => node.querySelectorAll('*').length") <= 900


def test_a_document_is_opened_by_keyboard(page, gallery, folder):
    shown = gallery("json")
    shown.get_by_role("tab", name="Tree").click()
    tree = shown.get_by_role("tree")
    expect(tree).to_contain_text("items: array of 300")
    tree.get_by_role("treeitem").first.focus()
    for key in ("ArrowDown", "ArrowRight"):
        page.keyboard.press(key)
    expect(tree).to_contain_text("0: object of 2")
    for key in ("ArrowDown", "ArrowRight"):
        page.keyboard.press(key)
    expect(tree).to_contain_text("tags: array of 2")
    shown.screenshot(path=folder / "tree.png")
    page.keyboard.press("End")
    expect(tree).to_contain_text("… 200 more")
    page.keyboard.press("Enter")
    expect(tree).to_contain_text("100: object of 2")
    page.keyboard.press("End")
    expect(tree).to_contain_text("… 100 more")


def test_bytes_and_facts(page, gallery, folder):
    shown = gallery("binary")
    expect(shown.get_by_role("region", name="Bytes in hexadecimal")).to_contain_text("00 01 02 03")
    expect(status(shown)).to_have_text("bytes 0–320 of 10,240 · application/octet-stream")
    shown.get_by_role("tab", name="Text").click()
    text = shown.get_by_role("region", name="Lines")
    expect(text).to_contain_text("abcdef")
    # Long lines move sideways: twenty of them stay twenty.
    assert text.evaluate("node => node.scrollWidth > node.clientWidth && node.clientHeight < 400")
    shown.screenshot(path=folder / "binary-text.png")
    shown.get_by_role("tab", name="Info").click()
    expect(shown).to_contain_text("expires in 47 h")
    shown.screenshot(path=folder / "info.png")
