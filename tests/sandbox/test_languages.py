"""The contract of languages: each brings a program that prints 42 and one that does not compile."""

from __future__ import annotations

from typing import Any

import pytest

from kmnb.sandbox import validate
from kmnb.sandbox._languages import find_language, languages


@pytest.mark.parametrize("name", languages())
def test_the_test_program_of_a_language_prints_42(run: Any, name: str) -> None:
    outcome = run(find_language(name).test_program, language=name)
    assert (outcome.stdout, outcome.ok, outcome.receipt.language) == ("42\n", True, name)


@pytest.mark.parametrize("name", languages())
def test_a_broken_program_does_not_compile_and_a_right_one_is_not_run(name: str) -> None:
    language = find_language(name)
    assert language.name == name
    assert validate(language.test_program, language=name).valid
    verdict = validate(language.broken_program, language=name)
    assert not verdict.valid
    assert language.filename in verdict.errors


def test_a_fork_of_the_server_that_lives_on_does_not_keep_runs_alive() -> None:
    """The fork holds the spawner's socket; the server's own end has to count."""
    import os
    import subprocess
    import sys
    import time
    from pathlib import Path

    code = (
        "import os, time\nfrom kmnb._bridge import run\nfrom kmnb.sandbox._host import Host\n"
        "host = Host()\nrun(host.start())\nprint(host._process.pid, flush=True)\n"
        "os.close(1)\nif os.fork() == 0: time.sleep(20); os._exit(0)\nos._exit(0)\n"
    )
    server = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], stdout=subprocess.PIPE, timeout=60, check=True, cwd=Path.cwd()
    )
    spawner = Path(f"/proc/{int(server.stdout)}")
    deadline = time.monotonic() + 10
    while spawner.exists() and spawner.joinpath("stat").read_text().rsplit(")", 1)[1].split()[0] != "Z":
        assert time.monotonic() < deadline, os.listdir("/proc")
        time.sleep(0.01)  # bounded by the deadline
    assert time.monotonic() < deadline
