"""One JupyterLab and one browser for all tests of this folder."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page

import kmnb
from tests.browser.lab import notebook, open_browser, open_notebook, run_all, running_lab
from tests.frontends.jupyter import Server

START = "%load_ext kmnb\nimport kmnb\nws = kmnb.connect(thread='t', agent='ada')"


def fill(url: str) -> None:
    """Store one artifact of each kind."""
    with kmnb.connect(url, thread="t", agent="ada") as workspace:
        workspace.put("".join(f"line {n}\n" for n in range(5000)), tool="text")
        more = ",0" * 16
        rows = "".join(f"{n},name-{n % 7},{n * 0.5},{'' if n % 4 else '<b>x</b>'}{more}\n" for n in range(5000))
        heads = "".join(f",c{n}" for n in range(16))
        workspace.put(f"id,name,half,maybe{heads}\n{rows}", tool="csv", media_type="text/csv")
        items = [{"n": n, "tags": ["a", {"b": None}]} for n in range(300)]
        workspace.put({"kind": "List", "items": items}, tool="json")
        workspace.put(bytes(range(256)) * 40, tool="binary", media_type="application/octet-stream")
        workspace.put(b"", tool="empty", media_type="text/plain")


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("lab")


@pytest.fixture(scope="session")
def store_url(folder: Path) -> str:
    return f"file://{folder}/store"


@pytest.fixture(scope="session")
def lab(folder: Path, store_url: str) -> Iterator[Server]:
    if shutil.which("chromium") is None:
        pytest.skip("there is no chromium; apt-get install chromium brings it")
    fill(store_url)
    with running_lab(folder, KMNB_URL=store_url) as server:
        yield server


@pytest.fixture(scope="session")
def session(folder: Path, lab: Server) -> Iterator[tuple[Page, list[str]]]:
    with open_browser(folder, lab.base) as found:
        yield found


@pytest.fixture
def page(session: tuple[Page, list[str]]) -> Iterator[Page]:
    """The page; what it asked of other hosts, and its errors, fail the test."""
    page, foreign = session
    foreign.clear()
    yield page
    assert foreign == []


@pytest.fixture(scope="session")
def run_cells(session: tuple[Page, list[str]], lab: Server, folder: Path) -> Callable[..., None]:
    """Open a fresh notebook with a kernel of its own, and run its cells."""

    def run_cells(*cells: str) -> None:
        for running in lab.ask("api/sessions").json:
            lab.ask(f"api/sessions/{running['id']}", method="DELETE")
        folder.joinpath("probe.ipynb").write_text(json.dumps(notebook(START, *cells)))
        open_notebook(session[0], lab, "probe.ipynb")
        run_all(session[0])

    return run_cells


@pytest.fixture(scope="session")
def gallery(session: tuple[Page, list[str]], run_cells: Callable[..., None]) -> Callable[[str], Locator]:
    """One notebook with a preview of every artifact; give the preview of a tool."""
    tools = ("csv", "json", "text", "binary", "empty", "gone")
    gone = "gone = ws.put('x\\n' * 100, tool='gone')\nws.delete(gone)\ngone.preview_widget()"
    run_cells(
        *(gone if tool == "gone" else f"ws.get('default/nocrew/t/ada/{tool}-0').preview_widget()" for tool in tools)
    )

    def preview(tool: str) -> Locator:
        return session[0].get_by_role("region", name=f"Preview of default/nocrew/t/ada/{tool}-0")

    return preview
