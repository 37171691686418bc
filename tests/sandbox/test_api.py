"""The public functions of the sandbox, at whatever level this machine gives."""

from __future__ import annotations

import pytest

from kmnb.errors import BadRequest, SandboxUnavailable
from kmnb.sandbox import doctor, run, validate

LEVEL = doctor().level


def test_a_program_gives_its_output_and_a_receipt() -> None:
    outcome = run("print(sum(range(10)))", required_level=LEVEL)
    assert (outcome.stdout, outcome.exit_code, outcome.status) == ("45\n", 0, "ok")
    assert outcome.receipt is not None
    assert [one.value for one in outcome.receipt.numbers] == ["45"]


def test_the_program_may_be_given_by_its_name() -> None:
    assert run(code="print(1)", required_level=LEVEL).stdout == "1\n"
    assert validate(code="1").valid


def test_a_program_that_fails_is_an_outcome() -> None:
    outcome = run("import sys; print('x', file=sys.stderr); sys.exit(3)", required_level=LEVEL)
    assert (outcome.exit_code, outcome.stderr, outcome.status) == (3, "x\n", "failed")


def test_the_time_limit_ends_a_program_and_keeps_what_it_printed() -> None:
    outcome = run("print('early'); import time; time.sleep(30)", timeout_seconds=0.5, required_level=LEVEL)
    assert (outcome.stdout, outcome.exit_code, outcome.timed_out) == ("early\n", -1, True)
    assert outcome.seconds < 5


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf"), 1e308, "soon", True])
def test_a_time_limit_that_cannot_be_meant_is_refused(seconds: object) -> None:
    with pytest.raises(BadRequest, match="timeout_seconds"):
        run("1", timeout_seconds=seconds, required_level=LEVEL)  # type: ignore[arg-type]


@pytest.mark.parametrize("code", ["print('\ud800')", "echo one\0", "#" * (1 << 20) + "1", b"1"])
def test_code_that_no_interpreter_takes_is_refused(code: object) -> None:
    with pytest.raises(BadRequest, match="code"):
        run(code, required_level=LEVEL)  # type: ignore[arg-type]


def test_an_unknown_language_is_refused() -> None:
    with pytest.raises(BadRequest, match=r"cobol.*unsupported"):
        run("DISPLAY 'HI'.", language="cobol", required_level=LEVEL)


def test_a_level_that_is_not_to_be_had_is_refused_with_what_is_missing() -> None:
    with pytest.raises(SandboxUnavailable, match="missing: "):
        run("1", required_level=4)


@pytest.mark.parametrize(("language", "code", "valid"), [
    ("python", "print('ok')", True),
    ("python", "def f(:", False),
    ("bash", "echo ok", True),
    ("bash", "if true; then echo", False),
])  # fmt: skip
def test_validate_compiles_without_running(language: str, code: str, valid: bool) -> None:
    verdict = validate(code, language=language)
    assert verdict.valid is valid
    assert bool(verdict.errors) is not valid
