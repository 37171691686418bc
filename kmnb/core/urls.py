"""URLs shown without the secrets that they may hold."""

from __future__ import annotations

import re
from typing import NamedTuple

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*")
_AUTHORITY = re.compile(r"[^/?#]*")
_QUERY = re.compile(r"[?#]")
_ODD_PORT = re.compile(r":(?!\d*\Z)")


OF_FOLDERS = frozenset({"file", "nats+embedded"})
"""Schemes whose path is a folder of this machine, which may hold any sign; the place of others is their host."""


class Cut(NamedTuple):
    """A URL cut where it can be cut without doubt."""

    scheme: str
    user_info: str | None
    rest: str


def bare_url(url: str) -> str:
    """Give a URL that :func:`split_url` read without its user info; the query stays."""
    raw = cut(url)
    return unread(url) if raw is None else f"{raw.scheme}://{raw.rest}"


def public_url(url: str) -> str:
    """Give a URL without user info, query and fragment, which may hold secrets."""
    raw = cut(url)
    if raw is None:
        return unread(url)
    place = _QUERY.split(raw.rest, maxsplit=1)[0]
    host = _AUTHORITY.match(place)
    end = host.end() if host else 0
    if not end and "@" in place and raw.scheme.lower() not in OF_FOLDERS:
        return unread(url)
    return f"{raw.scheme}://{public_host(place[:end])}{place[end:]}"


def unread(text: str) -> str:
    """Show what could not be read as a URL, or as a part of one: better too little than a secret.

    Whatever stands before the last ``@``, in a query, or where a port should, may be a password.
    """
    scheme, mark, rest = text.partition("://")
    if not mark or not _SCHEME.fullmatch(scheme):
        scheme, mark, rest = "", "", text
    place, *query = _QUERY.split(rest, maxsplit=1)
    if query and "@" in query[0]:
        return f"{scheme}{mark}…"
    host, slash, path = place.rpartition("@")[2].partition("/")
    return f"{scheme}{mark}{public_host(host)}{slash}{path}"


def public_host(hosts: str) -> str:
    """Show hosts and ports; what stands in the place of a port and is none, or is escaped, may be a password."""
    return ",".join(_public_host(host) for host in hosts.rpartition("@")[2].split(","))


def _public_host(host: str) -> str:
    if host.startswith("[") and "]" in host:
        return host
    if "%" in host:
        return "…"
    odd = _ODD_PORT.search(host)
    return host if odd is None else f"{host[: odd.start()]}:…"


def cut(url: str) -> Cut | None:
    """Take the user info off a URL; None where it is not sure which part it is, since it was not escaped."""
    scheme, mark, rest = url.partition("://")
    if not mark or not _SCHEME.fullmatch(scheme):
        return None
    found = _AUTHORITY.match(rest)
    own = found[0] if found else ""
    after = rest[len(own) :]
    info, sign, host = own.rpartition("@")
    if sign:
        is_sure = "@" not in after and not ("@" in info and "," in info)
        return Cut(scheme, info, host + after) if is_sure else None
    if "@" in after and ":" in own:
        # What looks like a host with a port may be a user, and a password with a slash, question mark or hash in it.
        return None
    if "@" in after.partition("#")[2]:
        # A fragment means nothing in a store's URL: it is the rest of a token with a hash in it.
        return None
    if ":" in _QUERY.split(after, maxsplit=1)[0].rpartition("@")[0]:
        # A user and a password where a path is, since there is a slash too many.
        return None
    return Cut(scheme, None, rest)
