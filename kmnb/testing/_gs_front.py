"""Google's XML API before fake-gcs-server, which speaks only the JSON API: ``python -m kmnb.testing._gs_front``.

Objects, preconditions and listing are the server's own; the front translates. Multipart uploads are gathered here and
stored with one request when they are completed. Every answer carries ETag and generation, as Google's does.
"""

from __future__ import annotations

import argparse
import base64
import json
import re
import secrets
import threading
from datetime import datetime
from email.utils import format_datetime
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

from kmnb.testing._gs_upstream import Answer, Upstream

_META = "x-goog-meta-"
_REASONS = {404: "NoSuchKey", 412: "PreconditionFailed", 416: "InvalidRange"}


class Uploads:
    """Multipart uploads that were begun and not yet completed or aborted."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._parts: dict[str, tuple[dict[str, str], dict[int, bytes]]] = {}

    def begin(self, metadata: dict[str, str]) -> str:
        """Begin one; gives its id."""
        name = secrets.token_hex(8)
        with self._lock:
            self._parts[name] = (metadata, {})
        return name

    def add(self, name: str, number: int, data: bytes) -> bool:
        """Keep a part; False when there is no such upload."""
        with self._lock:
            if name in self._parts:
                self._parts[name][1][number] = data
            return name in self._parts

    def end(self, name: str) -> tuple[dict[str, str], dict[int, bytes]] | None:
        """Take one out; None when there is no such upload."""
        with self._lock:
            return self._parts.pop(name, None)


class Front(BaseHTTPRequestHandler):
    """One connection of a client."""

    protocol_version = "HTTP/1.1"
    upstream: Upstream
    uploads: Uploads

    def log_message(self, format: str, *args: Any) -> None:
        """Keep quiet."""

    def _parse(self) -> tuple[str, str, dict[str, str]]:
        parts = urlsplit(self.path)
        bucket, _, name = parts.path.lstrip("/").partition("/")
        query = {key: values[0] for key, values in parse_qs(parts.query, keep_blank_values=True).items()}
        return unquote(bucket), unquote(name), query

    def _body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def _answer(self, status: int, body: bytes | str = b"", **headers: str) -> None:
        data = body.encode() if isinstance(body, str) else body
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        if "Content_Length" not in headers:
            self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def _fail(self, status: int, bucket: str) -> None:
        code = _REASONS.get(status, "InternalError")
        if status == HTTPStatus.NOT_FOUND and not self.upstream.has_bucket(bucket):
            code = "NoSuchBucket"
        self._answer(status, f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>{code}</Message></Error>")

    def _metadata(self) -> dict[str, str]:
        kept = {
            key.lower()[len(_META) :]: value for key, value in self.headers.items() if key.lower().startswith(_META)
        }
        kind = self.headers.get("Content-Type")
        # Names of metadata are in small letters here, so this one is free.
        return kept if kind is None else {**kept, "Content-Type": kind}

    def _stored(self, answer: Answer, bucket: str, body: str = "") -> None:
        if answer.status != HTTPStatus.OK:
            self._fail(answer.status, bucket)
            return
        told = json.loads(answer.body)
        self._answer(HTTPStatus.OK, body, ETag=_etag(told), x_goog_generation=told["generation"])

    def do_PUT(self) -> None:
        """Store an object or a part."""
        bucket, name, query = self._parse()
        data = self._body()
        if "uploadId" in query:
            known = self.uploads.add(query["uploadId"], int(query["partNumber"]), data)
            self._answer(HTTPStatus.OK, ETag=f'"{secrets.token_hex(8)}"') if known else self._fail(404, bucket)
            return
        condition = self.headers.get("x-goog-if-generation-match")
        self._stored(self.upstream.store(bucket, name, data, metadata=self._metadata(), condition=condition), bucket)

    def do_POST(self) -> None:
        """Begin or complete a multipart upload."""
        bucket, name, query = self._parse()
        body = self._body()
        if "uploads" in query:
            upload = self.uploads.begin(self._metadata())
            self._answer(
                HTTPStatus.OK,
                f"<InitiateMultipartUploadResult><Bucket>{escape(bucket)}</Bucket><Key>{escape(name)}</Key>"
                f"<UploadId>{upload}</UploadId></InitiateMultipartUploadResult>",
            )
            return
        found = self.uploads.end(query["uploadId"])
        if found is None:
            self._fail(404, bucket)
            return
        metadata, parts = found
        wanted = [int(number) for number in re.findall(rb"<PartNumber>(\d+)</PartNumber>", body)]
        data = b"".join(parts[number] for number in wanted)
        answer = self.upstream.store(bucket, name, data, metadata=metadata, condition=None)
        etag = _etag(json.loads(answer.body)) if answer.status == HTTPStatus.OK else ""
        told = f"<CompleteMultipartUploadResult><ETag>{escape(etag)}</ETag></CompleteMultipartUploadResult>"
        self._stored(answer, bucket, told)

    def do_DELETE(self) -> None:
        """Remove an object, or abort an upload."""
        bucket, name, query = self._parse()
        if "uploadId" in query:
            self.uploads.end(query["uploadId"])
            self._answer(HTTPStatus.NO_CONTENT)
            return
        status = self.upstream.delete(bucket, name)
        self._answer(HTTPStatus.NO_CONTENT) if status < HTTPStatus.BAD_REQUEST else self._fail(status, bucket)

    def do_HEAD(self) -> None:
        """Tell what is kept with an object."""
        self.do_GET()

    def do_GET(self) -> None:
        """Read an object, or list a bucket."""
        bucket, name, query = self._parse()
        if not name:
            self._list(bucket, query)
            return
        told, media = self.upstream.read(bucket, name, span=self.headers.get("Range"), head=self.command == "HEAD")
        if told is None or media.status >= HTTPStatus.BAD_REQUEST:
            self._fail(media.status, bucket)
            return
        headers = {
            "ETag": _etag(told),
            "x_goog_generation": told["generation"],
            "Last_Modified": format_datetime(datetime.fromisoformat(told["updated"]), usegmt=True),
            "Content_Type": told.get("contentType", "application/octet-stream"),
            **{f"{_META}{key}": value for key, value in told.get("metadata", {}).items()},
        }
        if media.content_range:
            headers["Content_Range"] = media.content_range
        if self.command == "HEAD":
            headers["Content_Length"] = told["size"]
        self._answer(media.status, media.body, **headers)

    def _list(self, bucket: str, query: dict[str, str]) -> None:
        answer = self.upstream.list(bucket, query)
        if answer.status != HTTPStatus.OK:
            self._fail(answer.status, bucket)
            return
        told = json.loads(answer.body)
        items = "".join(
            f"<Contents><Key>{escape(item['name'])}</Key><LastModified>{item['updated']}</LastModified>"
            f"<ETag>{escape(_etag(item))}</ETag><Size>{item['size']}</Size></Contents>"
            for item in told.get("items", [])
        )
        token = told.get("nextPageToken")
        more = f"<NextContinuationToken>{escape(token)}</NextContinuationToken>" if token else ""
        cut = f"<Name>{escape(bucket)}</Name><IsTruncated>{'true' if token else 'false'}</IsTruncated>"
        self._answer(HTTPStatus.OK, f"<ListBucketResult>{cut}{more}{items}</ListBucketResult>")


def _etag(told: dict[str, Any]) -> str:
    return f'"{base64.b64decode(told["md5Hash"]).hex()}"'


def main() -> None:
    """Start fake-gcs-server and serve before it until killed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bucket", required=True)
    bucket = parser.parse_args().bucket
    with Upstream() as upstream:
        upstream.make_bucket(bucket)
        Front.upstream, Front.uploads = upstream, Uploads()
        server = ThreadingHTTPServer(("127.0.0.1", 0), Front)
        print("listens on port", server.server_port, flush=True)
        server.serve_forever()


if __name__ == "__main__":
    main()
