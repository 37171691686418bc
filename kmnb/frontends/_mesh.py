"""Agent Mesh's configuration as settings of kmnb. It is handed the environment; it reads nothing itself."""

from __future__ import annotations

import difflib
import logging
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from kmnb.core.config import SETTINGS
from kmnb.errors import BadRequest

KINDS = {"agent": "global", "entrypoint": "app"}
"""Kinds of blocks, and the label that each has for the scope of one component."""
TYPES: dict[str, tuple[str, ...]] = {
    "memory": (),
    "filesystem": ("base_path",),
    "s3": ("bucket_name", "endpoint_url", "region", "region_name", "config"),
    "gcs": ("bucket_name", "project", "client_info", "client_options"),
    "azure": ("container_name", "bucket_name", "account_name"),
}
"""Types of stores, with the keys of each."""

_LIMITS = ("gateway_artifact_content_limit_bytes", "gateway_max_artifact_resolve_size_bytes")
# The second is the peer's newer name of the first.
_MARKS = {"artifact_service", "artifact_handling_mode", *_LIMITS, "apps", "app_config"}
_IDLE = ("config", "client_info")
# What the peer hands to libraries that are not used here. The project of a bucket is not needed to read and write it.
_NAMES = {"agent_name": "agent", "gateway_id": "entrypoint", "entrypoint_id": "entrypoint"}
_SECRETS = {
    "aws_access_key_id": "AWS_ACCESS_KEY_ID",
    "aws_secret_access_key": "AWS_SECRET_ACCESS_KEY",
    "aws_session_token": "AWS_SESSION_TOKEN",
    "connection_string": "AZURE_STORAGE_CONNECTION_STRING",
    "account_key": "AZURE_STORAGE_ACCOUNT_KEY",
    "credentials": "GCS_CREDENTIALS_JSON",
}
_OWNERS = {"AWS": "s3", "AZURE": "azure", "GCS": "gcs"}
_SCOPE = ("artifact_scope", "artifact_scope_value")
_log = logging.getLogger("kmnb")
_VARIABLE = re.compile(r"\$\{\s*(?P<name>\w+)\s*(?:,\s*(?P<default>[^}]*))?\}")
_UNLIMITED = 2**62


def is_mesh(document: Mapping[str, Any]) -> bool:
    """Whether a configuration is in Agent Mesh's words."""
    return bool(_MARKS & document.keys()) or any(isinstance(document.get(kind), Mapping) for kind in KINDS)


def translate(document: Mapping[str, Any], environ: Mapping[str, str]) -> dict[str, Any]:
    """Translate a configuration.

    Args:
        document: An agent's or an entrypoint's block, or a whole file with ``apps``. A flat block may say its ``kind``
            and hold settings of kmnb too.
        environ: The environment: for ``${NAME, default}``, and for what the peer reads there when a key is missing.

    Raises:
        BadRequest: A type, a key or a scope that there is not; the message says what is allowed.
    """
    block, kind, is_flat = _find(document)
    ours = {param.name for param in SETTINGS.params}
    own = {*_MARKS, *_NAMES, *_SCOPE, "kind", "name"}
    found = {name: value for name, value in block.items() if name in ours and name not in own}
    _check_names([str(name) for name in block if name not in ours and name not in own], sorted(ours | own), is_flat)
    found = {name: _expand(value, environ) for name, value in found.items()}
    service = _service(block)
    for name in _NAMES.keys() & block.keys():
        found.setdefault("component", _expand(block[name], environ))
    mode = block.get("artifact_handling_mode")
    limit = next((block[name] for name in _LIMITS if block.get(name) is not None), None)
    if mode is not None:
        found["handling_mode"] = _expand(mode, environ)
    if limit is not None:
        bytes_max = _expand(limit, environ)
        found["embed_max_bytes"] = _UNLIMITED if str(bytes_max) == "-1" else bytes_max
    scope = _expand(service.get("artifact_scope", block.get("artifact_scope")), environ)
    if scope is not None:
        found["scope"] = _scope(scope, kind)
    if service:
        found["url"] = _url({name: _expand(value, environ) for name, value in service.items()}, environ)
    return found


def _check_names(unknown: list[str], known: list[str], is_flat: bool) -> None:
    """Refuse what looks like a slip of the pen; the rest of a block is the peer's own business, which is said once."""
    for name in unknown:
        near = difflib.get_close_matches(name, known, n=1, cutoff=0.85)
        if near:
            raise BadRequest(f"configuration key {name!r:.80}", "there is none", f"Did you mean {near[0]}?")
    if unknown and is_flat:
        _log.info("keys of the configuration that kmnb does not read: %s", ", ".join(sorted(unknown))[:500])


def _find(document: Mapping[str, Any]) -> tuple[Mapping[str, Any], str | None, bool]:
    """Find the block that counts, its kind where it is known, and whether it is the whole document."""
    apps = document.get("apps")
    if isinstance(apps, list):
        blocks = [app.get("app_config", app) for app in apps if isinstance(app, Mapping)]
        chosen = next((b for b in blocks if isinstance(b, Mapping) and "artifact_service" in b), None)
        if chosen is None:
            raise BadRequest("apps", "none of them has an artifact_service", "Give the block of one agent.")
        return chosen, _kind(chosen), False
    if isinstance(document.get("app_config"), Mapping):
        return document["app_config"], _kind(document["app_config"]), False
    for kind in KINDS:
        if isinstance(document.get(kind), Mapping):
            return document[kind], kind, False
    return document, _kind(document), True


def _kind(block: Mapping[str, Any]) -> str | None:
    told = block.get("kind")
    if told is None:
        return next((kind for name, kind in _NAMES.items() if name in block), None)
    if told not in KINDS:
        raise BadRequest(f"kind {told!r:.80}", "there is none", f"Allowed: {', '.join(KINDS)}")
    return str(told)


def _service(block: Mapping[str, Any]) -> Mapping[str, Any]:
    service = block.get("artifact_service")
    if service is not None and not isinstance(service, Mapping):
        raise BadRequest("artifact_service", "is no block of keys", f"Its type is one of {', '.join(TYPES)}.")
    return service or {}


def _expand(value: Any, environ: Mapping[str, str]) -> Any:
    if not isinstance(value, str):
        return value

    def put(match: re.Match[str]) -> str:
        return environ.get(match["name"]) or (match["default"] or "").strip().strip("\"'")

    text = _VARIABLE.sub(put, value)
    return int(text) if text != value and text.isascii() and text.isdigit() else text


def _scope(label: Any, kind: str | None) -> str:
    if label in ("namespace", "component"):
        return str(label)
    right = KINDS.get(kind or "")
    if label in KINDS.values():
        if right is not None and label != right:
            raise BadRequest(
                f"artifact_scope {label!r}",
                f"is not the label of a block of kind {kind}",
                f"Write artifact_scope: {right}",
            )
        return "component"
    allowed = f"namespace, {right}" if right else "namespace, global (agents), app (entrypoints)"
    raise BadRequest(f"artifact_scope {label!r:.80}", "there is none", f"Allowed: {allowed}")


def _url(service: Mapping[str, Any], environ: Mapping[str, str]) -> str:
    kind = service.get("type", "memory")
    if kind not in TYPES:
        raise BadRequest(f"artifact_service type {kind!r:.80}", "there is none", f"Allowed: {', '.join(TYPES)}")
    for name, value in service.items():
        if name in _SECRETS and str(value or "") not in ("", environ.get(_SECRETS[name])):
            raise BadRequest(name, "credentials are not taken from a configuration", f"Set {_SECRETS[name]}.")
        if name in _IDLE and name in TYPES[kind]:
            _log.warning("artifact_service key %s has no effect: it is for a library that kmnb does not use", name)
        own = _OWNERS.get(_SECRETS.get(name, "").partition("_")[0]) == kind
        if not own and name not in (*TYPES[kind], *_SCOPE, "type"):
            raise BadRequest(
                f"artifact_service key {name!r:.80}", f"type {kind} has none", f"Known: {', '.join(TYPES[kind])}"
            )
    if kind == "memory":
        return "memory://"
    if kind == "filesystem":
        return Path(str(_needed(service, "base_path"))).expanduser().absolute().as_uri()
    if kind == "azure":
        account = {"account": service.get("account_name")}
        return _bucket(
            "az", service.get("container_name") or _needed(service, "bucket_name", "container_name"), account
        )
    bucket = _needed(service, "bucket_name")
    if kind == "gcs":
        return _bucket("gs", bucket, {"endpoint": _endpoint(service.get("client_options"))})
    endpoint = service.get("endpoint_url") or environ.get("S3_ENDPOINT_URL")
    return _bucket("s3", bucket, {"endpoint": endpoint, "region": service.get("region") or service.get("region_name")})


def _endpoint(options: Any) -> Any:
    """Address of another server than Google's, the only one of the client's options that has a meaning here."""
    if options is None:
        return None
    if not isinstance(options, Mapping) or options.keys() - {"api_endpoint"}:
        raise BadRequest("artifact_service key 'client_options'", "holds what kmnb has not", "Known: api_endpoint")
    return options.get("api_endpoint")


def _needed(service: Mapping[str, Any], name: str, shown: str | None = None) -> Any:
    if not service.get(name):
        raise BadRequest("artifact_service", f"type {service.get('type')} needs {shown or name}")
    return service[name]


def _bucket(scheme: str, name: Any, options: Mapping[str, Any]) -> str:
    query = urlencode({option: value for option, value in options.items() if value})
    return f"{scheme}://{quote(str(name), safe='/')}" + (f"?{query}" if query else "")
