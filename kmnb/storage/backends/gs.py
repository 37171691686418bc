"""Stores in Google Cloud Storage: ``gs://bucket/prefix``.

Credentials come from ``GOOGLE_APPLICATION_CREDENTIALS``, ``GOOGLE_SERVICE_ACCOUNT``, ``GCS_CREDENTIALS_JSON`` (the
key itself, Agent Mesh's variable), the user's application default or the machine; never from the URL. Create-only
writes ask for generation 0, records for the generation they read.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from kmnb.core.bounds import CONNECT_SECONDS
from kmnb.errors import StoreDenied
from kmnb.storage._urls import flag_option, split_url
from kmnb.storage.backends import _bucket_open as common
from kmnb.storage.backends._bucket import BucketBackend

_OPTIONS: dict[str, Any] = {"endpoint": None, "anonymous": False, "connect_seconds": CONNECT_SECONDS}

_BY_ENVIRONMENT = ("GOOGLE_SERVICE_ACCOUNT", "GOOGLE_SERVICE_ACCOUNT_PATH", "GOOGLE_SERVICE_ACCOUNT_KEY",
                   "GOOGLE_APPLICATION_CREDENTIALS")  # fmt: skip
# Without any of these Agent Mesh's own variable counts.


class _Plugin:
    schemes = ("gs",)
    summary = "a bucket in Google Cloud Storage"

    async def open(self, url: str, options: Mapping[str, Any]) -> BucketBackend:
        """Open a bucket.

        Args:
            url: ``gs://bucket/prefix``.
            options: ``endpoint`` of another server (default ``$STORAGE_EMULATOR_HOST``, which is asked without
                credentials); ``anonymous`` for public buckets; ``connect_seconds``.

        Raises:
            BadRequest: No bucket, or an unknown option.
            StoreUnavailable: It cannot be reached, or there is no such bucket.
            StoreDenied: It refuses the credentials, or there are none.
        """
        parts = split_url(url)
        given = common.checked_options(parts, options, _OPTIONS)
        name = common.bucket_name(parts)
        store = common.make_store(parts, lambda: _store(name, given))
        return await common.open_bucket(store, parts, connect_seconds=given["connect_seconds"])


def _store(name: str, given: Mapping[str, Any]) -> Any:
    from obstore.store import GCSStore

    emulator = os.environ.get("STORAGE_EMULATOR_HOST")
    endpoint = given["endpoint"]
    if endpoint is None and emulator:
        whole = emulator if "://" in emulator else f"http://{emulator}"
        endpoint = common.checked_endpoint("STORAGE_EMULATOR_HOST", whole)
    config: Any = {"base_url": endpoint} if endpoint else {}
    anonymous = flag_option(given, "anonymous")
    if emulator and endpoint:
        # skip_signature is not honoured by writes, which would ask the machine's metadata service for a token.
        config["bearer_token"] = "emulator"  # noqa: S105 - any text will do
    elif anonymous:
        config["skip_signature"] = True
    elif (key := os.environ.get("GCS_CREDENTIALS_JSON")) and not any(map(os.environ.get, _BY_ENVIRONMENT)):
        config["service_account_key"] = _checked_key(key)
    return GCSStore(
        name,
        config=config,
        client_options=common.client_options(endpoint, connect_seconds=given["connect_seconds"]),
        retry_config=common.retry_config(),
    )


def _checked_key(text: str) -> str:
    """Tell a key of a service account from something else, without showing any of it."""
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, dict) or not {"client_email", "private_key"} <= found.keys():
        step = "Put the JSON of the key itself there, with client_email and private_key"
        raise StoreDenied("GCS_CREDENTIALS_JSON", "it holds no key of a service account", step)
    return text


BACKEND = _Plugin()
