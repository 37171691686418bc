"""Where a NATS store is and how to log in: the URL, its options, and the usual credential places."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote, urlsplit

from kmnb.core.bounds import CONNECT_SECONDS, REQUEST_SECONDS
from kmnb.errors import BadRequest
from kmnb.storage._urls import number_option, split_url, take_options
from kmnb.storage.backends import _nats_login as logins
from kmnb.storage.backends._nats_login import Login

DISCUSSIONS = "kubemoot_discussion_artifacts"
"""Default bucket of discussion artifacts."""
NAMED = "kmnb_named_artifacts"
"""Default bucket of named artifacts."""
RECORDS = "kmnb_threads"
"""Default key-value bucket of records."""

_HOST = re.compile(r"[\w.-]+|[0-9a-f:.]+(%[\w.-]+)?")
_OPTIONS: Mapping[str, Any] = {
    "bucket": None,
    "named_bucket": NAMED,
    "records_bucket": RECORDS,
    "replicas": 1,
    "domain": "",
    "connect_seconds": CONNECT_SECONDS,
    "request_seconds": REQUEST_SECONDS,
    **logins.OPTIONS,
}


@dataclass(frozen=True, slots=True)
class Address:
    """Everything that is needed to connect. Its repr holds no secret."""

    servers: tuple[str, ...]
    """Server URLs without user info."""
    bucket: str
    """Bucket of discussion artifacts."""
    named_bucket: str
    """Bucket of named artifacts."""
    records_bucket: str
    """Key-value bucket of records."""
    replicas: int
    """Copies that new buckets keep."""
    api: str
    """Root of the subjects of JetStream's API, which names the domain where there is one."""
    connect_seconds: float
    """Longest time that connecting may take."""
    request_seconds: float
    """Longest time that one request may take, reconnects included."""
    login: Login = field(default_factory=Login, repr=False)
    """Credentials."""

    @property
    def shown(self) -> str:
        """Hosts and ports for messages."""
        return ", ".join(server.partition("://")[2] for server in self.servers)


def read_address(url: str, options: Mapping[str, Any], *, with_login: bool = True) -> Address:
    """Read a URL ``nats://[user:password@|token@]host[:port][,host…][/BUCKET][?option=value]``.

    Args:
        url: The URL.
        options: Options of the call; they win.
        with_login: Whether credentials are looked for; those of an embedded server lie beside its data.

    Returns:
        Servers, buckets, limits and login.

    Raises:
        BadRequest: It is no such URL, or an option is unknown or of the wrong kind.
    """
    parts = split_url(url)
    chosen = take_options(parts, options, _OPTIONS)
    login, server = Login(), None
    if with_login:
        login, server = logins.read_login(
            _user_info(parts.user_info) | {name: chosen[name] for name in logins.OPTIONS if chosen[name]}
        )
    hosts = parts.host or split_url(server or "nats://").host
    if not hosts:
        raise parts.refused("it names no host", "Write nats://host:4222")
    names = [
        _bucket(chosen["bucket"] or parts.path or DISCUSSIONS, "the bucket of the URL"),
        _bucket(chosen["named_bucket"], "option 'named_bucket'"),
        _bucket(chosen["records_bucket"], "option 'records_bucket'"),
    ]
    return Address(
        servers=tuple(_server("nats", host) for host in hosts.split(",")),
        bucket=names[0],
        named_bucket=names[1],
        records_bucket=names[2],
        replicas=int(number_option(chosen, "replicas", (1, 5))),
        api=_api(chosen["domain"]),
        connect_seconds=number_option(chosen, "connect_seconds", (0.05, 3600)),
        request_seconds=number_option(chosen, "request_seconds", (0.05, 3600)),
        login=login,
    )


def _server(scheme: str, host: str) -> str:
    try:
        port = urlsplit(f"//{host}").port or 4222
        name = urlsplit(f"//{host}").hostname
    except ValueError:
        name = None
    if not name or not _HOST.fullmatch(name):
        raise BadRequest("a host of the store URL", "it is no host and port", "Write nats://host:4222")
    return f"{scheme}://{f'[{name}]' if ':' in name else name}:{port}"


def _user_info(info: str | None) -> dict[str, Any]:
    if info is None:
        return {}
    user, colon, password = info.partition(":")
    if not colon:
        return {"token": unquote(user)} if user else {}
    return {"user": unquote(user), "password": unquote(password)}


def _api(domain: Any) -> str:
    return "$JS.API" if not domain else f"$JS.{_bucket(domain, 'the option domain')}.API"


def _bucket(name: Any, thing: str) -> str:
    if (
        not isinstance(name, str)
        or not name
        or not all(sign.isascii() and (sign.isalnum() or sign in "_-") for sign in name)
    ):
        raise BadRequest(thing, "NATS allows letters, digits, _ and - only in such a name")
    return name
