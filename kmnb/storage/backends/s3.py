"""Stores in S3 and what speaks its language: ``s3://bucket/prefix``, with ``endpoint=`` for other servers.

Credentials come from the environment (``AWS_ACCESS_KEY_ID`` …), a profile of ``~/.aws/credentials``, a web identity or
the machine's role; never from the URL. Create-only writes use ``If-None-Match: *``, records ``If-Match``.
"""

from __future__ import annotations

import configparser
import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from kmnb.core.bounds import CONNECT_SECONDS
from kmnb.errors import StoreDenied
from kmnb.storage._threads import in_thread
from kmnb.storage._urls import flag_option, split_url
from kmnb.storage.backends import _bucket_open as common
from kmnb.storage.backends._bucket import BucketBackend
from kmnb.storage.backends._s3_rules import S3Rules

_OPTIONS: dict[str, Any] = {
    "endpoint": None,
    "region": None,
    "profile": None,
    "anonymous": False,
    "virtual_hosted": None,
    "connect_seconds": CONNECT_SECONDS,
}
_BY_ENVIRONMENT = ("AWS_ACCESS_KEY_ID", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
                   "AWS_CONTAINER_CREDENTIALS_FULL_URI")  # fmt: skip


class _Plugin:
    schemes = ("s3",)
    summary = "a bucket in S3 or a server that speaks its language (endpoint=)"

    async def open(self, url: str, options: Mapping[str, Any]) -> BucketBackend:
        """Open a bucket.

        Args:
            url: ``s3://bucket/prefix``.
            options: ``endpoint`` of another server; ``region``; ``profile`` of ``~/.aws``; ``anonymous`` for public
                buckets; ``virtual_hosted`` for the bucket in the host name; ``connect_seconds``.

        Raises:
            BadRequest: No bucket, or an unknown option.
            StoreUnavailable: It cannot be reached, or there is no such bucket.
            StoreDenied: It refuses the credentials, or there are none.
        """
        parts = split_url(url)
        given = common.checked_options(parts, options, _OPTIONS)
        name = common.bucket_name(parts)
        config = await in_thread(partial(_config, given))
        store = common.make_store(parts, lambda: _store(name, config, given))
        backend = await common.open_bucket(store, parts, connect_seconds=given["connect_seconds"])
        backend.lifecycle = _rules(name, config, given)
        return backend


def _endpoint(given: Mapping[str, Any]) -> str | None:
    for name in ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"):
        if given["endpoint"] is None and os.environ.get(name):
            return common.checked_endpoint(name, os.environ[name])
    endpoint: str | None = given["endpoint"]
    return endpoint


def _region(config: Mapping[str, Any]) -> str | None:
    for name in ("region", "AWS_REGION", "AWS_DEFAULT_REGION"):
        if found := config.get(name) or os.environ.get(name):
            common.check_word(name, found)
            return str(found)
    return None


def _rules(name: str, config: Mapping[str, Any], given: Mapping[str, Any]) -> S3Rules:
    """Give the bucket's lifecycle rules, reached with the same keys."""
    names = ("access_key_id", "secret_access_key", "session_token")
    by_environment = {one: os.environ.get(f"AWS_{one.upper()}", "") for one in names}
    keys = {one: config[one] for one in names if one in config} if "access_key_id" in config else by_environment
    usable = {} if config.get("skip_signature") else {one: key for one, key in keys.items() if key}
    return S3Rules(name, usable, region=_region(config) or "us-east-1", endpoint=_endpoint(given))


def _store(name: str, config: dict[str, Any], given: Mapping[str, Any]) -> Any:
    from obstore.store import S3Store

    endpoint, region = _endpoint(given), _region(config)
    hosted = flag_option(given, "virtual_hosted") if given["virtual_hosted"] is not None else endpoint is None
    full: Any = {**config, "virtual_hosted_style_request": hosted, **({"endpoint": endpoint} if endpoint else {}),
                 **({"region": region} if region else {})}  # fmt: skip
    return S3Store(
        name,
        config=full,
        client_options=common.client_options(endpoint, connect_seconds=given["connect_seconds"]),
        retry_config=common.retry_config(),
    )


def _config(given: Mapping[str, Any]) -> dict[str, Any]:
    profile = given["profile"] or os.environ.get("AWS_PROFILE")
    config = {} if profile is None and any(map(os.environ.get, _BY_ENVIRONMENT)) else _profile(profile)
    if given["region"] is not None:
        config["region"] = given["region"]
    if flag_option(given, "anonymous"):
        config = {**config, "skip_signature": True}
    return config


def _profile(name: str | None) -> dict[str, Any]:
    """Read fixed keys and the region of a profile; without a name the default one, where there is one."""
    home = Path.home() / ".aws"
    keys = _section(os.environ.get("AWS_SHARED_CREDENTIALS_FILE", home / "credentials"), name or "default")
    other = _section(os.environ.get("AWS_CONFIG_FILE", home / "config"), f"profile {name}" if name else "default")
    told = {**other, **keys}
    if name is not None and "aws_access_key_id" not in told:
        step = "Use a profile with aws_access_key_id, or export its credentials into the environment"
        raise StoreDenied("the AWS profile", "there is none of that name with an access key", step)
    names = {"aws_access_key_id": "access_key_id", "aws_secret_access_key": "secret_access_key",
             "aws_session_token": "session_token", "region": "region"}  # fmt: skip
    return {ours: told[theirs] for theirs, ours in names.items() if theirs in told}


def _section(path: str | Path, name: str) -> dict[str, str]:
    parser = configparser.RawConfigParser()
    try:
        parser.read(path, encoding="utf-8")
    except (configparser.Error, UnicodeDecodeError):
        raise StoreDenied(f"file {os.fspath(path)}", "it is not a file of AWS profiles") from None
    return dict(parser[name]) if name in parser else {}


BACKEND = _Plugin()
