"""Every answer of ``ws.verify``, and what it takes to get it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import kmnb
from kmnb._bridge import run as wait_for
from kmnb.errors import BadRequest, StoreUnavailable
from kmnb.ops.verifying import verify

READ = (
    "import glob, os; print(sum(len(open(f).read()) for f in glob.glob(os.environ['KMNB_ARTIFACTS'] + '/*/*/*/*/*')))"
)


@pytest.fixture
def ws(tmp_path: Path) -> Iterator[Any]:
    """A workspace over files, which can be damaged."""
    with kmnb.connect(f"file://{tmp_path}/store", thread="t1", agent="tester") as workspace:
        yield workspace


def forged(receipt: Any, **facts: Any) -> Any:
    """A receipt with other facts and a digest that fits."""
    return replace(receipt, digest="", **facts)


def damage(ws: Any, holding: bytes, by: bytes) -> None:
    """Change bytes on the disk."""
    folder = Path(ws.url.removeprefix("file://"))
    found = [one for one in folder.rglob("*") if one.is_file() and holding in one.read_bytes()]
    assert found
    for one in found:
        one.chmod(0o644)
        one.write_bytes(one.read_bytes().replace(holding, by))


def test_an_artifact_that_was_damaged_cannot_be_verified(ws: Any) -> None:
    one = ws.put("abcdefghij-content\n" * 500, tool="pods")
    receipt = ws.run(READ, artifacts=[one]).receipt
    assert ws.verify(receipt).status == "verified"
    damage(ws, b"abcdefghij-content", b"ABCDEFGHIJ-content")
    told = ws.verify(receipt)
    assert told.status == "cannot-verify"
    assert one.key in told.reason


def test_a_program_that_was_damaged_cannot_be_verified(ws: Any) -> None:
    receipt = ws.run("print(41 + 1)", artifacts=[]).receipt
    damage(ws, b"print(41 + 1)", b"print(41 + 2)")
    assert ws.verify(receipt).status == "cannot-verify"


def test_a_program_that_is_gone_cannot_be_verified(ws: Any) -> None:
    receipt = ws.run("print(1)", artifacts=[]).receipt
    told = ws.verify(forged(receipt, program_digest="sha256:" + "0" * 64))
    assert told.status == "cannot-verify"
    assert "program" in told.reason


def test_an_artifact_that_holds_other_bytes_now_cannot_be_verified(ws: Any) -> None:
    one = ws.put("a\n", tool="pods")
    receipt = ws.run(READ, artifacts=[one]).receipt
    area = ws.context.backend.discussions
    wait_for(area.put(one.key, b"b\n"))
    assert "other bytes" in ws.verify(receipt).reason


def test_a_sandbox_that_does_not_isolate_so_well_cannot_verify(ws: Any) -> None:
    told = ws.verify(ws.run("print(1)", artifacts=[]).receipt, required_level=4)
    assert told.status == "cannot-verify"
    assert "level 4" in told.reason


def test_a_store_that_does_not_answer_cannot_verify(ws: Any) -> None:
    class Away:
        async def get_program(self, digest: str) -> bytes:
            raise StoreUnavailable("the store", "does not answer")

    receipt = ws.run("print(1)", artifacts=[]).receipt
    told = asyncio.run(verify(Away(), receipt))  # type: ignore[arg-type]
    assert (told.status, told.reason) == ("cannot-verify", "the store: does not answer")


def test_the_same_output_of_another_interpreter_is_verified_and_said(ws: Any) -> None:
    receipt = forged(ws.run("print(1)", artifacts=[]).receipt, interpreter="cpython 2.7.1")
    told = ws.verify(receipt)
    assert told.status == "verified"
    assert "cpython 2.7.1 ran it then" in told.reason


def test_another_output_of_another_interpreter_proves_nothing(ws: Any) -> None:
    receipt = ws.run("import time; print(time.time_ns())", artifacts=[]).receipt
    assert ws.verify(receipt).status == "differs"
    told = ws.verify(forged(receipt, interpreter="cpython 2.7.1"))
    assert told.status == "cannot-verify"
    assert "cpython 2.7.1 ran it then" in told.reason


def test_an_output_that_a_limit_cut_off_proves_nothing(ws: Any) -> None:
    code = "import time\nprint(time.time_ns(), flush=True)\ntime.sleep(60)"
    told = ws.verify(ws.run(code, artifacts=[], timeout_seconds=0.3).receipt)
    assert told.status == "cannot-verify"
    assert "timeout" in told.reason


def test_numbers_that_another_version_read_otherwise_prove_nothing(ws: Any) -> None:
    receipt = ws.run("print('rows 43 k, 1200')", artifacts=[]).receipt
    rows, rest = receipt.numbers
    told = {
        "verified": (rows, rest),
        # As they stand there, read otherwise or passed over.
        "cannot-verify": (replace(rows, text="43", end=rows.start + 2, unit=""), rest),
        "differs": (replace(rows, value="44"), rest),
    }
    for status, numbers in told.items():
        assert ws.verify(forged(receipt, numbers=numbers)).status == status
    assert "another version" in ws.verify(forged(receipt, numbers=(rest,))).reason
    for odd in ({"text": "12", "value": "12", "end": rest.end - 2}, {"start": 0}, {"end": 99}, {"line": 2}):
        assert ws.verify(forged(receipt, numbers=(rows, replace(rest, **odd)))).status == "differs", odd


def test_artifacts_that_the_program_does_not_open_make_a_receipt_differ(ws: Any) -> None:
    one = ws.put("a\n", tool="pods")
    receipt = ws.run("print(2)", artifacts=[one]).receipt
    assert (len(receipt.artifacts), len(receipt.unopened)) == (0, 1)
    told = ws.verify(forged(receipt, artifacts=receipt.unopened, unopened=()))
    assert told.status == "differs"
    assert "does not open" in told.reason


@pytest.mark.parametrize(
    "facts",
    [
        {"limits": {"memory_bytes": 1}},
        {"limits": {"timeout_seconds": "x"}},
        {"limits": {"no_such": 1}},
        {"language": "cobol"},
        {"artifacts": ({"key": "../../etc", "digest": "sha256:0"},)},
        {"artifacts": ({"key": "no/such/thing/at/all"},)},
        {"engine": "gateway"},
        {"session": "x"},
    ],
    ids=str,
)
def test_a_receipt_that_cannot_be_run_again_is_answered(ws: Any, facts: dict[str, Any]) -> None:
    told = ws.verify(forged(ws.run("print(1)", artifacts=[]).receipt, **facts))
    assert told.status == "cannot-verify"
    assert told.reason


@pytest.mark.parametrize("receipt", [None, 7, "", "{}", "[]", b"\xff", {}, {"a": 1}, [1], "x" * 10_000])
def test_what_is_no_receipt_is_refused(ws: Any, receipt: Any) -> None:
    with pytest.raises(BadRequest):
        ws.verify(receipt)


def test_a_receipt_of_artifacts_without_keys_is_none(ws: Any) -> None:
    receipt = ws.run("print(1)", artifacts=[]).receipt
    with pytest.raises(BadRequest, match="keys"):
        ws.verify(forged(receipt, artifacts=({"digest": "sha256:0"},)))
