"""Where settings come from, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from kmnb.errors import BadRequest
from kmnb.frontends._settings import default_url, resolve


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder without parents that configure anything."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("LOGNAME", "somebody")
    return tmp_path


def test_everything_has_a_default() -> None:
    found = resolve({})
    assert (found.names.namespace, found.names.crew, found.names.thread, found.names.session) == (
        "default",
        "nocrew",
        "default",
        "default",
    )
    assert (found.names.agent, found.names.user, found.names.app) == ("somebody", "somebody", "kmnb")
    assert found.url == default_url()
    assert {setting.origin for setting in found.origins} == {"default"}


def test_call_wins_over_environment_over_project_over_user(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "config" / "kmnb").mkdir(parents=True)
    (folder / "config" / "kmnb" / "kmnb.toml").write_text(
        'crew = "user"\nthread = "user"\napp = "user"\nagent = "user"\n'
    )
    (folder / "kmnb.toml").write_text('crew = "project"\nthread = "project"\napp = "project"\n')
    monkeypatch.setenv("KMNB_CREW", "env")
    monkeypatch.setenv("KMNB_THREAD", "env")
    names = resolve({"crew": "call"}).names
    assert (names.crew, names.thread, names.app, names.agent) == ("call", "env", "project", "user")


def test_a_folder_below_finds_the_same_settings(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "pyproject.toml").write_text('[tool.kmnb]\nurl = "memory://shared"\n')
    (folder / "notebooks" / "deep").mkdir(parents=True)
    monkeypatch.chdir(folder / "notebooks" / "deep")
    found = resolve({})
    assert found.url == "memory://shared"
    assert {setting.name: setting.origin for setting in found.origins}["url"] == str(folder / "pyproject.toml")


def test_a_configuration_that_is_given_takes_the_place_of_files(folder: Path) -> None:
    (folder / "kmnb.toml").write_text('crew = "project"\n')
    (folder / "other.toml").write_text('thread = "other"\n')
    assert resolve({}, {"thread": "given"}).names.crew == "nocrew"
    found = resolve({}, folder / "other.toml").names
    assert (found.thread, found.crew) == ("other", "nocrew")


def test_text_is_coerced_to_the_kind_of_the_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KMNB_GRACE_SECONDS", "60")
    monkeypatch.setenv("KMNB_SWEEP_ON_CONNECT", "no")
    found = resolve({}).settings
    assert (found.grace_seconds, found.sweep_on_connect) == (60.0, False)


@pytest.mark.parametrize(
    ("config", "word"),
    [
        ({"crw": "x"}, "crew"),
        ({"scope": "global"}, "namespace"),
        ({"grace_seconds": "soon"}, "finite number"),
        ({"ttl_seconds": 0}, "1 or more"),
    ],
)
def test_a_setting_that_cannot_be_meant_says_where_it_stands(config: dict[str, object], word: str) -> None:
    with pytest.raises(BadRequest, match=word) as caught:
        resolve({}, config)
    assert "from call (config)" in str(caught.value)


@pytest.mark.parametrize("content", ["crew = ", "\x00", "crew = 3\n[["])
def test_a_broken_file_is_named(folder: Path, content: str) -> None:
    (folder / "kmnb.toml").write_text(content)
    with pytest.raises(BadRequest, match=r"kmnb\.toml"):
        resolve({})


def test_the_thread_is_the_notebook_where_it_is_known(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("JPY_SESSION_NAME", str(folder / "work" / "a.ipynb"))
    assert resolve({}).names.thread == "work/a.ipynb"
    monkeypatch.setenv("JPY_SESSION_NAME", "relative.ipynb")
    assert resolve({}).names.session == "relative.ipynb"


def test_a_notebook_with_a_long_path_gives_a_short_thread_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    threads = set()
    for last in "ab":
        monkeypatch.setenv("JPY_SESSION_NAME", "\u5206\u6790" * 70 + f"{last}.ipynb")
        threads.add(resolve({}).names.thread)
    assert len(threads) == 2
    assert all(len(thread) < 40 for thread in threads)


def test_the_app_is_the_namespace_where_one_is_named() -> None:
    assert resolve({"namespace": "shop"}).names.app == "shop"
    assert resolve({"namespace": "shop", "app": "own"}).names.app == "own"


def test_the_hub_names_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUPYTERHUB_USER", "hub-user")
    found = resolve({}).names
    assert (found.user, found.agent) == ("hub-user", "somebody")


def test_credentials_in_a_url_are_not_shown() -> None:
    found = resolve({"url": "nats://user:secret@host:4222/b?token=hidden"})
    assert "secret" in found.url
    assert all("secret" not in str(setting.value) and "hidden" not in str(setting.value) for setting in found.origins)
    assert "secret" not in repr(found)
