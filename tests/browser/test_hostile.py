"""Hostile content through every renderer of JupyterLab: nothing runs, nothing is marked up, nothing is hidden."""

from __future__ import annotations

import json
from typing import Any

import pytest
from playwright.sync_api import Page, expect

import kmnb

PAYLOADS = (
    "<script>window.ran = 1</script>",
    "<img src=x onerror='window.ran = 1'>",
    "</pre></td></table><svg onload='window.ran = 1'>",
    '" autofocus onfocus="window.ran = 1',
    "<a href='javascript:window.ran = 1'>x</a>",
    "<iframe srcdoc='<script>parent.ran = 1</script>'></iframe>",
    "<style>body { display: none }</style>",
    "{{constructor.constructor('window.ran = 1')()}}",
    "$\\href{javascript:window.ran=1}{x}$",
    "\x1b]8;;javascript:window.ran=1\x1b\\link\x1b]8;;\x1b\\",
    "\x1b[31mred\x1b[0m \x9b2J",
    "\u202egnp.exe\u2066",
)
NAMES = "tool", "thread", "agent"


@pytest.fixture(scope="module")
def keys(store_url: str, lab: Any) -> dict[str, str]:
    """Artifacts whose content, columns, members, tools and threads are hostile."""
    lines = "\n".join(PAYLOADS)
    quoted = ",".join('"' + one.replace('"', '""') + '"' for one in PAYLOADS)
    with kmnb.connect(store_url, crew="hostile", agent=PAYLOADS[1], thread=PAYLOADS[0]) as workspace:
        made = {
            "text": workspace.put(lines * 3, tool=PAYLOADS[2], media_type="text/plain"),
            "csv": workspace.put(f"{quoted}\n{quoted}\n" * 4, tool="csv", media_type="text/csv"),
            "json": workspace.put({one: [one, {one: one}] for one in PAYLOADS}, tool="json"),
            "type": workspace.put(
                b"\x00\x01" * 3000, tool="bin", media_type="application/<script>window.ran=1</script>"
            ),
        }
        return {name: artifact.key for name, artifact in made.items()}


def check(page: Page) -> None:
    """Nothing ran, the page is there, and no element was made of content."""
    assert page.evaluate("() => window.ran ?? null") is None
    assert page.evaluate("() => getComputedStyle(document.body).display") != "none"
    parts = ", ".join(f".jp-OutputArea {name}" for name in ("script", "iframe", "img"))
    assert page.locator(parts).count() == 0
    assert page.locator(".jp-OutputArea a[href^='javascript:']").count() == 0


def test_nothing_runs_in_any_output(page, run_cells, keys, folder):
    key = json.dumps(keys["csv"])
    code = json.dumps(
        "import sys\n" + "\n".join(f"print({one!r})" for one in PAYLOADS) + "\nprint('end', file=sys.stderr)"
    )
    run_cells(
        "h = kmnb.connect(crew='hostile', thread='x', agent='y')\nws = h",
        *(f"h.get({json.dumps(one)})" for one in keys.values()),
        f"h.get({json.dumps(keys['text'])}).head(40)",
        f"h.get({key}).select(['*'])",
        f"h.get({json.dumps(keys['json'])}).jq('.[]')",
        f"h.get({json.dumps(keys['text'])}).grep('window', fixed=True)",
        "%artifact ls default/hostile",
        f"h.run({code}, artifacts=[], required_level=0)",
        f"h.get({json.dumps(keys['text'])}).chart()",
        f"%artifact head {json.dumps(PAYLOADS[1])}",
        f"%artifact {json.dumps(PAYLOADS[2])}",
        "h.sweep(dry_run=True)",
        "%artifact chart",
        "'done'",
    )
    expect(page.locator(".jp-OutputArea-output", has_text="'done'")).to_be_attached(timeout=60_000)
    check(page)
    page.screenshot(path=folder / "hostile.png")


def test_nothing_runs_in_any_widget(page, run_cells, keys, folder):
    shown = [keys[name] for name in ("csv", "json", "text", "type")]
    run_cells(
        "h = kmnb.connect(crew='hostile', thread='x', agent='y')",
        *(f"h.get({json.dumps(key)}).preview_widget()" for key in shown),
        "h.browser()",
        "h.gc_panel()",
    )
    for key in shown:
        preview = page.get_by_role("region", name=f"Preview of {key}", exact=True)
        for tab in preview.get_by_role("tab").all():
            tab.click()
            expect(preview.get_by_role("status")).not_to_have_text("loading …")
        for name in ("Show as code", "Keys"):
            preview.get_by_role("button", name=name).click()
    csv = page.get_by_role("region", name=f"Preview of {keys['csv']}", exact=True)
    csv.get_by_role("tab", name="Table").click()
    csv.get_by_role("textbox", name="Value").fill(PAYLOADS[1])
    csv.get_by_role("button", name="Add filter").click()
    csv.get_by_role("searchbox", name="Find lines").fill(PAYLOADS[1])
    csv.get_by_role("searchbox", name="Find lines").press("Enter")
    expect(csv.get_by_role("list", name="Matches")).to_be_visible()
    store = page.get_by_role("region", name="Store of default/hostile")
    store.get_by_role("button", name="Open").first.press("Enter")
    expect(store.get_by_role("table", name="Artifacts")).to_be_visible()
    page.get_by_role("button", name="Dry run").press("Enter")
    expect(page.get_by_role("table", name="Reasons")).to_be_attached()
    check(page)
    for widget in (csv, store):
        assert "\u202e" not in widget.inner_text()
        assert "\x1b" not in widget.inner_text()
    csv.screenshot(path=folder / "hostile-widget.png")
