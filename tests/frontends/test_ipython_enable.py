"""``kmnb ipython enable`` makes the magics available without a load line, in terminals and kernels."""

from __future__ import annotations

import subprocess
import sys

import pytest

from kmnb.errors import BadRequest
from kmnb.frontends.cli import main
from kmnb.frontends.ipython import FILE, change
from tests.children import ROOT
from tests.frontends.jupyter import running_kernel, surroundings


def test_enabling_and_disabling_twice_is_harmless(tmp_path):
    assert change("status", tmp_path).data["enabled"] is False
    for _ in range(2):
        assert change("enable", tmp_path / "startup").data["enabled"] is True
    for _ in range(2):
        assert change("disable", tmp_path / "startup").data["enabled"] is False
    assert list((tmp_path / "startup").iterdir()) == []


def test_a_file_of_somebody_else_is_left_alone(tmp_path):
    (tmp_path / FILE).write_text("print('mine')")
    for action in ("enable", "disable"):
        with pytest.raises(BadRequest, match="somebody else"):
            change(action, tmp_path)
    assert (tmp_path / FILE).read_text() == "print('mine')"


def enable(folder):
    done = subprocess.run(
        [sys.executable, "-m", "kmnb", "ipython", "enable"], env=surroundings(folder), capture_output=True,
        text=True, timeout=60, cwd=ROOT, check=True,
    )  # fmt: skip
    assert done.stdout.startswith("enabled: ")
    assert done.stderr == ""


def test_magics_are_there_and_kmnb_is_imported_on_first_use_only(tmp_path):
    enable(tmp_path)
    with running_kernel(tmp_path, KMNB_URL=f"file://{tmp_path}/store") as kernel:
        assert kernel.text("import sys; print('kmnb' in sys.modules)") == "False\n"
        assert "artifact" in str(kernel.run("%lsmagic"))
        kernel.run("listing = %artifact ls")
        assert kernel.text("print(len(listing), 'kmnb' in sys.modules)") == "0 True\n"
        kernel.run("%%compute --help\n1")


def test_terminal_ipython_has_them_too(tmp_path):
    enable(tmp_path)
    code = (
        "%artifact put {{data}} --tool t --out art\n%artifact head art 1\nlisting = %artifact ls\nprint(len(listing))"
    )
    script = tmp_path / "script.ipy"
    script.write_text(f"data = 'a\\nb\\n'\n{code}\n")
    done = subprocess.run(
        [sys.executable, "-m", "IPython", "--colors=NoColor", "--no-banner", str(script)],
        env=surroundings(tmp_path, KMNB_URL=f"file://{tmp_path}/store"), capture_output=True, text=True, timeout=60,
        cwd=tmp_path, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip().endswith("1")
    assert "\x1b" not in done.stdout


def test_help_and_unknown_profiles(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    assert main(["ipython", "--help"]) == 0
    assert capsys.readouterr().out.startswith("usage: kmnb ipython")
    assert main(["ipython", "enable", "--profile", "nosuch"]) == 2
    assert "ipython profile create nosuch" in capsys.readouterr().err
    assert main(["ipython", "jump"]) == 2
