"""Store URLs, taken apart. Pure; ``kmnb.core.urls`` shows them without secrets."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from kmnb.core.urls import OF_FOLDERS, cut, public_host, unread
from kmnb.errors import BadRequest

_STEP = "Write for example file:///path, memory://, nats://host, s3://bucket/prefix"
_TYPO = re.compile(r"[a-z][a-z0-9_-]{0,30}\Z")
_ESCAPE = "Write / ? # @ , in them as %2F %3F %23 %40 %2C, or keep them out of the URL"


@dataclass(frozen=True, slots=True)
class StoreUrl:
    """The parts of a store URL."""

    scheme: str
    """In small letters, for example ``s3``."""
    host: str
    """Host and port, bucket or container; without user info; as it was written."""
    path: str
    """Decoded path without its leading slash for all but folders, which keep it."""
    options: Mapping[str, str] = field(repr=False)
    """What the query says; may hold secrets."""
    user_info: str | None = field(default=None, repr=False)
    """What stands before the ``@``, as it was written; never shown."""

    def __str__(self) -> str:
        slash = "" if not self.path or self.path.startswith("/") else "/"
        return f"{self.scheme}://{public_host(self.host)}{slash}{self.path}"

    def refused(self, reason: str, step: str) -> BadRequest:
        """Give the error for a URL in which something stands where it should not: none of it is shown."""
        return BadRequest(f"store URL {self.scheme}://…", reason, step)


def split_url(url: str) -> StoreUrl:
    """Take a store URL apart.

    Args:
        url: For example ``s3://bucket/prefix?endpoint=http://localhost:9000``.

    Returns:
        Its parts, without user info.

    Raises:
        BadRequest: It is not a URL, or has a fragment.
    """
    if not isinstance(url, str) or not url.partition("://")[0] or "://" not in url:
        hint = f"Write file://{unread(url)}" if isinstance(url, str) and url.startswith("/") else _STEP
        raise BadRequest(f"store URL {unread(str(url))!r}", "it has no scheme", hint)
    raw = cut(url)
    if raw is None:
        reason = "its user and password cannot be told from the rest"
        raise BadRequest(f"store URL {unread(url)!r}", reason, _ESCAPE)
    if "#" in raw.rest:
        # Passed over, it would open another place than the one that was named.
        reason = "a # begins a fragment, which a store's URL does not have"
        raise BadRequest(f"store URL {raw.scheme}://…", reason, "Write # as %23")
    try:
        parts = urlsplit(f"{raw.scheme}://{raw.rest}")
        pairs = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
    except ValueError:
        raise BadRequest(f"store URL {unread(url)!r}", "it cannot be read", _STEP) from None
    path = unquote(parts.path)
    path = path if parts.scheme in OF_FOLDERS else path.strip("/")
    return StoreUrl(parts.scheme, parts.netloc, path, dict(pairs), raw.user_info)


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
        # What stands in a query may be a piece of a password; a name that somebody mistyped looks like one of ours.
        is_shown = name in options or _is_near(name, known)
        thing, names = f"option {name!r}" if is_shown else "an option of the URL", ", ".join(sorted(known)) or "none"
        raise BadRequest(thing, f"a {url.scheme} store does not have it", f"Known: {names}")
    return {**known, **given}


def _is_near(name: str, known: Mapping[str, Any]) -> bool:
    from difflib import get_close_matches

    return _TYPO.match(name) is not None and bool(get_close_matches(name, known, n=1))


def number_option(options: Mapping[str, Any], name: str, bounds: tuple[float, float]) -> float:
    """Read an option that is a number, as a value or as text of a URL; values are never shown.

    Args:
        options: What :func:`take_options` gave.
        name: The option.
        bounds: The least and the largest value.

    Raises:
        BadRequest: It is no number, or not between the bounds.
    """
    least, most = bounds
    try:
        number = float(options[name])
    except (TypeError, ValueError):
        number = float("nan")
    if not least <= number <= most:
        raise BadRequest(f"option {name!r}", f"it is not a number from {least:g} to {most:g}")
    return number


def flag_option(options: Mapping[str, Any], name: str) -> bool:
    """Read an option that is true or false, as a value or as text of a URL.

    Raises:
        BadRequest: It is neither.
    """
    known = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
    value = known.get(str(options[name]).lower())
    if value is None:
        raise BadRequest(f"option {name!r}", "it is neither true nor false", f"Write {name}=true")
    return value
