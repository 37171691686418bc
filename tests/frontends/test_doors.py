"""One store, every door: Python, magic, command line and REST say the same, reason by reason and byte by byte."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import kmnb
from kmnb._bridge import run
from kmnb.core.jsonable import json_text
from kmnb.core.registry import Entry, record_key
from kmnb.frontends._output import data_of
from tests.children import python
from tests.frontends.jupyter import Server, running_server

PLACE = {"KMNB_NAMESPACE": "ns", "KMNB_CREW": "pilot", "KMNB_THREAD": "t", "KMNB_AGENT": "a", "KMNB_USER": "me"}
SETTINGS = {"KMNB_GRACE_SECONDS": "0", "KMNB_SWEEP_ON_CONNECT": "false"}
DOORS = ("python", "magic", "command line", "rest")
TIME = re.compile("until [0-9T:+-]+")
Ask = Callable[..., Any]


def fill(url: str) -> None:
    """Make threads of every state, with objects of different sizes."""
    with kmnb.connect(url) as ws:
        area, records = ws.context.backend.discussions, ws.context.backend.records
        for number in range(3):
            ws.put("a" * (number + 1), tool="x", thread="active")
        kept = ws.put("held", tool="x", thread="done")
        kept.hold("audit", seconds=3600)
        ws.close_thread("done")
        run(area.put("ns/pilot/done/a/late-0", b"late object"))
        run(area.put("ns/pilot/foreign/a/agree-u", b"foreign"))
        run(area.put("ns/pilot/loose", b"?"))
        run(area.put("ns/other/t/a/x-0", b"another crew"))
        past = datetime.now(UTC) - timedelta(hours=3)
        for thread, entry in (("lapsed", Entry(past, past).to_bytes()), ("damaged", b"{")):
            run(records.put(record_key("ns", "pilot", thread), entry, expected=None))
            run(area.put(f"ns/pilot/{thread}/a/x-0", thread.encode()))
        ws.save("report.csv", "a,b\n")


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The same store as often as there are doors."""
    top = tmp_path_factory.mktemp("doors")
    before = dict(os.environ)
    os.environ.update(PLACE | SETTINGS)
    try:
        fill(f"file://{top}/first")
        for door in DOORS:
            shutil.copytree(top / "first", top / door.replace(" ", "-"))
        yield {door: f"file://{top}/{door.replace(' ', '-')}" for door in DOORS}
    finally:
        os.environ.clear()
        os.environ.update(before)


@pytest.fixture(scope="module")
def server(stores: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    environment = {**PLACE, **SETTINGS, "KMNB_URL": stores["rest"]}
    with running_server(tmp_path_factory.mktemp("server"), "--KmnbServer.sweep_minutes=0", **environment) as running:
        yield running


@pytest.fixture
def doors(
    stores: dict[str, str], server: Server, shell: Any, monkeypatch: pytest.MonkeyPatch
) -> Iterator[dict[str, Ask]]:
    """A function for each door: name of the operation and its arguments in, JSON values out."""
    for name, value in (PLACE | SETTINGS).items():
        monkeypatch.setenv(name, value)
    ws = kmnb.connect(stores["python"])
    shell.user_ns["ws"] = kmnb.connect(stores["magic"])

    def by_python(name: str, **given: Any) -> Any:
        dry = {"dry_run": given.get("dry_run", False)}
        calls: dict[str, Callable[[], Any]] = {
            "gc": lambda: ws.sweep(foreign=given.get("foreign", False), **dry),
            "close": lambda: ws.close_thread(given["thread"], **dry),
            "threads": ws.threads,
            "holds": ws.holds,
            "hold": lambda: ws.get(given["ref"]).hold(given["reason"], seconds=given["seconds"]),
            "release": lambda: ws.get(given["ref"]).release(),
            "keep": lambda: ws.get(given["ref"]).keep(given["filename"]),
        }
        return json.loads(json_text(data_of(calls[name]())))

    def words(given: dict[str, Any]) -> list[str]:
        options = [(f"--{key.replace('_', '-')}", value) for key, value in given.items()]
        return [word for key, value in options for word in ([key] if value is True else [key, str(value)])]

    def by_magic(name: str, **given: Any) -> Any:
        line = " ".join([name, *(f"'{word}'" for word in words(given))])
        return json.loads(json_text(data_of(shell.run_line_magic("artifact", line))))

    def by_command_line(name: str, **given: Any) -> Any:
        answer = python("-m", "kmnb", "--json", name, *words(given), KMNB_URL=stores["command line"])
        assert answer.code == 0, answer
        return json.loads(answer.out)

    def by_rest(name: str, **given: Any) -> Any:
        reply = server.ask(f"kmnb/operations/{name}", method="POST", body=given)
        assert reply.status == 200, reply.body
        return reply.json

    yield dict(zip(DOORS, (by_python, by_magic, by_command_line, by_rest), strict=True))
    ws.close()


def told(report: Any) -> Any:
    """What of a report has to be the same: everything but times, and folders that others left on this machine."""
    rows = [row for row in report["objects"] if not row["key"].startswith("folder:")]
    objects = [row | {"detail": TIME.sub("until", row.get("detail", ""))} for row in rows]
    reasons = {name: facts for name, facts in report["byReason"].items() if name != "leftover"}
    same = {name: report[name] for name in ("action", "scope", "dryRun", "kept", "failures", "notes")}
    return {**same, "objects": objects, "byReason": reasons}


STORY: tuple[tuple[str, dict[str, Any]], ...] = (
    ("gc", {"dry_run": True}),
    ("gc", {"dry_run": True, "foreign": True}),
    ("close", {"thread": "active", "dry_run": True}),
    ("hold", {"ref": "ns/pilot/active/a/x-1", "reason": "needed", "seconds": 1800}),
    ("close", {"thread": "active"}),
    ("holds", {}),
    ("release", {"ref": "ns/pilot/active/a/x-1"}),
    ("keep", {"ref": "ns/pilot/done/a/x-0", "filename": "kept.txt"}),
    ("gc", {}),
    ("gc", {"foreign": True}),
    ("gc", {}),
    ("threads", {}),
)


def test_all_doors_tell_the_same_story(doors: dict[str, Ask]) -> None:
    by_door: dict[str, list[Any]] = {}
    for door, ask in doors.items():
        chapters = []
        for name, given in STORY:
            answer = ask(name, **given)
            if name in ("gc", "close"):
                chapters.append((name, told(answer)))
            elif name == "threads":
                chapters.append((name, [(row["thread"], row["state"]) for row in answer]))
            elif name == "holds":
                chapters.append((name, [(row["key"], row["reason"]) for row in answer]))
        by_door[door] = chapters
    for number, chapter in enumerate(by_door["python"]):
        for door in DOORS[1:]:
            assert by_door[door][number] == chapter, (door, number)
    reports = [chapter[1] for chapter in by_door["python"] if chapter[0] == "gc"]
    first, forced = (
        {name: (row["objects"], row["bytes"]) for name, row in one["byReason"].items()} for one in reports[:2]
    )
    assert first == {
        "held": (1, 4), "no-authority": (1, 7), "other-crew": (1, 1), "registry-unreadable": (1, 7),
        "thread-active": (3, 6), "thread-closed": (1, 11), "thread-lapsed": (1, 6),
    }  # fmt: skip
    assert forced == {**{name: row for name, row in first.items() if name != "no-authority"}, "foreign-dead": (1, 7)}
    assert set(reports[-1]["byReason"]) == {"held", "other-crew", "registry-unreadable"}


KEYS = ("ns/pilot/done/a/x-0", "ns/pilot/damaged/a/x-0", "artifact://discussions/ns/other/t/a/x-0")


@pytest.mark.parametrize("name", ["gc", "close"])
@pytest.mark.parametrize("key", KEYS)
def test_one_artifact_is_explained_alike_at_every_door(doors: dict[str, Ask], name: str, key: str) -> None:
    given = {"explain": key} | ({"thread": "done"} if name == "close" else {})
    answers = [doors[door](name, **given) for door in DOORS[1:]]
    assert answers == [answers[0]] * 3
    assert answers[0]["fate"] == "stays"
    report = kmnb_report(doors, name)
    rows = {row["key"]: row for row in report["objects"]}
    if answers[0]["key"] in rows:
        row = rows[answers[0]["key"]]
        assert (answers[0]["reason"], answers[0]["bytes"]) == (row["reason"], row["bytes"])
    else:
        assert answers[0]["reason"] == "other-crew"


def kmnb_report(doors: dict[str, Ask], name: str) -> Any:
    given = {"thread": "done"} if name == "close" else {}
    return doors["python"](name, dry_run=True, **given)


def test_named_artifacts_are_explained_as_never_swept(doors: dict[str, Ask], stores: dict[str, str]) -> None:
    with kmnb.connect(stores["magic"]) as ws:
        uri = ws.load("report.csv").uri
    told = doors["magic"]("gc", explain=uri)
    assert (told["fate"], told["reason"], "policy only" in told["meaning"]) == ("stays", "within-policy", True)


def test_the_command_for_cron_jobs_says_it_too(doors: dict[str, Ask], stores: dict[str, str]) -> None:
    answer = python("-m", "kmnb", "sweep", "--url", stores["python"], "--json", "--dry-run")
    assert answer.clean, answer
    assert told(json.loads(answer.out)) == told(doors["python"]("gc", dry_run=True))
    explained = python("-m", "kmnb", "sweep", "--url", stores["python"], "--explain", KEYS[0])
    assert explained.out == python("-m", "kmnb", "--url", stores["python"], "gc", "--explain", KEYS[0]).out
    answer = python("-m", "kmnb", "sweep", "--url", stores["python"], "--json", "--explain", KEYS[0])
    assert json.loads(answer.out) == doors["magic"]("gc", explain=KEYS[0])
    assert explained.out.split("\t")[:3] == [KEYS[0], "stays", "held"]


def test_a_report_shows_as_text_html_and_json_with_the_same_numbers(doors: dict[str, Ask], stores: Any) -> None:
    with kmnb.connect(stores["python"]) as ws:
        report = ws.sweep(dry_run=True)
    shown, value = report._repr_mimebundle_(), report.to_json()
    for name, facts in value["byReason"].items():
        assert f"{name}\t{facts['objects']}\t{facts['bytes']}\n" in report.text
        assert name in shown["text/plain"]
        assert name in shown["text/html"]


def test_rest_offers_nothing_that_reaches_the_servers_files(server: Server) -> None:
    for name in ("put", "get", "run", "materialise", "nosuch"):
        reply = server.ask(f"kmnb/operations/{name}", method="POST", body={"source": "/etc/passwd"})
        assert (reply.status, reply.json["code"]) == (400, "unknown-plugin")
    assert server.ask("kmnb/operations/gc", method="POST", body={"dry_run": "perhaps"}).status == 400
    assert server.ask("kmnb/operations/close", method="POST", body={}).status == 400
    assert server.ask("kmnb/operations/gc", method="POST", body={"dryrun": True}).status == 400
