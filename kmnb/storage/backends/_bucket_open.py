"""What opening a bucket has in common on all clouds."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

from obstore.exceptions import BaseError

from kmnb.core.bounds import CONNECT_SECONDS, REQUEST_SECONDS
from kmnb.core.metadata import Capability
from kmnb.errors import BadRequest, KeySyntaxError, KmnbError, StoreDenied, StoreUnavailable
from kmnb.storage._keys import check_prefix
from kmnb.storage._obstore import Bucket
from kmnb.storage._urls import StoreUrl, number_option, take_options
from kmnb.storage.backends._bucket import BucketBackend

RETRIES = 2
"""How often a request is sent again when the server or the connection fails."""
RETRY_SECONDS = 10
"""Time after which nothing is sent again."""
METADATA_BYTES = 2_000
"""What of an object's metadata is used: S3 takes 2,048 bytes with the name, GCS and Azure 8,192."""
_BUCKET = re.compile(r"[A-Za-z0-9$_][A-Za-z0-9._-]*")
_WORD = re.compile(r"[A-Za-z0-9-]{1,64}")
_PRINTED = re.compile(r"[!-~]+")


def checked_options(url: StoreUrl, options: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """Take the options of a bucket, and make sure that those which all clouds have are of the right kind.

    Raises:
        BadRequest: An option is unknown, or cannot be.
    """
    given = take_options(url, options, known)
    given["connect_seconds"] = number_option(given, "connect_seconds", (0.05, 3600))
    for name in ("region", "account"):
        if given.get(name) is not None:
            check_word(f"option {name!r}", given[name])
    if given["endpoint"] is not None:
        given["endpoint"] = checked_endpoint("option 'endpoint'", given["endpoint"])
    return given


def check_word(thing: str, value: Any) -> None:
    """Make sure of a name that goes into addresses and headers.

    Raises:
        BadRequest: It cannot be one.
    """
    if not isinstance(value, str) or not _WORD.fullmatch(value):
        raise BadRequest(thing, "it is not a word of letters, digits and hyphens", "Correct it, or leave it out")


def checked_endpoint(thing: str, value: Any) -> str:
    """Make sure of a server's address; it is not shown, since it may hold a password.

    Args:
        thing: Where it comes from, for example an option or a variable.
        value: The address.

    Raises:
        BadRequest: It is none, or it holds credentials.
    """
    step = "Write for example http://127.0.0.1:9000; credentials belong into the environment"
    try:
        parts = urlsplit(value if isinstance(value, str) else "")
        is_whole = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
    except ValueError:
        is_whole = False
    if not is_whole or not _PRINTED.fullmatch(value):
        raise BadRequest(thing, "it is not an http or https address with a host", step)
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise BadRequest(thing, "an endpoint has neither user, query nor fragment", step)
    return str(value)


def make_store(url: StoreUrl, make: Callable[[], Any]) -> Any:
    """Make a store of obstore, which reads credentials where it is made.

    Raises:
        StoreDenied: It cannot use what it read.
    """
    try:
        return make()
    except KmnbError:
        raise
    except BaseException as error:
        if type(error).__name__ != "PanicException" and not isinstance(error, BaseError | ValueError | OSError):
            raise
    # Raised out here it has no context, whose text may hold parts of the credentials.
    step = "Check the variables, keys and files of credentials that it reads"
    raise StoreDenied(str(url), "the credentials that were found cannot be read", step)


def client_options(endpoint: str | None, *, connect_seconds: float) -> Any:
    """Give obstore's options: bounded time-outs, and plain HTTP only where the endpoint says so."""
    options: dict[str, Any] = {
        "connect_timeout": timedelta(seconds=connect_seconds),
        "timeout": timedelta(seconds=REQUEST_SECONDS),
    }
    return {**options, "allow_http": True} if endpoint is not None and endpoint.startswith("http://") else options


def retry_config() -> Any:
    """Give obstore's rule for sending again: a few times, soon, and never for minutes."""
    backoff = {"init_backoff": timedelta(milliseconds=100), "max_backoff": timedelta(seconds=2), "base": 2}
    return {"max_retries": RETRIES, "retry_timeout": timedelta(seconds=RETRY_SECONDS), "backoff": backoff}


def bucket_name(url: StoreUrl) -> str:
    """Give the bucket of a URL.

    Raises:
        BadRequest: It names none, or one that no cloud takes.
    """
    if not _BUCKET.fullmatch(url.host):
        raise url.refused("it names no bucket", f"Write {url.scheme}://bucket/prefix")
    return url.host


async def open_bucket(store: Any, url: StoreUrl, *, connect_seconds: float = CONNECT_SECONDS) -> BucketBackend:
    """Make sure that a bucket answers, then open it.

    Args:
        store: A store of obstore.
        url: The store's URL.
        connect_seconds: How long the first answer may take.

    Raises:
        StoreUnavailable: It does not answer in time, or there is no such bucket.
        StoreDenied: It refuses the credentials.
    """
    try:
        prefix = f"{check_prefix(url.path)}/" if url.path else ""
    except KeySyntaxError as error:
        raise url.refused(f"its prefix {error.reason}", "Use another prefix") from None
    bucket = Bucket(store, str(url))
    can = frozenset({Capability.RANGE, Capability.DURABLE, Capability.CROSS_PROCESS, Capability.LIFECYCLE})
    backend = BucketBackend(bucket, prefix, metadata_bytes=METADATA_BYTES, capabilities=can)
    try:
        await asyncio.wait_for(bucket.probe(prefix), connect_seconds)
    except TimeoutError:
        reason = f"it did not answer within {connect_seconds:g} s"
        raise StoreUnavailable(bucket.name, reason, "Check the endpoint and the network") from None
    return backend
