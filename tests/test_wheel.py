"""What is installed: the wheel that is made from the source archive holds everything that runs, and nothing else."""

from __future__ import annotations

import configparser
import json
import shutil
import zipfile
from pathlib import Path

import pytest

from tests.children import python
from tests.source import PACKAGE, ROOT

PARTS = ("kmnb", "extensions", "README.md", "LICENSE", "CHANGELOG.md", "pyproject.toml")
DATA = "kmnb-0.1.0.data/data"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """A wheel made from a source archive that was made from a copy of the tree."""
    folder = tmp_path_factory.mktemp("wheel")
    tree = folder / "tree"
    tree.mkdir()
    for part in PARTS:
        source = ROOT / part
        if source.is_dir():
            shutil.copytree(source, tree / part, ignore=shutil.ignore_patterns("__pycache__", "node_modules"))
        else:
            shutil.copy(source, tree)
    answer = python("-W", "default", "-m", "build", "--outdir", str(folder / "dist"), str(tree), seconds=240)
    assert answer.code == 0, answer
    assert len(list((folder / "dist").glob("*.tar.gz"))) == 1
    return zipfile.ZipFile(next((folder / "dist").glob("*.whl")))


@pytest.mark.timeout(300)
def test_the_wheel_holds_every_file_of_the_package(wheel: zipfile.ZipFile) -> None:
    files = (path for path in PACKAGE.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    expected = {path.relative_to(ROOT).as_posix() for path in files if "node_modules" not in path.parts}
    assert {name for name in wheel.namelist() if name.startswith("kmnb/")} == expected


def test_the_wheel_enables_the_server_extension(wheel: zipfile.ZipFile) -> None:
    path = f"{DATA}/etc/jupyter/jupyter_server_config.d/kmnb.json"
    settings = json.loads(wheel.read(path))
    assert settings["ServerApp"]["jpserver_extensions"]["kmnb"] is True
    assert settings == json.loads((ROOT / "extensions" / "server-config" / "kmnb.json").read_text("utf-8"))


def test_the_wheel_brings_the_command_and_the_types(wheel: zipfile.ZipFile) -> None:
    points = configparser.ConfigParser()
    points.read_string(wheel.read("kmnb-0.1.0.dist-info/entry_points.txt").decode())
    assert points["console_scripts"]["kmnb"] == "kmnb.__main__:main"
    assert "kmnb/py.typed" in wheel.namelist()


def test_the_wheel_holds_no_tests_and_no_samples(wheel: zipfile.ZipFile) -> None:
    assert {Path(name).parts[0] for name in wheel.namelist()} <= {"kmnb", "kmnb-0.1.0.data", "kmnb-0.1.0.dist-info"}
