"""Runs over artifacts: what they read, what they leave, and whether a receipt still holds."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

import kmnb
from kmnb import contract
from kmnb.core.receipt import listed_numbers
from kmnb.errors import BadRequest, SandboxUnavailable

COUNT = """
import os
total = 0
for folder, _, names in os.walk(os.environ["KMNB_ARTIFACTS"]):
    total += sum(len(open(os.path.join(folder, name)).readlines()) for name in names if not name.startswith("."))
print(total)
"""


@pytest.fixture
def ws() -> Iterator[Any]:
    """A workspace over a store of its own."""
    with kmnb.connect("memory://", thread="t1", agent="tester") as workspace:
        yield workspace


def test_a_run_reads_the_artifacts_that_it_names_and_proves_its_number(ws: Any) -> None:
    one = ws.put("a\nb\nc\n", tool="pods")
    outcome = ws.run(COUNT, artifacts=[one])
    assert (outcome.stdout, outcome.ok) == ("3\n", True), outcome.stderr
    (read,) = outcome.receipt.artifacts
    assert (read["key"], read["digest"], read["size"]) == (one.key, one.digest, 6)
    assert contract.check("There are 3 pods.", [outcome.receipt], strict=True).ok
    assert not contract.check("There are 4 pods.", [outcome.receipt], strict=True).ok


def test_numbers_of_slices_are_quoted_from_the_receipts_that_they_carry(ws: Any) -> None:
    pods = ws.put("ns,restarts\n" + "web,17\n" * 23, tool="pods", media_type="text/csv")
    text = "There are 23 pods with 17 restarts each."
    asked = [pods.count(), pods.head(3)]
    for receipts in (asked, [one.receipt for one in asked], [json.dumps(one.receipt) for one in asked]):
        assert [one.status for one in contract.check(text, receipts).numbers] == ["quoted", "quoted"]
        strict = contract.check(text, receipts, strict=True)
        assert [one.status for one in strict.numbers] == ["quoted", "unbacked"]
        assert pods.digest in strict.numbers[0].evidence


def test_without_artifacts_the_open_turn_is_read_and_an_empty_list_is_none(ws: Any) -> None:
    one, two = ws.put("a\n", tool="pods"), ws.put("b\nc\n", tool="pods")
    with ws.turn([one, two]):
        assert ws.run(COUNT).stdout == "3\n"
        assert ws.run("import os; print('KMNB_ARTIFACTS' in os.environ)", artifacts=[]).stdout == "False\n"
    assert ws.run("import os; print('KMNB_ARTIFACTS' in os.environ)").stdout == "False\n"


def test_files_in_the_output_folder_become_artifacts_with_lineage(ws: Any) -> None:
    one, other = ws.put("a\n", tool="pods"), ws.put("b\n", tool="pods")
    outcome = ws.run(
        f"import os; text = open(os.environ['KMNB_ARTIFACTS'] + '/{one.key}').read()\n"
        "open(os.environ['KMNB_OUTPUT'] + '/t.csv', 'w').write('x,y\\n1,2\\n' if text == 'a\\n' else '')",
        artifacts=[one, other],
    )
    (made,) = outcome.artifacts
    assert b"".join(kmnb._bridge.iterate(ws.context.backend.discussions.stream(made.key))) == b"x,y\n1,2\n"
    told = kmnb._bridge.run(ws.context.backend.discussions.head(made.key)).attributes
    assert told["source_run"] == outcome.receipt.digest
    assert told["source_digests"] == one.digest


def test_a_large_stdout_is_stored_like_any_result(ws: Any) -> None:
    assert ws.run("print('x' * 4095)").artifacts == ()
    outcome = ws.run("for i in range(2000): print(i)")
    (stored,) = outcome.artifacts
    assert stored.size == len(outcome.stdout)
    assert stored.tail(1).values == ["1999"]


def test_a_receipt_is_verified_by_running_the_program_again(ws: Any) -> None:
    one = ws.put("a\nb\n", tool="pods")
    outcome = ws.run(COUNT, artifacts=[one])
    assert ws.verify(outcome.receipt).status == "verified"
    assert ws.verify(outcome.receipt.to_json()).status == "verified"
    assert ws.verify(json.loads(outcome.receipt.to_json())).status == "verified"


def test_verifying_puts_back_what_a_program_listed_and_did_not_open(ws: Any) -> None:
    listing = "import os; print(sum(len(names) for _, _, names in os.walk(os.environ['KMNB_ARTIFACTS'])))"
    two = [ws.put("a\n", tool="pods"), ws.put("b\n", tool="pods")]
    receipt = ws.run(listing, artifacts=two).receipt
    assert (receipt.artifacts, receipt.artifacts_are, len(receipt.unopened)) == ((), "opened", 2)
    assert ws.verify(receipt).status == "verified"
    ws.delete(two[0])
    assert ws.verify(receipt).status == "cannot-verify"


def test_a_receipt_that_lists_other_numbers_than_were_printed_differs(ws: Any) -> None:
    receipt = ws.run("print(41)", artifacts=[]).receipt
    forged = replace(receipt, digest="", numbers=listed_numbers("43")[0])
    assert ws.verify(receipt).status == "verified"
    assert ws.verify(forged).status == "differs"
    assert "numbers" in ws.verify(forged).reason


def test_a_program_that_gives_something_else_each_time_differs(ws: Any) -> None:
    assert ws.verify(ws.run("import time; print(time.time_ns())").receipt).status == "differs"


def test_what_is_gone_cannot_be_verified(ws: Any) -> None:
    one = ws.put("a\n", tool="pods")
    receipt = ws.run(COUNT, artifacts=[one]).receipt
    ws.delete(one)
    told = ws.verify(receipt)
    assert told.status == "cannot-verify"
    assert one.key in told.reason


def test_a_changed_receipt_is_refused(ws: Any) -> None:
    facts = json.loads(ws.run("print(1)").receipt.to_json())
    with pytest.raises(BadRequest, match="changed"):
        ws.verify(facts | {"stdout_digest": "sha256:" + "0" * 64})


def test_a_run_below_the_required_level_is_refused(ws: Any) -> None:
    with pytest.raises(SandboxUnavailable, match="missing"):
        ws.run("print(1)", required_level=4)


def test_bash_runs_too(ws: Any) -> None:
    one = ws.put("a\nb\n", tool="pods")
    outcome = ws.run("find $KMNB_ARTIFACTS -type f ! -name '.*' | xargs cat | wc -l", language="bash", artifacts=[one])
    assert outcome.stdout.strip() == "2"
    assert outcome.receipt.interpreter.startswith("GNU bash")
    assert ws.verify(outcome.receipt).status == "verified"


def test_a_cell_runs_in_a_kernel_over_the_turn_and_can_be_verified(ws: Any) -> None:
    one = ws.put("a\nb\n", tool="pods")
    with ws.turn(one):
        outcome = ws.run_cell(COUNT + "\ntotal * 10")
    assert (outcome.stdout, outcome.ok) == ("2\n20\n", True), outcome.stderr
    assert outcome.receipt.interpreter.endswith("ipykernel")
    assert ws.verify(outcome.receipt).status == "verified"


def test_a_session_keeps_state_and_says_that_it_cannot_be_verified(ws: Any) -> None:
    assert ws.run_cell("x = 20", session="mine").ok
    outcome = ws.run_cell("x + 1", session="mine")
    assert outcome.stdout == "21\n"
    assert ws.verify(outcome.receipt).status == "cannot-verify"
    assert ws.close_session("mine")
    with pytest.raises(BadRequest, match="session"):
        ws.run_cell("echo", language="bash", session="mine")


def test_files_that_a_sessions_cells_leave_become_artifacts_after_each_of_them(ws: Any) -> None:
    one = ws.put("a\n", tool="pods")
    make = "import os; w = os.environ['KMNB_OUTPUT']\nopen(w + '/one.txt', 'w').write('1\\n')"
    first = ws.run_cell(make, session="files", artifacts=[one])
    assert [made.size for made in first.artifacts] == [2], first.stderr
    told = kmnb._bridge.run(ws.context.backend.discussions.head(first.artifacts[0].key)).attributes
    assert (told["source_run"], told["source_digests"]) == (first.receipt.digest, one.digest)
    assert ws.run_cell("print(open(w + '/one.txt').read())", session="files").artifacts == ()
    more = "os.mkdir(w + '/b'); open(w + '/b/two.txt', 'w').write('22\\n'); open(w + '/one.txt', 'a').write('1\\n')"
    assert sorted(made.size for made in ws.run_cell(more, session="files").artifacts) == [3, 4]
    last = ws.run_cell("open(w + '/three.txt', 'w').write('333\\n'); os._exit(0)", session="files")
    assert [made.size for made in last.artifacts] == [4]
    assert not ws.close_session("files")


def test_programs_of_a_closed_thread_are_gone(ws: Any) -> None:
    receipt = ws.run("print(1)").receipt
    ws.close_thread("t1")
    assert ws.verify(receipt).status == "cannot-verify"


def test_packages_are_importable_only_when_they_are_named() -> None:
    assert kmnb.sandbox.run("import msgspec").exit_code == 1
    outcome = kmnb.sandbox.run("import msgspec; print(msgspec.json.encode([1]))", packages=["msgspec"])
    assert outcome.stdout == "b'[1]'\n", outcome.stderr
    assert kmnb.sandbox.run("import numpy", packages=["msgspec"]).exit_code == 1
    with pytest.raises(BadRequest, match="not installed"):
        kmnb.sandbox.run("1", packages=["no-such-package-at-all"])
