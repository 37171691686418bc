"""The Binder folder, step by step as repo2docker takes it, as a user without privileges.

repo2docker looks into ``binder/`` and nowhere else when that folder is there; reads the Python version from
``runtime.txt``; installs ``requirements.txt`` with pip from the top of the repository; makes ``postBuild`` executable
and runs it there; and runs the server's command through ``start``, which has to become it.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.source import ROOT

BINDER = ROOT / "binder"
NOBODY = 65534
SAMPLES = ("coredns.log", "metrics.prom", "pods.json", "pods.txt", "prometheus.json", "weather.csv")
AS_NOBODY = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--no-new-privs", "env")
"""``env`` comes between, since setpriv itself still has root's view of folders when it starts its program."""
WITHOUT_RIGHTS = ("setpriv", "--bounding-set=-all", "--inh-caps=-all", "--no-new-privs")
LEFT_OUT = shutil.ignore_patterns(".git", ".venv", ".cache", ".*_cache", ".hypothesis", "node_modules", "__pycache__")

USED = """
import os, kmnb
ws = kmnb.connect(agent="visitor")
print(os.environ["KMNB_URL"].partition(":")[0], *ws.filenames())
print(ws.load("user:weather.csv").head(1).values[0])
"""


def test_the_runtime_is_a_python_that_the_package_supports() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    runtime = (BINDER / "runtime.txt").read_text("utf-8").strip()
    assert re.fullmatch(r"python-3\.\d+", runtime)
    assert int(runtime.rpartition(".")[2]) >= int(project["requires-python"].rpartition(".")[2])


def test_the_scripts_are_executable_and_start_becomes_the_server() -> None:
    for name in ("postBuild", "start"):
        assert os.access(BINDER / name, os.X_OK)
        assert (BINDER / name).read_text("utf-8").startswith("#!/usr/bin/env bash\n")
    assert (BINDER / "start").read_text("utf-8").rstrip().endswith('exec "$@"')


def test_the_link_of_the_readme_opens_a_notebook_that_is_there() -> None:
    found = re.search(r"mybinder\.org/\S+labpath=([^)\s]+)", (ROOT / "README.md").read_text("utf-8"))
    assert found is not None
    assert (ROOT / found[1].replace("%2F", "/")).is_file()


class Image:
    """A home with a copy of the repository and a Python environment, and the user that owns it."""

    def __init__(self, home: Path) -> None:
        self.home, self.repository = home, home / "repository"
        self.interpreter, self.user = _who(home)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]

    def run(self, *command: str, seconds: float = 120) -> str:
        """Run one step at the top of the repository with repo2docker's environment and nothing of ours."""
        step = subprocess.run(
            [*self.user, *command],
            cwd=self.repository,
            env={
                "HOME": str(self.home),
                "PATH": f"{self.home}/env/bin:{sysconfig.get_path('scripts')}:/usr/local/bin:/usr/bin:/bin",
                "LANG": "C.UTF-8",
                "KMNB_BINDER_PORT": str(self.port),
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=seconds,
            check=False,
        )
        assert step.returncode == 0, f"{command}\n{step.stdout}"
        return step.stdout

    def server_ends(self) -> None:
        """In Binder the container ends; here the server is ended by its process id."""
        file = self.home / ".local/share/kmnb-binder/nats.pid"
        pid = file.read_text("utf-8").strip() if file.exists() else ""
        if pid and Path(f"/proc/{pid}").exists():
            os.kill(int(pid), signal.SIGINT)
            self.run("timeout", "10", "tail", f"--pid={pid}", "--follow", "/dev/null")


def _who(home: Path) -> tuple[str, tuple[str, ...]]:
    """An interpreter, and how to become somebody who has no privileges and may use it."""
    here = os.path.realpath(sys.executable)
    if os.getuid() != 0:
        return here, ()
    libraries = sysconfig.get_path("purelib")
    own = f"{sys.version_info.major}.{sys.version_info.minor}"
    for candidate in (here, f"/usr/bin/python{own}"):
        program = f"import os, ensurepip; os.listdir({libraries!r})"
        if (
            subprocess.run([*AS_NOBODY, candidate, "-c", program], cwd="/", check=False, capture_output=True).returncode
            == 0
        ):
            for path in [home, *home.rglob("*")]:
                os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
            return candidate, AS_NOBODY
    return here, WITHOUT_RIGHTS


@pytest.fixture
def image() -> Iterator[Image]:
    """A built image: the environment stands on the one that runs the tests, so that only kmnb itself is installed."""
    home = Path(tempfile.mkdtemp(prefix="kmnb-binder-"))
    home.chmod(0o755)
    try:
        shutil.copytree(ROOT, home / "repository", ignore=LEFT_OUT)
        image = Image(home)
        image.run(image.interpreter, "-m", "venv", str(home / "env"))
        packages = next((home / "env" / "lib").glob("python3.*/site-packages"))
        (packages / "underneath.pth").write_text(sysconfig.get_path("purelib") + "\n", "utf-8")
        try:
            yield image
        finally:
            image.server_ends()
    finally:
        shutil.rmtree(home)


@pytest.mark.timeout(300)
def test_the_steps_of_a_build_and_a_start_give_a_server_with_the_samples(image: Image) -> None:
    image.run("python", "-m", "pip", "install", "--no-cache-dir", "-r", "binder/requirements.txt", seconds=240)
    assert image.run("python", "-P", "-c", "import kmnb; print(kmnb.__file__)").startswith(str(image.home / "env"))

    built = image.run("./binder/postBuild")
    assert "user:pods.json: 128,603 bytes" in built

    told = image.run("./binder/start", "python", "-P", "-c", USED).splitlines()
    assert told[0].split() == ["nats", *sorted(f"user:{name}" for name in SAMPLES)]
    assert told[1] == "date,precipitation,temp_max,temp_min,wind,weather"
