"""The command line gives exactly what the operations give, and ends with a code that says how it went."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from kmnb.frontends.cli import main
from kmnb.ops.commands import commands
from tests.children import ROOT, python

KEY = "default/nocrew/default/ada/seq-0"


@pytest.fixture
def stored(store_url, tmp_path):
    """A stored file of the numbers 1 to 5,000."""
    file = tmp_path / "seq.txt"
    file.write_text("".join(f"{number}\n" for number in range(1, 5001)))
    assert main(["put", str(file), "--tool", "seq"]) == 0
    return file


@pytest.fixture
def run(stored, capfdbinary):
    """Run a command line; give its code, stdout and stderr."""

    def run(*words):
        capfdbinary.readouterr()
        code = main(words)
        out, err = capfdbinary.readouterr()
        return code, out.decode(), err.decode()

    return run


def test_a_sip_prints_exactly_its_text(run):
    assert run("head", KEY, "2") == (0, "1\n2\n[lines 0-1 of 5000]\n", "")
    assert run("count", KEY) == (0, "5000\n", "")
    assert run("grep", KEY, "^4999$") == (0, "4999\n", "")


def test_remarks_go_to_stderr(run):
    code, out, err = run("grep", KEY, "9", "--max", "1")
    assert (code, out) == (0, "9\n")
    assert "--cursor" in err


def test_json_has_every_field(run):
    code, out, _ = run("head", KEY, "1", "--json")
    answer = json.loads(out)
    assert (code, answer["values"], answer["total"]) == (0, ["1"], 5000)
    assert json.loads(run("--json", "show", KEY)[1])["artifact"]["key"] == KEY
    assert json.loads(run("ls", "--json")[1])[0]["key"] == KEY


def test_get_copies_the_bytes(run, stored, tmp_path):
    assert run("get", KEY)[1] == stored.read_text()


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["head", "x/y/z/a/b-0"], 3, "ArtifactNotFound [not-found]"),
        (["head", KEY, "--linse", "3"], 2, "Did you mean --lines"),
        (["head"], 2, "ref: is missing"),
        (["haed"], 2, "Did you mean head"),
        (["close-thread", "t"], 2, "Did you mean close?"),
        (["project", KEY, "--mode", "embd"], 2, "Use ignore or reference or embed."),
        (["put", "/nowhere/x", "--tool", "t"], 2, "no such file"),
        (["grep", KEY, "("], 2, "bad-expression"),
        (["ls", "--url", "memory://x"], 5, "cannot be seen from outside"),
        (["ls", "--url", "nosuch://x"], 2, "unknown-plugin"),
        (["ls", "--url", "nats://user:hunter2@127.0.0.1:1"], 5, "store-unavailable"),
        (["--url"], 2, "expected one argument"),
    ],
)
def test_errors_are_one_line_on_stderr_and_a_code(run, words, code, says):
    got, out, err = run(*words)
    assert (got, out) == (code, "")
    assert says in err
    assert err.count("\n") == 1
    assert "hunter2" not in err


def test_every_command_has_help(run):
    for name in commands():
        code, out, err = run(name, "--help")
        assert (code, err) == (0, "")
        assert out.startswith(f"usage: kmnb {name}")
    code, out, _ = run("--help")
    assert code == 0
    assert all(f"  {name} " in out for name in commands())


def test_version_and_bare_call(run):
    from kmnb import __version__

    assert run("--version") == (0, f"kmnb {__version__}\n", "")
    assert run()[1].startswith("usage: kmnb COMMAND")


def test_a_reader_that_goes_away_ends_it_quietly(stored, store_url):
    line = f"set -o pipefail; {sys.executable} -m kmnb lines {KEY} 0 0 | head -1"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=60, cwd=ROOT, check=False)
    assert done.stdout == "1\n"
    assert done.stderr == ""
    assert done.returncode in (0, 141)


def test_python_m_kmnb_is_the_same_and_an_ascii_terminal_does_no_harm(stored, tmp_path):
    text = tmp_path / "é.txt"
    text.write_text("grüße\n" * 1000)
    answer = python("-m", "kmnb", "put", str(text), "--tool", "de", LC_ALL="C", PYTHONIOENCODING="ascii")
    assert answer.clean, answer
    answer = subprocess.run(
        [sys.executable, "-m", "kmnb", "head", "default/nocrew/default/ada/de-0", "1"],
        capture_output=True, timeout=60, cwd=ROOT, env={**__import__("os").environ, "PYTHONIOENCODING": "ascii"},
        check=True,
    )  # fmt: skip
    assert answer.stdout.decode() == "grüße\n[lines 0-0 of 1000]\n"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["show", KEY], "5,000 rows · text/plain"),
        (["show", KEY, "--json"], "·"),
        (["stats", "default/nocrew/default/ada/de-0"], "grüße …"),
        (["grep", "default/nocrew/default/ada/de-0", "gr.*e", "--max", "1", "--json"], "grüße …"),
        (["run", "PROGRAM"], "grüße …"),
    ],
    ids=["a card", "its data", "a table", "a match", "the output of a program"],
)
def test_output_is_utf_8_where_everything_else_is_ascii(stored, tmp_path, words, says):
    """No locale of UTF-8, and Python told not to take one all the same: stdout and file names are ASCII."""
    (text := tmp_path / "text.txt").write_text("grüße …\n" * 1000, "utf-8")
    (program := tmp_path / "program.py").write_text('import sys; sys.stdout.buffer.write("grüße …".encode())', "utf-8")
    assert main(["put", str(text), "--tool", "de"]) == 0
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "kmnb", *(str(program) if word == "PROGRAM" else word for word in words)],
        capture_output=True, timeout=60, cwd=ROOT, check=False,
        env={**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    )  # fmt: skip
    assert (done.returncode, b"Error" in done.stderr) == (0, False), done
    assert says in done.stdout.decode("utf-8")


def test_the_script_ends_cleanly():
    assert python("-m", "kmnb", "--version").clean
    assert Path(ROOT, "kmnb", "__main__.py").is_file()


def test_settings_are_told_with_their_origin_without_a_store(run, monkeypatch, tmp_path):
    monkeypatch.setenv("KMNB_URL", "nats://user:hunter2@127.0.0.1:1")
    code, out, err = run("config", "show")
    assert (code, err) == (0, "")
    assert "agent\tada\tenvironment KMNB_AGENT\n" in out
    assert "crew\tnocrew\tdefault\n" in out
    assert "hunter2" not in out
    assert "nats://127.0.0.1:1" in out
    assert json.loads(run("config", "--json")[1])[0]["setting"] == "url"
    assert run("config", "--help")[1].startswith("usage: kmnb config")


def test_a_program_that_does_not_compile_and_an_output_that_is_cut_are_told(run, tmp_path):
    program = tmp_path / "a.py"
    program.write_text("print(")
    code, out, _ = run("validate", str(program))
    assert code == 1
    assert "never closed" in out
    program.write_text("print('x' * 200_000)")
    code, out, err = run("run", str(program))
    assert (code, len(out.encode())) == (0, 65_536)
    assert "output was cut" in err
    assert run("run", str(program), "--level", "9")[0] == 6


@pytest.mark.parametrize("words", [("get", KEY, "/nodir/x"), ("materialise", "/proc/x", KEY)])
def test_a_place_that_cannot_be_written_is_one_line(run, words):
    code, _, err = run(*words)
    assert code == 2
    assert err.count("\n") == 1
    assert ("/proc" if words[0] == "materialise" else "/nodir") in err


def test_a_full_disk_behind_standard_output_is_one_line(stored):
    with Path("/dev/full").open("wb") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "kmnb", "head", KEY], stdout=full, stderr=subprocess.PIPE, cwd=ROOT, check=False
        )
    assert ended.returncode == 1
    assert ended.stderr.count(b"\n") == 1
