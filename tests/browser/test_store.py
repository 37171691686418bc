"""The browser of a store and the panel of garbage collection in JupyterLab."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.lab import use_theme, violations

CELLS = (
    "mine = kmnb.connect(thread='gc', agent='eve', crew='sweeps', config={'sweep_on_connect': False})\n"
    "for n in range(3): mine.put('old\\n' * 500, tool='old')\n"
    "from datetime import UTC, datetime, timedelta\n"
    "object.__setattr__(mine.context, 'clock', lambda: datetime.now(UTC) + timedelta(hours=50))",
    "mine.browser()",
    "mine.gc_panel()",
)


def test_a_store_is_looked_through_and_swept(page, run_cells, folder):
    run_cells(*CELLS)
    store = page.get_by_role("region", name="Store of default/sweeps")
    expect(store.get_by_role("status")).to_have_text("3 artifacts, 5.9 KiB")
    store.get_by_role("button", name="Open gc eve old").press("Enter")
    expect(store.get_by_role("table")).to_contain_text("default/sweeps/gc/eve/old-2")
    expect(store.get_by_role("button", name="Back to all")).to_be_focused()
    # What looks again by itself must not take somebody out of the cell that they write.
    store.get_by_role("button", name="Refresh").press("Enter")
    expect(store.get_by_role("button", name="Back to all")).not_to_be_focused()
    store.screenshot(path=folder / "store.png")
    panel = page.get_by_role("region", name="Garbage collection of default/sweeps")
    panel.get_by_role("button", name="Dry run").press("Enter")
    expect(panel.get_by_role("table", name="Artifacts")).to_contain_text("goes")
    for theme in ("JupyterLab Dark", "JupyterLab Light"):
        use_theme(page, theme)
        assert violations(page, store) == []
        assert violations(page, panel) == []
    panel.screenshot(path=folder / "collect.png")
    panel.get_by_role("button", name="Delete 3 artifacts").press("Enter")
    panel.get_by_role("button", name="Really delete 3").press("Enter")
    expect(panel.get_by_role("status")).to_contain_text("deleted 3 objects")
    store.get_by_role("button", name="Back to all").click()
    expect(store.get_by_role("status")).to_have_text("0 artifacts, 0 bytes")
