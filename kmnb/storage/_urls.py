"""Store URLs: taken apart, and shown without secrets. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from kmnb.errors import BadRequest

_AUTHORITY = re.compile(r"[^/?#]*")
_ODD_PORT = re.compile(r":(?!\d*\Z)")


@dataclass(frozen=True, slots=True)
class StoreUrl:
    """The parts of a store URL."""

    scheme: str
    """In small letters, for example ``s3``."""
    host: str
    """Host and port, bucket or container; without user info; as it was written."""
    path: str
    """Decoded path without its leading slash for all but files, which keep it."""
    options: Mapping[str, str]
    """What the query says."""

    def __str__(self) -> str:
        slash = "" if not self.path or self.path.startswith("/") else "/"
        return f"{self.scheme}://{self.host}{slash}{self.path}"


def split_url(url: str) -> StoreUrl:
    """Take a store URL apart.

    Args:
        url: For example ``s3://bucket/prefix?endpoint=http://localhost:9000``.

    Returns:
        Its parts, without user info.

    Raises:
        BadRequest: It is not a URL.
    """
    step = "Write for example file:///path, memory://, nats://host, s3://bucket/prefix"
    if not isinstance(url, str) or "://" not in url or not url.partition("://")[0]:
        hint = f"Write file://{url}" if isinstance(url, str) and url.startswith("/") else step
        raise BadRequest(f"store URL {public_url(str(url))!r}", "it has no scheme", hint)
    try:
        parts = urlsplit(_without_user(url))
        pairs = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
    except ValueError:
        raise BadRequest(f"store URL {public_url(url)!r}", "it cannot be read", step) from None
    path = unquote(parts.path)
    return StoreUrl(parts.scheme, parts.netloc, path if parts.scheme == "file" else path.strip("/"), dict(pairs))


def public_url(url: str) -> str:
    """Give a URL without user info, query and fragment, which may hold secrets."""
    return _without_user(url).partition("?")[0].partition("#")[0]


def _without_user(url: str) -> str:
    """Take the user info away, also one that was not escaped: better a short URL than a shown secret."""
    scheme, mark, rest = url.partition("://")
    if not mark:
        return url.rpartition("@")[2]
    authority = _AUTHORITY.match(rest)
    own = authority[0] if authority else ""
    if "@" in own:
        rest = rest[own.rindex("@") + 1 :]
    elif scheme != "file" and _ODD_PORT.search(own):
        # What looks like a port is none, so it is a password with a slash, question mark or hash in it.
        rest = rest.rpartition("@")[2]
    return f"{scheme}{mark}{rest}"


def take_options(url: StoreUrl, options: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """Join the options of the URL's query and of the call with their defaults.

    Args:
        url: The store's URL.
        options: Options of the call; they win.
        known: Names of all options, with their defaults.

    Returns:
        One value for every known option.

    Raises:
        BadRequest: An option that this backend does not have.
    """
    given = {**url.options, **options}
    for name in given.keys() - known.keys():
        names = ", ".join(sorted(known)) or "none"
        raise BadRequest(f"option {name!r}", f"a {url.scheme} store does not have it", f"Known: {names}")
    return {**known, **given}
