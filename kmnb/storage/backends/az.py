"""Stores in Azure Blob Storage: ``az://container/prefix``.

The account comes from ``AZURE_STORAGE_ACCOUNT_NAME`` or ``account=``, credentials from ``AZURE_STORAGE_ACCOUNT_KEY``,
``AZURE_STORAGE_CONNECTION_STRING``, ``AZURE_STORAGE_SAS_KEY``, ``AZURE_CLIENT_ID`` … or the machine; never from the
URL. Create-only writes use ``If-None-Match: *``, records ``If-Match``.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from kmnb.core.bounds import CONNECT_SECONDS
from kmnb.errors import BadRequest
from kmnb.storage._urls import flag_option, split_url
from kmnb.storage.backends import _bucket_open as common
from kmnb.storage.backends._bucket import BucketBackend

_OPTIONS: dict[str, Any] = {"account": None, "endpoint": None, "anonymous": False, "connect_seconds": CONNECT_SECONDS}


class _Plugin:
    schemes = ("az",)
    summary = "a container in Azure Blob Storage"

    async def open(self, url: str, options: Mapping[str, Any]) -> BucketBackend:
        """Open a container.

        Args:
            url: ``az://container/prefix``.
            options: ``account`` name; ``endpoint`` of another server; ``anonymous`` for public containers;
                ``connect_seconds``.

        Raises:
            BadRequest: No container or account, or an unknown option.
            StoreUnavailable: It cannot be reached, or there is no such container.
            StoreDenied: It refuses the credentials, or there are none.
        """
        parts = split_url(url)
        given = common.checked_options(parts, options, _OPTIONS)
        name = common.bucket_name(parts)
        store = common.make_store(parts, lambda: _store(name, given))
        return await common.open_bucket(store, parts, connect_seconds=given["connect_seconds"])


def _store(name: str, given: Mapping[str, Any]) -> Any:
    from obstore.store import AzureStore

    config: Any = _connection_string(os.environ.get("AZURE_STORAGE_CONNECTION_STRING", ""))
    for option, setting in (("account", "account_name"), ("endpoint", "endpoint")):
        if given[option] is not None:
            config[setting] = given[option]
    if "account_name" not in config and not os.environ.get("AZURE_STORAGE_ACCOUNT_NAME"):
        step = "Set AZURE_STORAGE_ACCOUNT_NAME, or give account="
        raise BadRequest(f"container {name!r}", "its account is not known", step)
    if flag_option(given, "anonymous"):
        config["skip_signature"] = True
    endpoint = config.get("endpoint") or os.environ.get("AZURE_STORAGE_ENDPOINT")
    if endpoint:
        common.checked_endpoint("the endpoint of the account", endpoint)
    return AzureStore(
        name,
        config=config,
        client_options=common.client_options(endpoint, connect_seconds=given["connect_seconds"]),
        retry_config=common.retry_config(),
    )


def _connection_string(text: str) -> dict[str, Any]:
    parts = dict(part.split("=", 1) for part in text.split(";") if "=" in part)
    names = {"AccountName": "account_name", "AccountKey": "account_key", "BlobEndpoint": "endpoint",
             "SharedAccessSignature": "sas_key"}  # fmt: skip
    return {ours: parts[theirs] for theirs, ours in names.items() if theirs in parts}


BACKEND = _Plugin()
