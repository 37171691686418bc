"""Whatever is handed to a door of the sandbox gives an Outcome, or a typed error that tells what to do."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import kmnb
from kmnb._bridge import run as wait_for
from kmnb.errors import BadRequest, KmnbError
from kmnb.sandbox import _api, _arguments, kernels
from kmnb.sandbox._arguments import Listener
from kmnb.sandbox._limits import LARGEST, SMALLEST, Limits

ODD: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 0.5, float("nan"), float("inf"), 10**400, 10**5000, "", "x", "\0", "\ud800",
    "a" * 5000, b"x", [], [1], [""], ["x"], {}, {"a": 1}, set(), object(), int, lambda: 1, (1, 2), "pandas",
    ["a\0b"], ["\ud800"], ["../x"], ["a" * 5000], {1: 2}, [{}], [{"key": 1}],
)  # fmt: skip
RUN = (
    "language", "timeout_seconds", "artifacts_folder", "run_parent", "max_output_bytes", "required_level",
    "output_folder", "artifacts", "limits", "packages", "on_output",
)  # fmt: skip
CELL = (
    "session", "timeout_seconds", "max_output_bytes", "required_level", "artifacts_folder", "output_folder",
    "artifacts", "on_output", "mimes",
)  # fmt: skip
WS_RUN = ("language", "artifacts", "timeout_seconds", "max_output_bytes", "required_level", "limits", "remote")
WS_CELL = (
    "language", "artifacts", "session", "remote", "timeout_seconds", "max_output_bytes", "required_level", "on_output",
    "mimes",
)  # fmt: skip


class Started(Exception):
    """Takes the place of a run: the arguments were taken."""


@pytest.fixture
def doors(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """All doors, which let in whoever asks properly and then start nothing."""

    def start(*_: Any, **__: Any) -> Any:
        raise Started

    monkeypatch.setattr(_api, "supervise", start)
    monkeypatch.setattr("kmnb.sandbox.kernels._pool.Pool.open", start)
    monkeypatch.setattr("kmnb.sandbox.kernels._gateway._in_fresh_kernel", start)
    with kmnb.connect("memory://", thread="t", agent="a") as ws:
        yield {
            "run": lambda code="1", **given: kmnb.sandbox.run(code, **given),
            "validate": lambda code="1", language="python": kmnb.sandbox.validate(code, language=language),
            "cell": lambda **given: wait_for(kernels.run_cell(**{"code": "1", **given})),
            "remote": lambda **given: wait_for(
                kernels.run_remote(**{"code": "1", "url": "http://127.0.0.1:9", "required_level": 0, **given})
            ),
            "ws.run": lambda **given: ws.run(**{"code": "1", **given}),
            "ws.cell": lambda **given: ws.run_cell(**{"code": "1", **given}),
            "ws.validate": lambda **given: ws.validate(**{"code": "1", **given}),
            "ws.verify": lambda **given: ws.verify(given["receipt"]),
            "ws.close_session": lambda **given: ws.close_session(given["name"]),
        }


DOORS = {
    "run": ("code", *RUN),
    "validate": ("code", "language"),
    "cell": ("code", *CELL),
    "remote": ("code", "url", "token", "kernel_name", "artifacts_folder", "artifacts", "on_output", "mimes"),
    "ws.run": ("code", *WS_RUN),
    "ws.cell": ("code", *WS_CELL),
    "ws.validate": ("code", "language"),
    "ws.verify": ("receipt",),
    "ws.close_session": ("name",),
}


@pytest.mark.parametrize(("door", "argument"), [(door, one) for door, all_ in DOORS.items() for one in all_])
def test_an_odd_argument_is_taken_or_refused_with_a_next_step(doors: Any, door: str, argument: str) -> None:
    refused = []
    for value in ODD:
        try:
            doors[door](**{argument: value})
        except Started:
            continue
        except KmnbError as error:
            refused.append(error)
    assert len(refused) > 8
    assert [str(one) for one in refused if not one.next_step or len(str(one).encode()) > 2048] == []


@pytest.mark.parametrize("name", Limits.__dataclass_fields__)
def test_a_limit_is_taken_from_its_smallest_to_its_largest_value_alone(name: str) -> None:
    bounds = Limits.__dataclass_fields__[name].metadata
    for value in (bounds[SMALLEST], bounds[LARGEST]):
        assert getattr(Limits(**{name: value}), name) == value
    for value in (bounds[SMALLEST] / 2, bounds[LARGEST] * 2, -1, 0, True, float("nan"), float("inf"), "9", None):
        with pytest.raises(BadRequest, match=name) as caught:
            Limits(**{name: value})
        assert "from" in caught.value.next_step


def test_a_whole_number_that_was_written_as_a_float_is_one() -> None:
    assert repr(Limits(memory_bytes=1e9).memory_bytes) == "1000000000"  # type: ignore[arg-type]
    with pytest.raises(BadRequest, match="whole"):
        Limits(cpu_seconds=1.5)  # type: ignore[arg-type]


@pytest.mark.parametrize("packages", ["pandas", [""], [" "], [3], 7, {"pandas": 1}, b"pandas"])
def test_packages_that_are_no_list_of_names_are_told_how_to_be_written(packages: Any) -> None:
    with pytest.raises(BadRequest, match=r'packages=\["pandas"\]'):
        kmnb.sandbox.run("1", packages=packages)


@pytest.mark.parametrize(
    "folder",
    ["/", "/proc", "/proc/self", "/sys", "/dev", "/etc", "/etc/ssl", "/tmp", "/usr", "/opt", "/srv", "/root", "~"],
)
def test_a_folder_that_would_give_the_machine_away_is_not_shown(folder: str) -> None:
    if not os.path.isdir(os.path.expanduser(folder)):
        pytest.skip("not on this machine")
    with pytest.raises(BadRequest, match="artifacts_folder"):
        kmnb.sandbox.run("1", artifacts_folder=os.path.expanduser(folder))
    with pytest.raises(BadRequest, match="artifacts_folder"):
        wait_for(kernels.run_cell("1", artifacts_folder=os.path.expanduser(folder)))


def test_a_home_and_its_secrets_are_not_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    secret, data = tmp_path / "home" / ".ssh" / "keys", tmp_path / "home" / "data"
    for one in (secret, data):
        one.mkdir(parents=True)
    for one in (secret, secret.parent, tmp_path / "home", tmp_path):
        with pytest.raises(BadRequest, match=r"credentials|holds much more"):
            kmnb.sandbox.run("1", artifacts_folder=one)
    (data / "n").write_text("1")
    code = "import os; print(os.listdir(os.environ['KMNB_ARTIFACTS']))"
    assert kmnb.sandbox.run(code, artifacts_folder=data).stdout == "['n']\n"


def test_the_homes_of_others_are_not_shown_either(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for one in ("ann/.local/share/keyrings", "ann/data"):
        (tmp_path / one).mkdir(parents=True)
    monkeypatch.setattr(_arguments.glob, "glob", lambda _: [str(tmp_path / "ann")])
    for one in ("ann", "ann/.local/share/keyrings", "ann/.local"):
        with pytest.raises(BadRequest, match=r"credentials|holds much more"):
            kmnb.sandbox.run("1", artifacts_folder=tmp_path / one)
    assert _arguments.check_shown_folder("artifacts_folder", tmp_path / "ann/data") == tmp_path / "ann/data"


def test_a_link_is_told_where_it_leads(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("/etc")
    (tmp_path / "near").symlink_to(tmp_path / "real")
    for link in ("link", "near"):
        with pytest.raises(BadRequest, match="symbolic link"):
            kmnb.sandbox.run("1", artifacts_folder=tmp_path / link)


def test_what_a_listener_raises_ends_its_listening_and_not_the_run() -> None:
    told: list[str] = []

    def listen(name: str, text: str) -> None:
        told.append(text)
        raise OSError("full")

    outcome = kmnb.sandbox.run("for i in range(3): print(i, flush=True)", on_output=listen)
    assert (outcome.stdout, outcome.ok, len(told)) == ("0\n1\n2\n", True, 1)
    assert "on_output raised OSError: full" in outcome.notes[-1]
    with pytest.raises(BadRequest, match="on_output"):
        Listener(3)


def test_a_byte_order_mark_before_a_program_is_dropped_once() -> None:
    code = "\ufeffprint(1)"
    assert kmnb.sandbox.run(code).stdout == "1\n"
    assert kmnb.sandbox.run("\ufeffecho 1", language="bash").stdout == "1\n"
    assert kmnb.sandbox.validate(code, language="python").valid
    assert wait_for(kernels.run_cell(code)).stdout == "1\n"
    assert kmnb.sandbox.run("\ufeff" + code).exit_code == 1
