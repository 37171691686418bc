"""A table in JupyterLab whose questions are refused: what is shown stays whole, and pages on."""

from __future__ import annotations

from playwright.sync_api import expect

KEY = "default/nocrew/t/ada/csv-0"
LIMIT = "import kmnb.ops.rows\nkmnb.ops.rows.SORT_MAX_BYTES = {}"


def test_a_refused_order_is_forgotten_and_duckdb_is_offered(page, run_cells, folder):
    run_cells(LIMIT.format(1000), f"ws.get({KEY!r}).preview_widget()")
    shown = page.get_by_role("region", name=f"Preview of {KEY}")
    grid, status = shown.get_by_role("grid"), shown.get_by_role("status")
    expect(status).to_have_text("rows 1–20 of 5,000")
    grid.locator("td").first.focus()
    page.keyboard.press("PageDown")
    expect(status).to_have_text("rows 21–40 of 5,000")
    shown.get_by_role("button", name="Show as code").click()
    shown.get_by_role("button", name="Sort by half").click()
    expect(status).to_contain_text("sort: it would read")
    expect(shown.get_by_role("region", name="Code")).to_contain_text('order by "half" asc nulls last')
    expect(grid.locator("th[aria-sort=ascending]")).to_have_count(0)
    shown.screenshot(path=folder / "refused.png")
    grid.locator("td").first.focus()
    page.keyboard.press("PageDown")
    expect(status).to_have_text("rows 41–60 of 5,000")
    expect(grid.locator("td").first).to_have_text("40")
    expect(shown.get_by_role("region", name="Code")).to_contain_text("art.select(['*'], limit=60, max_bytes=67108864)")


def test_a_refused_filter_is_forgotten(page, run_cells):
    known = "import kmnb.frontends._widget_filters as filters\nfilters.COMPARISONS = ('=',)"
    run_cells(known, f"ws.get({KEY!r}).preview_widget()")
    shown = page.get_by_role("region", name=f"Preview of {KEY}")
    status = shown.get_by_role("status")
    expect(status).to_have_text("rows 1–20 of 5,000")
    for comparison in ("=", "<"):
        shown.get_by_role("combobox", name="Column").select_option("name")
        shown.get_by_role("combobox", name="Comparison").select_option(comparison)
        shown.get_by_role("textbox", name="Value").fill("name-3")
        shown.get_by_role("button", name="Add filter").click()
        expect(status).to_contain_text("more may follow" if comparison == "=" else "a filter has a column")
    expect(shown.get_by_role("button", name="Remove filter")).to_have_count(1)
    shown.get_by_role("grid").locator("td").first.focus()
    page.keyboard.press("PageDown")
    expect(shown.get_by_role("grid").locator("td").first).to_have_text(str(3 + 7 * 20))


def test_the_table_is_one_stop_of_tab_and_arrows_reach_its_heads(page, run_cells):
    run_cells(f"ws.get({KEY!r}).preview_widget()")
    shown = page.get_by_role("region", name=f"Preview of {KEY}")
    grid, status = shown.get_by_role("grid"), shown.get_by_role("status")
    expect(status).to_have_text("rows 1–20 of 5,000")
    stops = grid.locator("[tabindex='0'], button:not([tabindex])")
    expect(stops).to_have_count(1)
    grid.locator("td").first.focus()
    for key in ("ArrowUp", "ArrowUp", "ArrowRight"):
        page.keyboard.press(key)
    expect(shown.get_by_role("button", name="Sort by name")).to_be_focused()
    expect(stops).to_have_count(1)
    for sorted, first in (("ascending", "0"), ("descending", "6")):
        page.keyboard.press("Enter")
        expect(grid.locator(f"th[aria-sort={sorted}]")).to_have_count(1)
        expect(grid.locator("td").first).to_have_text(first)
        expect(shown.get_by_role("button", name="Sort by name")).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(grid.locator("td:focus")).to_have_text("name-6")
    page.keyboard.press("s")
    expect(grid.locator("th[aria-sort=descending]")).to_have_count(0)
    expect(grid.locator("td:focus")).to_have_text("name-0")
    shown.get_by_role("combobox", name="Column").select_option("name")
    shown.get_by_role("textbox", name="Value").fill("nobody")
    shown.get_by_role("button", name="Add filter").click()
    expect(status).to_have_text("no rows")
    expect(stops).to_have_count(1)
