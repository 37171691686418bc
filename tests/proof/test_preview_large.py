"""A gigabyte in JupyterLab: shown at once, paged to its last row, searched; an order that is too much is refused."""

# Fixtures of another folder are imported by name.
# ruff: noqa: F401, F811

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

import kmnb
from tests.browser.conftest import folder, lab, page, run_cells, session, store_url

SIZE = 1 << 30
ROW = "%09d,pod-%09d,%d," + "x" * 70 + "\n"
HEAD = "id,name,n,pad\n"
AT_ONCE = 20_000


@pytest.fixture(scope="session")
def large(store_url: str, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, int]:
    """A table of a gigabyte in the store; its key and the number of its rows."""
    path: Path = tmp_path_factory.mktemp("large") / "rows.csv"
    count = (SIZE - len(HEAD)) // len(ROW % (0, 0, 0))
    with path.open("w") as file:
        file.write(HEAD)
        for start in range(0, count, AT_ONCE):
            file.write("".join(ROW % (n, n, n % 10) for n in range(start, min(start + AT_ONCE, count))))
    with kmnb.connect(store_url, thread="t", agent="ada") as workspace:
        key = workspace.put(path, tool="large", media_type="text/csv").key
    path.unlink()
    return key, count


def test_a_gigabyte_is_paged_sorted_and_searched(
    page: Page,
    run_cells: Any,
    large: tuple[str, int],
    folder: Path,
) -> None:
    key, count = large
    run_cells(f"ws.get({key!r}).preview_widget()")
    shown = page.get_by_role("region", name=f"Preview of {key}")
    grid, status = shown.get_by_role("grid"), shown.get_by_role("status")
    expect(status).to_have_text(f"rows 1–20 of {count:,}")
    grid.locator("td").first.focus()
    page.keyboard.press("Control+End")
    expect(status).to_have_text(f"rows {count - 19:,}–{count:,} of {count:,}")
    expect(grid.locator("tbody tr").last).to_contain_text(f"pod-{count - 1:09d}")
    shown.get_by_role("button", name="Sort by n", exact=True).click()
    expect(status).to_contain_text("sort: it would read")
    grid.locator("td").first.focus()
    page.keyboard.press("PageUp")
    expect(status).to_have_text(f"rows {count - 39:,}–{count - 20:,} of {count:,}")
    page.keyboard.press("/")
    page.keyboard.type(f"pod-{count * 3 // 4:09d}")
    page.keyboard.press("Enter")
    expect(status).to_have_text("1 matching lines", timeout=60_000)
    shown.get_by_role("list", name="Matches").get_by_role("button").click()
    expect(shown.get_by_role("region", name="Lines")).to_contain_text(f"pod-{count * 3 // 4:09d}")
    shown.screenshot(path=folder / "large.png")
    assert shown.evaluate("node => node.querySelectorAll('*').length") <= 900
