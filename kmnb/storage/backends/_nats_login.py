"""Credentials for NATS, from the usual places; one object serves the shared connection and the bulk ones."""

from __future__ import annotations

import base64
import json
import os
import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kmnb.errors import BadRequest, StoreDenied

_SECTION = re.compile(r"-+BEGIN ([A-Z ]+)-+\s+(\S+)\s+-+END [A-Z ]+-+")
_ENVIRONMENT: Mapping[str, str] = {
    "context": "NATS_CONTEXT",
    "creds": "NATS_CREDS",
    "nkey": "NATS_NKEY",
    "user": "NATS_USER",
    "password": "NATS_PASSWORD",
    "token": "NATS_TOKEN",
    "tls_ca": "NATS_CA",
    "tls_cert": "NATS_CERT",
    "tls_key": "NATS_KEY",
}
"""The variables of the ``nats`` command line, by our option."""
_CONTEXT: Mapping[str, str] = {
    "creds": "creds",
    "nkey": "nkey",
    "user": "user",
    "password": "password",
    "token": "token",
    "tls_ca": "ca",
    "tls_cert": "cert",
    "tls_key": "key",
    "tls_first": "tls_first",
}
"""The fields of a context file of the ``nats`` command line, by our option."""
OPTIONS: Mapping[str, Any] = {
    **dict.fromkeys(_ENVIRONMENT),
    "tls_hostname": None,
    "tls_first": False,
    "tls_required": False,
}
"""Options of a store URL that say how to log in; secrets belong into files and the environment instead."""


@dataclass(frozen=True, slots=True)
class Login:
    """How to log in. Nothing of it is ever shown."""

    user: str | None = field(default=None, repr=False)
    """User name; with a password."""
    password: str | None = field(default=None, repr=False)
    """Its password."""
    token: str | None = field(default=None, repr=False)
    """A token instead."""
    jwt: str | None = field(default=None, repr=False)
    """A signed user claim, from a creds file; with a seed."""
    seed: str | None = field(default=None, repr=False)
    """The seed that signs the server's nonce."""
    tls: ssl.SSLContext | None = field(default=None, repr=False)
    """TLS settings; None for the defaults where the server asks for TLS."""
    tls_hostname: str | None = field(default=None, repr=False)
    """Name that the server's certificate must have; None for the host of the URL."""
    tls_first: bool = False
    """Whether TLS starts before the server says anything."""
    tls_required: bool = False
    """Whether a server without TLS is refused, before anything is told to it."""

    def client_arguments(self) -> dict[str, Any]:
        """Give the arguments of the NATS client."""
        arguments: dict[str, Any] = {"user": self.user, "password": self.password, "token": self.token}
        arguments |= {"tls": self.tls, "tls_hostname": self.tls_hostname, "tls_handshake_first": self.tls_first}
        if self.jwt is not None:
            jwt = self.jwt.encode()
            arguments |= {"user_jwt_cb": lambda: jwt, "signature_cb": lambda nonce: self._sign(nonce).encode()}
        elif self.seed is not None:
            arguments["nkeys_seed_str"] = self.seed
        return arguments

    def connect_fields(self, nonce: str | None) -> dict[str, str]:
        """Give the fields of a CONNECT line; ``nonce`` is what the server asks to sign."""
        if self.seed is not None and nonce is not None:
            fields = {"sig": self._sign(nonce)}
            return {**fields, "jwt": self.jwt} if self.jwt is not None else {**fields, "nkey": self._public()}
        if self.user is not None and self.password is not None:
            return {"user": self.user, "pass": self.password}
        return {} if self.token is None else {"auth_token": self.token}

    def _sign(self, nonce: str) -> str:
        import nkeys

        pair = nkeys.from_seed(bytearray((self.seed or "").encode()))
        signature = base64.b64encode(pair.sign(nonce.encode())).decode()
        pair.wipe()
        return signature

    def _public(self) -> str:
        import nkeys

        pair = nkeys.from_seed(bytearray((self.seed or "").encode()))
        public: str = pair.public_key.decode()
        pair.wipe()
        return public


def read_login(given: Mapping[str, Any]) -> tuple[Login, str | None]:
    """Collect credentials: what was given, else the environment, else the context that one of these names.

    Args:
        given: Values for :data:`OPTIONS` that somebody chose, and what stood in the URL.

    Returns:
        The login, and the server URL of the context where there is one.

    Raises:
        BadRequest: A file that was named cannot be read or holds something else.
    """
    found, places = dict(given), {name: f"option {name!r}" for name in given}
    # One way to log in is chosen as a whole: a password of the environment does not belong to a user of the URL.
    has_own = bool({"creds", "nkey", "user", "token", "context"} & found.keys())
    for name, variable in _ENVIRONMENT.items():
        if (name.startswith("tls_") or not has_own) and name not in found and os.environ.get(variable):
            found[name], places[name] = os.environ[variable], f"${variable}"
    server = None
    if context := found.pop("context", None):
        settings = _read_context(str(context), f"the NATS context of {places['context']}")
        server = settings.get("url") or None
        of_context = {ours: settings[theirs] for ours, theirs in _CONTEXT.items() if settings.get(theirs)}
        places = {**{name: f"{name} of the NATS context" for name in of_context}, **places}
        found = {**of_context, **found}
    return _login(found, places), server


def _login(found: Mapping[str, Any], places: Mapping[str, str]) -> Login:
    """Read what the values name. Errors tell where a value stands, never the value: it may be a misplaced secret."""
    jwt = seed = None
    if "creds" in found:
        thing = f"the creds file of {places['creds']}"
        sections = dict(_SECTION.findall(_read(found["creds"], thing)))
        jwt, seed = sections.get("NATS USER JWT"), sections.get("USER NKEY SEED")
        if not jwt or not seed:
            raise BadRequest(thing, "it holds no user JWT and seed")
        _check_seed(seed, thing)
    elif "nkey" in found:
        thing = f"the nkey file of {places['nkey']}"
        seed = _read(found["nkey"], thing).strip()
        _check_seed(seed, thing)
    user, token = found.get("user"), found.get("token")
    if user is not None and found.get("password") is None:
        user, token = None, token or user
    return Login(
        user=user,
        password=found.get("password"),
        token=token,
        jwt=jwt,
        seed=seed,
        tls=_tls(found, places),
        tls_hostname=found.get("tls_hostname"),
        tls_first=_is_set(found.get("tls_first")),
        tls_required=_is_set(found.get("tls_required")),
    )


def _is_set(value: Any) -> bool:
    return str(value).lower() in ("1", "true", "yes")


def _check_seed(seed: str, thing: str) -> None:
    import nkeys

    try:
        nkeys.from_seed(bytearray(seed.encode())).wipe()
    except Exception:
        raise BadRequest(thing, "its seed is not a valid nkey seed") from None


def _tls(found: Mapping[str, Any], places: Mapping[str, str]) -> ssl.SSLContext | None:
    if not {"tls_ca", "tls_cert", "tls_key"} & found.keys():
        return None
    try:
        context = ssl.create_default_context(cafile=found.get("tls_ca"))
        if "tls_cert" in found:
            context.load_cert_chain(found["tls_cert"], found.get("tls_key"))
    except (OSError, ssl.SSLError) as error:
        names = ", ".join(places[name] for name in ("tls_ca", "tls_cert", "tls_key") if name in found)
        raise BadRequest(f"TLS files of {names}", error.strerror or "they cannot be used") from None
    return context


def _read_context(name: str, thing: str) -> dict[str, Any]:
    if not re.fullmatch(r"[A-Za-z0-9_.-]+", name) or name.startswith("."):
        raise BadRequest(thing, "no context can have that name")
    import platformdirs

    path = Path(platformdirs.user_config_dir("nats", appauthor=False)) / "context" / f"{name}.json"
    text = _read(path, thing)
    try:
        settings = json.loads(text)
    except ValueError:
        settings = None
    if not isinstance(settings, dict):
        raise BadRequest(thing, "it is not a JSON document of settings")
    return settings


def _read(path: Any, thing: str) -> str:
    try:
        return Path(str(path)).expanduser().read_text("utf-8")
    except PermissionError:
        raise StoreDenied(thing, "it may not be read") from None
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is no text"
        raise BadRequest(thing, reason, "See whether the path is right") from None
