"""What opening a bucket has in common on all clouds."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from kmnb.core.bounds import CONNECT_SECONDS, REQUEST_SECONDS
from kmnb.core.metadata import Capability
from kmnb.errors import StoreUnavailable
from kmnb.storage._obstore import Bucket
from kmnb.storage._urls import StoreUrl, number_option
from kmnb.storage.backends._bucket import BucketBackend

_BUCKET = re.compile(r"[A-Za-z0-9$_][A-Za-z0-9._-]*")
RETRIES = 2
"""How often a request is sent again when the server or the connection fails."""
RETRY_SECONDS = 10
"""Time after which nothing is sent again."""
METADATA_BYTES = 2_000
"""What of an object's metadata is used: S3 takes 2,048 bytes with the name, GCS and Azure 8,192."""


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


def connect_option(options: Mapping[str, Any]) -> float:
    """Give how long connecting may take, in seconds.

    Raises:
        BadRequest: It is no such number.
    """
    return number_option(options, "connect_seconds", (0.05, 3600))


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
    bucket = Bucket(store, str(url))
    can = frozenset({Capability.RANGE, Capability.DURABLE, Capability.CROSS_PROCESS, Capability.LIFECYCLE})
    prefix = f"{url.path}/" if url.path else ""
    backend = BucketBackend(bucket, prefix, metadata_bytes=METADATA_BYTES, capabilities=can)
    try:
        await asyncio.wait_for(bucket.probe(), connect_seconds)
    except TimeoutError:
        reason = f"it did not answer within {connect_seconds:g} s"
        raise StoreUnavailable(bucket.name, reason, "Check the endpoint and the network") from None
    return backend
