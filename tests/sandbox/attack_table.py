"""Write what became of every attack probe in every place as a page of the documentation."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from datetime import date

from .places import ATTACKS, ROOT

PAGE = ROOT / "docs" / "explain" / "attacks.md"
HEAD = """# Attack probes, everywhere

{count} programs that try to get out, to reach others, to outlive their run or to take more than they may, run by
`PROOF_RECORD=1 make proof` on {today}, Linux {kernel}, Python {python}.

| place | what it is |
|---|---|
| root, user | this machine, with namespaces (`ns`) and without (`flat`) |
| docker | root under Docker's default capabilities and the refusals of its default seccomp profile |
| restricted | user 1000 there, without capabilities and with no_new_privs, as Binder and restricted pods are |
| landlock N | `restricted`, with an older version of Landlock pretended |

`✓` held. A name is a guarantee that the place does not claim: the probe is left out, and every Outcome and
`kmnb.sandbox.doctor()` list it as missing. `✗` failed.

{sums}

"""
KNOWN = """
FS-19 asks whether not even the existence of a path can be told (`fs_hidden`), which only a private root gives; level 2
does not claim it. FS-13 moves files between folders of its own, which Landlock 1 refuses altogether: a limit for
programs, not a way out.
"""

Results = Mapping[str, Mapping[str, list[object]]]


def probes() -> dict[str, str]:
    """Give the title of every probe."""
    return {one["id"]: one["title"] for one in json.loads((ATTACKS / "index.json").read_text())["cases"]}


def page(results: Results) -> str:
    """Lay out the results by place."""
    titles = probes()
    places = list(results)
    sums = ["| place | held | left out | failed |", "|---|---|---|---|"]
    for place in places:
        states = [one[0] for one in results[place].values()]
        sums.append(
            f"| {name_of(place)} | {states.count('ok')} | {states.count('SKIPPED')} | {states.count('FAILED')} |"
        )
    rows = [f"| probe | {' | '.join(map(name_of, places))} |", "|---" * (len(places) + 1) + "|"]
    for probe, title in sorted(titles.items()):
        cells = [_cell(results[place].get(probe)) for place in places]
        rows.append(f"| {probe} {title} | {' | '.join(cells)} |")
    facts = {"today": date.today(), "kernel": platform.release().split("-")[0], "python": platform.python_version()}
    return HEAD.format(count=len(titles), sums="\n".join(sums), **facts) + "\n".join(rows) + "\n" + KNOWN


def name_of(place: str) -> str:
    """Give a place as the page calls it."""
    name, engine, *landlock = place.split("-")
    if landlock:
        return landlock[0].replace("landlock", "landlock ")
    return name if engine == "any" else f"{name} {engine}"


def _cell(result: list[object] | None) -> str:
    if result is None:
        return "–"
    state, detail = result[0], result[1] if len(result) > 1 else ""
    if state == "SKIPPED":
        return str(detail).removeprefix("not claimed: ")
    return "✓" if state == "ok" else "✗"
