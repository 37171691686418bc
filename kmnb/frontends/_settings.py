"""The only reader of environment variables and configuration files.

A value comes from the call, else from ``KMNB_NAME``, else from ``kmnb.toml`` or ``[tool.kmnb]`` of a
``pyproject.toml`` in the working folder or above it, else from the user's configuration folder, else it is a default.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kmnb.core.arguments import checked
from kmnb.core.config import SETTINGS, Names, Setting, Settings, pick
from kmnb.core.describe import Operation
from kmnb.core.keys import escape
from kmnb.core.urls import public_url
from kmnb.errors import BadRequest, said
from kmnb.frontends._mesh import is_mesh, translate

_BY_NAME = {param.name: param for param in SETTINGS.params}
_FILE_MAX_BYTES = 1024 * 1024
_NOTEBOOK_MAX_BYTES = 400


@dataclass(frozen=True, slots=True)
class Resolved:
    """All settings of one workspace."""

    url: str = field(repr=False)
    """Address of the store; may hold credentials, so it is never shown as it is."""
    names: Names
    """Namespace, crew, thread and the rest."""
    settings: Settings
    """Limits and choices."""
    origins: tuple[Setting, ...]
    """Every setting with its value and where it comes from; URLs without user info."""


def resolve(call: Mapping[str, Any], config: Mapping[str, Any] | str | os.PathLike[str] | None = None) -> Resolved:
    """Find the value of every setting.

    Args:
        call: What the caller gave; None means "not given".
        config: A configuration file, or its content as a dict, that takes the place of the files found by themselves.

    Raises:
        BadRequest: An unknown setting, or a value of the wrong kind; the message says where it stands.
    """
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for origin, source in _layers(call, config):
        for name, value in source.items():
            if value is not None and name not in values:
                values[name], origins[name] = _check(name, value, origin), origin
    for name, value in _defaults(values).items():
        values[name], origins[name] = value, "default"
    shown = tuple(Setting(name, _show(name, values[name]), origins[name]) for name in _BY_NAME)
    return Resolved(values["url"], pick(Names, values), pick(Settings, values), shown)


def _layers(
    call: Mapping[str, Any], config: Mapping[str, Any] | str | os.PathLike[str] | None
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    yield "call", call
    for name in _BY_NAME:
        if value := os.environ.get(f"KMNB_{name.upper()}"):
            yield f"environment KMNB_{name.upper()}", {name: value}
    if isinstance(config, Mapping):
        yield "call (config)", _ours(config)
    elif config is not None:
        yield str(config), _ours(_read(Path(config)))
    else:
        yield from _found_files()


def _ours(document: Mapping[str, Any]) -> Mapping[str, Any]:
    return translate(document, os.environ) if is_mesh(document) else document


def _found_files() -> Iterator[tuple[str, Mapping[str, Any]]]:
    here = Path.cwd()
    for folder in (here, *here.parents):
        own, project = folder / "kmnb.toml", folder / "pyproject.toml"
        if own.is_file():
            yield str(own), _read(own)
            break
        if project.is_file():
            if table := _read(project):
                yield str(project), table
            break
    home = _base("XDG_CONFIG_HOME", ".config") / "kmnb" / "kmnb.toml"
    if home.is_file():
        yield str(home), _read(home)


def _read(path: Path) -> Mapping[str, Any]:
    try:
        with path.open("rb") as file:
            document = _parse(file.read(_FILE_MAX_BYTES).decode(), path.suffix)
    except (OSError, ValueError) as error:
        raise BadRequest(f"configuration file {path}", said(error), "Correct or remove it.") from error
    if path.name == "pyproject.toml":
        document = document.get("tool", {}).get("kmnb", {})
    return document


def _parse(text: str, suffix: str) -> dict[str, Any]:
    if suffix not in (".yaml", ".yml"):
        import tomllib

        return tomllib.loads(text)
    import yaml

    try:
        document = yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError) as error:
        raise ValueError(str(error)) from error
    if not isinstance(document, dict):
        raise ValueError("it is no block of keys")  # noqa: TRY004  # a fault of the file, not of a caller's type
    return document


def _check(name: str, value: Any, origin: str) -> Any:
    try:
        if name not in _BY_NAME:
            checked(SETTINGS, {name: value})
        return checked(Operation("setting", "", (_BY_NAME[name],)), {name: value})[name]
    except BadRequest as error:
        raise BadRequest(error.thing, f"{error.reason} (from {origin})", error.next_step) from None


def _defaults(values: Mapping[str, Any]) -> dict[str, Any]:
    missing = {name: param.default for name, param in _BY_NAME.items() if name not in values}
    if "url" in missing:
        missing["url"] = default_url()
    if "thread" in missing:
        missing["thread"] = _notebook() or "default"
    for name in ("agent", "user"):
        if name in missing:
            hub = os.environ.get("JUPYTERHUB_USER") if name == "user" else None
            missing[name] = hub or _login()
    if "app" in missing and "namespace" in values:
        # Components of one namespace share their named artifacts, those of another do not.
        missing["app"] = values["namespace"]
    if "session" in missing:
        missing["session"] = values.get("thread") or missing["thread"]
    return missing


def default_url() -> str:
    """Address of the store that is used without any setting: a folder in the user's data folder, private to them."""
    return (_base("XDG_DATA_HOME", ".local/share") / "kmnb" / "store").as_uri() + "?private=true"


def _base(variable: str, below_home: str) -> Path:
    given = os.environ.get(variable, "")
    return Path(given) if os.path.isabs(given) else Path.home() / below_home


def _notebook() -> str | None:
    # jupyter_server gives a kernel the path of its notebook in this variable.
    path = os.environ.get("JPY_SESSION_NAME")
    if not path:
        return None
    home = str(Path.home())
    name = os.path.relpath(path, home) if path.startswith(home + os.sep) else path
    if len(escape(name)) <= _NOTEBOOK_MAX_BYTES:
        return name
    # Escapes take three bytes for each byte; a key has to have room for what stands beside the thread.
    return f"notebook-{hashlib.sha256(name.encode('utf-8', 'surrogateescape')).hexdigest()[:16]}"


def _login() -> str:
    import getpass

    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())


def _show(name: str, value: Any) -> Any:
    return public_url(value) if name == "url" else value
