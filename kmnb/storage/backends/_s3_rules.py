"""The lifecycle rules of an S3 bucket: read, and put beside those of others.

obstore moves objects and has no call for what belongs to a bucket, so this signs the two requests itself (Signature
Version 4, with keys; credentials of a machine's role are not to be had here).
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import http.client
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote, urlsplit
from xml.etree import ElementTree as Xml

from kmnb.core.bounds import MIB, REQUEST_SECONDS
from kmnb.errors import NotSupported, StoreDenied, StoreError, StoreUnavailable
from kmnb.storage._threads import in_thread_detached

_SPACE = "http://s3.amazonaws.com/doc/2006-03-01/"
_ANSWER_MAX_BYTES = MIB
_SIGNED = ("content-md5", "host", "x-amz-content-sha256", "x-amz-date", "x-amz-security-token")


class S3Rules:
    """The lifecycle rules of one bucket.

    Args:
        bucket: Its name.
        keys: ``access_key_id``, ``secret_access_key`` and perhaps ``session_token``; empty where there are none.
        region: Its region.
        endpoint: Address of a server that is not Amazon's; None for Amazon's.
    """

    def __init__(self, bucket: str, keys: Mapping[str, str], *, region: str, endpoint: str | None) -> None:
        self._bucket, self._keys, self._region = bucket, keys, region
        self._endpoint = endpoint or f"https://s3.{region}.amazonaws.com"

    async def read(self) -> list[dict[str, Any]]:
        """Give all rules of the bucket, as the store tells them."""
        return [_told(rule) for rule in await in_thread_detached(self._rules)]

    async def apply(self, document: Mapping[str, Any]) -> None:
        """Put rules into the bucket; those of the same names are replaced, all others stay.

        Args:
            document: ``Rules``, as the store's own tools take them.

        Raises:
            NotSupported: There are no keys to sign with.
            StoreDenied: These keys may not.
        """
        await in_thread_detached(lambda: self._apply(document))

    def _apply(self, document: Mapping[str, Any]) -> None:
        ours = {str(rule["ID"]) for rule in document["Rules"]}
        root = Xml.Element(f"{{{_SPACE}}}LifecycleConfiguration")
        root.extend(rule for rule in self._rules() if rule.findtext(f"{{{_SPACE}}}ID") not in ours)
        for rule in document["Rules"]:
            _write(Xml.SubElement(root, f"{{{_SPACE}}}Rule"), rule)
        self._ask("PUT", Xml.tostring(root, encoding="utf-8", default_namespace=_SPACE))

    def _rules(self) -> list[Xml.Element]:
        answer = self._ask("GET", b"")
        return [] if answer is None else _parsed(answer, self._bucket).findall(f"{{{_SPACE}}}Rule")

    def _ask(self, method: str, body: bytes) -> bytes | None:
        """Send one request; None where the bucket has no rules."""
        thing = f"lifecycle rules of bucket {self._bucket}"
        if not {"access_key_id", "secret_access_key"} <= self._keys.keys():
            step = "Apply them with the command that kmnb lifecycle prints"
            raise NotSupported(thing, "there are no access keys to sign the request with", step)
        parts = urlsplit(self._endpoint)
        kind = http.client.HTTPConnection if parts.scheme == "http" else http.client.HTTPSConnection
        path = f"{parts.path.rstrip('/')}/{quote(self._bucket)}"
        connection = kind(parts.netloc, timeout=REQUEST_SECONDS)
        try:
            headers = self._signed(method, parts.netloc, path, body=body)
            connection.request(method, f"{path}?lifecycle=", body=body or None, headers=headers)
            answer = connection.getresponse()
            data = answer.read(_ANSWER_MAX_BYTES)
        except (OSError, http.client.HTTPException) as error:
            raise StoreUnavailable(thing, f"it cannot be reached ({type(error).__name__})", "Try again") from error
        finally:
            connection.close()
        if answer.status == http.client.NOT_FOUND and b"NoSuchLifecycleConfiguration" in data:
            return None
        if answer.status in (http.client.UNAUTHORIZED, http.client.FORBIDDEN):
            step = "Let somebody apply them who may, with the command that kmnb lifecycle prints"
            raise StoreDenied(thing, "these credentials may not read or change them", step)
        if answer.status >= http.client.MULTIPLE_CHOICES:
            raise StoreError(thing, f"the store answered {answer.status}", "Check region and endpoint")
        return data

    def _signed(self, method: str, host: str, path: str, *, body: bytes) -> dict[str, str]:
        """Give the headers of a request, signed."""
        moment = datetime.now(UTC)
        day, time = f"{moment:%Y%m%d}", f"{moment:%Y%m%dT%H%M%SZ}"
        headers = {"host": host, "x-amz-date": time, "x-amz-content-sha256": hashlib.sha256(body).hexdigest()}
        if body:
            # The protocol wants this digest; it protects nothing.
            headers["content-md5"] = base64.b64encode(hashlib.md5(body, usedforsecurity=False).digest()).decode()
        if "session_token" in self._keys:
            headers["x-amz-security-token"] = self._keys["session_token"]
        names = [name for name in _SIGNED if name in headers]
        lines = "".join(f"{name}:{headers[name]}\n" for name in names)
        request = "\n".join((method, path, "lifecycle=", lines, ";".join(names), headers["x-amz-content-sha256"]))
        scope = f"{day}/{self._region}/s3/aws4_request"
        text = f"AWS4-HMAC-SHA256\n{time}\n{scope}\n{hashlib.sha256(request.encode()).hexdigest()}"
        key = b"AWS4" + self._keys["secret_access_key"].encode()
        for step in (*scope.split("/"), text):
            key = hmac.new(key, step.encode(), hashlib.sha256).digest()
        who = f"Credential={self._keys['access_key_id']}/{scope}"
        headers["authorization"] = f"AWS4-HMAC-SHA256 {who}, SignedHeaders={';'.join(names)}, Signature={key.hex()}"
        return headers


def _parsed(answer: bytes, bucket: str) -> Xml.Element:
    """Read the store's answer; a document type, which is the way of every attack by XML, is refused."""
    thing = f"lifecycle rules of bucket {bucket}"
    if b"<!" in answer:
        raise StoreError(thing, "the store's answer is not understood")
    try:
        return Xml.fromstring(answer)  # noqa: S314 - it has no document type, so no entities
    except Xml.ParseError:
        raise StoreError(thing, "the store's answer is not understood") from None


def _write(parent: Xml.Element, value: Any) -> None:
    if not isinstance(value, Mapping):
        parent.text = str(value)
        return
    for name, inner in value.items():
        _write(Xml.SubElement(parent, f"{{{_SPACE}}}{name}"), inner)


def _told(element: Xml.Element) -> Any:
    """Give an element as JSON values; repeated names are not told apart, which no rule of ours has."""
    if not len(element):
        return element.text or ""
    return {child.tag.rpartition("}")[2]: _told(child) for child in element}
