"""The demo plays, leaves nothing, and fails by itself when a bound or a count is wrong."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.children import Answer, python
from tests.source import ROOT

SECONDS = 60
"""Longest that the demo may take."""
END_SECONDS = 10
"""Longest that it may take to end when it is asked to, on a machine under load."""

ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
SMALL = {"ACCESS_LINES = 720_000": "ACCESS_LINES = 20_000", "100_000_000": "1_000_000"}
"""What makes the large sample small, where its size is not the point."""
CLOSING = "    ws.close_thread("
ELSEWHERE = """
def elsewhere(key: str) -> int:
    with kmnb.open_store(os.environ["KMNB_URL"]) as store:
        return len(b"".join(store.stream(key)))


def large_sips(art: Any)"""
"""A whole read over a connection that is closed again before anybody counts."""
WITH_PASSWORD = """
def with_password(url: str) -> str:
    return url if "@" in url else url.replace("//", "//user:hunter2@")


"""
"""A server that asks for no password is content with any."""


def lay_out(folder: Path, changes: dict[str, str]) -> None:
    """Put a copy of the demo in a folder, some passages of which read differently."""
    shutil.copytree(ROOT / "notebooks" / "data", folder / "data")
    for name in ("house.py", "meter.py"):
        shutil.copy(ROOT / "notebooks" / name, folder)
    text = (ROOT / "notebooks" / "demo.py").read_text("utf-8")
    for was, now in changes.items():
        assert text.count(was) == 1, was
        text = text.replace(was, now)
    (folder / "demo.py").write_text(text, "utf-8")
    (folder / "temporary").mkdir()


def play(folder: Path, changes: dict[str, str], **environment: str) -> Answer:
    """Play a changed copy of the demo."""
    lay_out(folder, changes)
    return python("demo.py", cwd=folder, seconds=2 * SECONDS, TMPDIR=str(folder / "temporary"), **environment)


def left_of(folder: Path) -> list[str]:
    """Files of the demo that remain, and processes that work in its folder."""
    found = [path.name for path in (folder / "temporary").iterdir()]
    mark = f"TMPDIR={folder / 'temporary'}".encode()
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            texts = (entry / "environ").read_bytes() + (entry / "cmdline").read_bytes()
        except OSError:
            continue
        if mark in texts or bytes(folder / "temporary") in texts:
            found.append(f"process {entry.name}: {texts[-300:]!r}")
    return found


def test_the_demo_plays_in_time_and_leaves_no_file(tmp_path: Path) -> None:
    began = time.monotonic()
    answer = play(tmp_path, {})
    assert answer.clean, answer
    assert time.monotonic() - began < SECONDS
    assert left_of(tmp_path) == []
    assert "no key, no process, no file" in answer.out


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"MOVED_MAX_BYTES = 1024 * 1024": "MOVED_MAX_BYTES = 100"}, "bytes, more than 100"),
        (
            {"def large_sips(art: Any)": ELSEWHERE.lstrip(), "lambda: art.head(1)": "lambda: elsewhere(art.key)"},
            "first line moved 2,8",
        ),
        ({'pod["metadata"]["namespace"] for pod in pods), sort': '"all" for pod in pods), sort'}, "the consumer said"),
        ({CLOSING: "    print("}, "keys of the closed thread remain"),
        ({CLOSING: f"    Path(os.environ['TMPDIR'], 'note').touch()\n{CLOSING}"}, "left behind: ['file note']"),
        ({CLOSING: f"    os.spawnlp(os.P_NOWAIT, 'sleep', 'sleep', '99')\n{CLOSING}"}, ": sleep 99"),
    ],
    ids=[
        "a read over the bound",
        "a read over a connection of its own",
        "a wrong count",
        "a key that remains",
        "a file that remains",
        "a process that remains",
    ],
)
def test_the_demo_fails_by_itself(changes: dict[str, str], said: str, tmp_path: Path) -> None:
    answer = play(tmp_path, SMALL | changes)
    assert answer.code == 1, answer
    assert said in answer.err, answer
    assert left_of(tmp_path) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("moment", ["NATS server", "tooler    logs", "consumer  log"])
def test_a_signal_ends_the_demo_at_once_and_leaves_nothing(number: signal.Signals, moment: str, tmp_path: Path) -> None:
    lay_out(tmp_path, SMALL)
    demo = subprocess.Popen(
        [sys.executable, "-W", "error", "demo.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path / "temporary")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert demo.stdout is not None
    assert any(line.startswith(("demo", "tooler", "consumer")) and moment in line for line in demo.stdout)
    os.killpg(demo.pid, number)  # to all of its group, as a terminal does
    _, err = demo.communicate(timeout=END_SECONDS)
    assert (demo.returncode, err) == (128 + number, f"The demo was ended by {number.name}.\n")
    assert left_of(tmp_path) == []


def test_an_ascii_terminal_gets_the_whole_story_and_nobody_the_password(tmp_path: Path) -> None:
    watched = {
        'url = store.server_url or ""': 'url = store.server_url or ""; url = with_password(url)',
        "def stage() -> None:": WITH_PASSWORD + "def stage() -> None:",
        "    *_, last = ws": '    Path("url").write_text(os.environ["KMNB_URL"]); '
        'Path("argv").write_bytes(Path("/proc/self/cmdline").read_bytes())\n    *_, last = ws',
    }
    answer = play(tmp_path, SMALL | watched, **ASCII)
    assert answer.clean, answer
    assert r"\xb7" in answer.out
    assert answer.out.isascii()
    password = urlsplit((tmp_path / "url").read_text()).password
    assert password
    assert password not in answer.out
    assert password.encode() not in (tmp_path / "argv").read_bytes()
