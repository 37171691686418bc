"""A whole discussion on real input, over a NATS server of its own. `make demo` plays it.

Usage::

    demo.py                         starts a server, a tooler and a consumer; then judges what they left
    KMNB_URL=… demo.py tooler       spills the samples and publishes their envelopes
    KMNB_URL=… demo.py consumer     holds the handles, answers questions, counts, closes the thread

Tooler and consumer are processes of their own that share nothing but NATS. The bytes that an answer moved are not what
kmnb says: the consumer knows no way to the server but a relay of the demo, which counts them. The demo fails by itself
when a bounded read moves more than 1 MiB, when a count differs from an independent one, or when anything is left.
"""

from __future__ import annotations

import collections
import json
import math
import os
import random
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import house
import meter

import kmnb
from kmnb import contract

T = TypeVar("T")

DATA = Path(__file__).resolve().parent / "data"
NAMES = {"namespace": "demo", "crew": "operations", "thread": "incident-7"}
PREFIX = "demo/operations/incident-7"
SERVER_FOLDER = "nats"
"""What may lie in the folder of temporary files while the demo plays."""
MOVED_MAX_BYTES = 1024 * 1024
"""Most that head, tail, lines or a range may move, whatever the size of the artifact."""
ACCESS_LINES = 720_000
"""Lines of the large sample: more than 100 MB."""

SAMPLES = (
    ("kube", "get_pods", "pods.json", "application/json"),
    ("prometheus", "query_range", "prometheus.json", "application/json"),
    ("logs", "pod_logs", "coredns.log", "text/plain"),
    ("weather", "history", "weather.csv", "text/csv"),
)

PROGRAM = """
import collections, json, os, pathlib
path = next(pathlib.Path(os.environ["KMNB_ARTIFACTS"]).rglob("get_pods-*"))
pods = json.loads(path.read_bytes())["items"]
print(json.dumps(collections.Counter(pod["metadata"]["namespace"] for pod in pods), sort_keys=True))
"""


def access_log() -> Iterator[bytes]:
    """An access log in blocks of 10,000 lines; the same at every call, and never whole in memory."""
    chance = random.Random(7)  # noqa: S311 - a sample, not a secret
    paths = [f"/api/{name}" for name in ("orders", "orders/items", "users", "stock", "payments", "search?q=teapot")]
    for block in range(0, ACCESS_LINES, 10_000):
        statuses = chance.choices((200, 204, 404, 503), (900, 80, 18, 2), k=10_000)
        places = chance.choices(paths, k=10_000)
        lines = (
            f"{clock(n)} gateway-{n % 7} GET {place} {status} {n * 7919 % 997} ms "
            f"trace={n * 2654435761 % 2**32:08x} session={n * 40503 % 65521:05} "
            "client=probe/1.4 (linux x86_64; checks every path)\n"
            for n, place, status in zip(range(block, block + 10_000), places, statuses, strict=True)
        )
        yield "".join(lines).encode()


def clock(line: int) -> str:
    """Time of a line of the access log: all of them fill one day."""
    second = line * 86_400 // ACCESS_LINES
    return f"2026-11-30T{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}Z"


def tell(who: str, what: str, answer: object = "", cost: str = "") -> None:
    """Print one line of the story."""
    print(f"{who:<9} {what:<34} {str(answer)[:84]:<84} {cost}", flush=True)


def check(holds: bool, thing: str) -> None:
    """End the demo with exit code 1 unless something holds."""
    if not holds:
        sys.exit(f"The demo failed: {thing}")


def ask(question: str, call: Callable[[], T], *, most_bytes: float = math.inf) -> T:
    """Ask one question, tell the answer and what it moved, and hold the bound."""
    gauge = int(os.environ["DEMO_METER"])
    before = meter.reading(gauge)
    answer = call()
    moved = meter.reading(gauge) - before
    shown: object = getattr(answer, "values", answer)
    if isinstance(shown, list):
        shown = "; ".join(str(getattr(value, "text", value)) for value in shown[:3])
    tell("consumer", question, shown, f"{moved:,} B moved")
    check(moved <= most_bytes, f"{question} moved {moved:,} bytes, more than {most_bytes:,}")
    return answer


def tooler() -> None:
    """Spill every sample, and publish what is left to say: an envelope."""
    for agent, tool, file, media_type in SAMPLES:
        produce(agent, tool, (DATA / file).read_bytes(), media_type)
    produce("gateway", "access_log", access_log(), "text/plain")


def produce(agent: str, tool: str, data: bytes | Iterable[bytes], media_type: str) -> None:
    """One tool's result: stored, and its envelope published."""
    ws = kmnb.connect(agent=agent, **NAMES)
    spill = ws.spill(data, tool=tool, media_type=media_type)
    ws.publish(spill)
    art = spill.artifact
    assert art is not None
    published = len(json.dumps(spill.message).encode())
    tell("tooler", f"{agent}/{tool}", art.key, f"{art.size or 0:,} B stored, {published:,} B published")


def consumer() -> None:
    """Read the discussion, answer from previews first, sip next, compute last; then close the thread."""
    with connected() as ws:
        arts = {art.key.split("/")[3]: art for message in ws.discussion(NAMES["thread"]) for art in message.artifacts}
    check(set(arts) == {"kube", "prometheus", "logs", "weather", "gateway"}, f"the bus brought {sorted(arts)}")
    previews(arts)
    ws = connected()
    arts = {agent: ws.get(art.envelope()) for agent, art in arts.items()}
    small_sips(arts)
    errors = large_sips(arts["gateway"])
    counts = compute(ws, arts["kube"])
    ws.publish(ws.spill(json.dumps({"pods": counts, "errors": errors}), tool="findings"))
    ws.close_thread(NAMES["thread"])
    left = list(ws.list(PREFIX))
    tell("consumer", "thread closed", f"{len(left)} keys left")
    check(not left, f"{len(left)} keys of the closed thread remain")


def connected() -> Any:
    """Give the consumer's workspace; without the sweep in the background, which would be counted with the answers."""
    return kmnb.connect(agent="analyst", config={"sweep_on_connect": False}, **NAMES)


def previews(arts: dict[str, Any]) -> None:
    """Questions that the envelopes answer, asked while there is no connection: nothing may be moved."""
    for agent in ("kube", "prometheus", "weather", "gateway"):
        art = arts[agent]
        ask(f"what is {agent}'s result?", lambda: art.preview.splitlines()[0], most_bytes=0)  # noqa: B023
    ask("how many pods are there?", lambda: arts["kube"].rows, most_bytes=0)


def small_sips(arts: dict[str, Any]) -> None:
    """Questions that need some of the content."""
    pods, log, weather = arts["kube"], arts["logs"], arts["weather"]
    ask("log: how does it begin?", lambda: log.head(2), most_bytes=MOVED_MAX_BYTES)
    ask("log: which version?", lambda: log.grep("CoreDNS-"))
    ask("weather: hot days", lambda: weather.select(["date", "temp_max"], where="temp_max > 35"))
    ask("pods: which do not run?", lambda: pods.jq('.items[] | select(.status.phase != "Running") | .metadata.name'))
    ask(
        "pods: of kube-system", lambda: pods.jmespath("items[?metadata.namespace=='kube-system'].metadata.name | [0:3]")
    )
    ask("prometheus: series", lambda: arts["prometheus"].jq(".data.result | length"))


def large_sips(art: Any) -> int:
    """Questions to more than 100 MB: bounded reads move next to nothing; a search moves all and keeps little."""
    check(art.size > 100_000_000, f"the large sample has {art.size:,} bytes only")
    ask("access log: first line", lambda: art.head(1), most_bytes=MOVED_MAX_BYTES)
    ask("access log: last line", lambda: art.tail(1), most_bytes=MOVED_MAX_BYTES)
    ask("access log: line 360,000", lambda: art.lines(360_000, 1), most_bytes=MOVED_MAX_BYTES)
    ask("access log: 40 bytes in the middle", lambda: art.read(art.size // 2, 40), most_bytes=MOVED_MAX_BYTES)
    lines = ask("access log: lines", art.count, most_bytes=MOVED_MAX_BYTES).values[0]
    check(lines == ACCESS_LINES, f"count gave {lines:,} lines")
    found = ask("access log: status 503", lambda: art.grep(r" 503 \d+ ms ", max=1, count_all=True))
    check(found.total is not None and not found.total_is_lower_bound, "grep gave no exact total")
    return int(found.total)


def compute(ws: Any, pods: Any) -> dict[str, int]:
    """A number that a person may rely on: from a program, in a sandbox, with a receipt."""
    with ws.turn([pods]):
        out = ws.run(PROGRAM)
    check(out.exit_code == 0, f"the program ended with {out.exit_code}: {out.stderr}")
    program = out.receipt.program_digest
    tell("consumer", "pods per namespace, computed", out.stdout.strip(), f"exit code 0, program {program[:19]}…")
    counts: dict[str, int] = json.loads(out.stdout)
    said = "; ".join(f"{number} pods in {name}" for name, number in counts.items())
    check(contract.check(said, [out.receipt], strict=True).ok, f"no receipt backs: {said}")
    check(
        not contract.check("26 pods", [out.receipt], strict=True).ok, "a receipt backs a number that it does not hold"
    )
    return counts


def judge() -> None:
    """Compare what the consumer said on the bus with counts of our own, and look for leftovers."""
    ws = kmnb.connect(agent="judge", **NAMES)
    *_, last = ws.discussion(NAMES["thread"])
    said = json.loads(last.text)
    pods = json.loads((DATA / "pods.json").read_bytes())["items"]
    counts = collections.Counter(pod["metadata"]["namespace"] for pod in pods)
    errors = sum(len(re.findall(rb" 503 \d+ ms ", block)) for block in access_log())
    tell("judge", "independent counts", f"{dict(counts)}, {errors:,} errors")
    check(said == {"pods": counts, "errors": errors}, f"the consumer said {said}")
    left = [info.key for info in kmnb.open_store(os.environ["KMNB_URL"]).list(PREFIX)]
    check(not left, f"keys of the closed thread remain: {left}")


def play(role: str, **environment: str) -> None:
    """Have one role played in a process of its own."""
    code = house.run([sys.executable, __file__, role], environment)
    check(code == 0, f"the {role} ended with exit code {code}")


def stage() -> None:
    """Start the server, and let the roles play one after the other."""
    with kmnb.open_store(f"nats+embedded://{os.environ['TMPDIR']}/{SERVER_FOLDER}") as store:
        url = store.server_url or ""
        place = urlsplit(url)
        tell("demo", "NATS server", f"{place.hostname}:{place.port}")  # a user and a password are nobody's business
        play("tooler", KMNB_URL=url)
        with meter.metered(url) as (relay, gauge):
            play("consumer", KMNB_URL=relay, DEMO_METER=str(gauge))
        play("judge", KMNB_URL=url)


def main() -> None:
    """Play it all in a folder of its own, and look for leftovers there."""
    began = time.monotonic()
    with house.open_house() as folder:
        for name in [name for name in os.environ if name.startswith("KMNB_")]:
            del os.environ[name]
        places = ("TMPDIR", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME")
        play("stage", **dict.fromkeys(places, str(folder)))
        left = house.leftovers(folder, besides={SERVER_FOLDER})
        check(not left, f"left behind: {left}")
    tell("demo", "nothing is left", "no key, no process, no file", f"{time.monotonic() - began:.1f} s")


if __name__ == "__main__":
    house.take_any_text()
    if len(sys.argv) > 1:
        house.die_with_parent()
        {"stage": stage, "tooler": tooler, "consumer": consumer, "judge": judge}[sys.argv[1]]()
    else:
        main()
