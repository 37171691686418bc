"""Trees of the peers, built by hand from their documented layouts, and read back as the peers read them."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import patch

import obstore

from kmnb._bridge import run
from kmnb.storage import open_backend


class MeshTree:
    """A folder of Agent Mesh: ``{app}/{user}/{session}/{name}/{n}`` with ``{n}.meta``."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def put(self, place: str, version: int, data: bytes, mime: str | None = "text/csv") -> Path:
        path = self.root / place / str(version)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        if mime is not None:
            path.with_name(f"{version}.meta").write_text(json.dumps({"mime_type": mime}))
        return path

    def describe(self, place: str, version: int, **fields: Any) -> None:
        """Write a companion as the peer's helper does; ``metadata_dict`` is merged last."""
        self.put(f"{place}.metadata.json", version, json.dumps(fields, indent=2).encode(), "application/json")

    def save(self, place: str, version: int, data: bytes, *, companion: int | None = None, **more: Any) -> None:
        """Save data and what describes it, under a number that may be another one."""
        path = self.put(place, version, data)
        stamp = path.stat().st_mtime
        name = place.rpartition("/")[2]
        told = {"filename": name, "mime_type": "text/csv", "size_bytes": len(data), "timestamp_utc": stamp, **more}
        self.describe(place, version if companion is None else companion, **told)

    def age(self, place: str, version: int, seconds: float) -> None:
        """Make a version older."""
        path = self.root / place / str(version)
        os.utime(path, (time.time() - seconds,) * 2)

    def load(self, place: str, version: int) -> tuple[bytes, str] | None:
        """Load as the peer does: None when either of the two files is missing."""
        path = self.root / place / str(version)
        meta = path.with_name(f"{version}.meta")
        if not path.exists() or not meta.exists():
            return None
        return path.read_bytes(), json.loads(meta.read_text()).get("mime_type", "application/octet-stream")

    def versions(self, place: str) -> list[int]:
        folder = self.root / place
        return sorted(int(path.name) for path in folder.iterdir() if path.is_file() and path.name.isdigit())

    def keys(self, scope: str) -> list[str]:
        return sorted(path.name for path in (self.root / scope).iterdir() if path.is_dir())


class RawBucket:
    """A bucket as any other program sees it: names, bytes, metadata."""

    def __init__(self, url: str) -> None:
        self.backend: Any = run(open_backend(url))
        self.store, self.prefix = self.backend.bucket._store, self.backend.prefix

    def put(self, name: str, data: bytes, *, create: bool = False, **attributes: str) -> None:
        mode = "create" if create else "overwrite"
        obstore.put(self.store, self.prefix + name, data, mode=mode, attributes=attributes, use_multipart=False)

    def get(self, name: str) -> tuple[bytes, dict[str, str]]:
        found = obstore.get(self.store, self.prefix + name)
        return bytes(found.bytes()), dict(found.attributes)

    def names(self, start: str = "") -> list[str]:
        pages = obstore.list(self.store, prefix=(self.prefix + start).rstrip("/") or None)
        found = sorted(str(meta["path"]).removeprefix(self.prefix) for page in pages for meta in page)
        return [name for name in found if name.startswith(start) and not name.startswith(".kmnb/")]

    def delete(self, name: str) -> None:
        obstore.delete(self.store, self.prefix + name)

    def mesh_save(self, app: str, name: str, version: int, data: bytes, *, mime: str = "text/csv") -> None:
        """Save as Agent Mesh does, for user ann in session s1."""
        told = {"original_filename": name, "user_id": "ann", "session_id": "s1", "version": str(version)}
        told = {key: value.encode("ascii", "backslashreplace").decode() for key, value in told.items()}
        place = f"user/{name.removeprefix('user:')}" if name.startswith("user:") else f"s1/{name}"
        self.put(f"{app}/ann/{place}/{version}", data, **{"Content-Type": mime}, **told)


class FakeBlob:
    """What the kit uses of a blob of google-cloud-storage."""

    def __init__(self, raw: RawBucket, name: str) -> None:
        self._raw, self.name = raw, name
        self.metadata: dict[str, str] | None = None
        self.content_type: str | None = None
        self.time_created = datetime.now(UTC)

    def upload_from_string(self, data: Any, content_type: str | None = None, if_generation_match: Any = None) -> None:
        raw = data.encode() if isinstance(data, str) else data
        told = {**(self.metadata or {}), **({"Content-Type": content_type} if content_type else {})}
        try:
            self._raw.put(self.name, raw, create=if_generation_match == 0, **told)
        except FileExistsError as error:
            raise FakeTaken from error

    def download_as_bytes(self) -> bytes:
        return self._raw.get(self.name)[0]

    def delete(self) -> None:
        self._raw.delete(self.name)


class FakeTaken(Exception):
    """In the place of ``google.cloud.exceptions.PreconditionFailed``."""


class FakeClient:
    """In the place of ``google.cloud.storage.Client``: the kit's own code runs over a real bucket."""

    def __init__(self, raw: RawBucket) -> None:
        self._raw = raw

    def bucket(self, name: str) -> FakeClient:
        return self

    def blob(self, name: str) -> FakeBlob:
        return FakeBlob(self._raw, name)

    def get_blob(self, name: str) -> FakeBlob | None:
        try:
            _, told = self._raw.get(name)
        except FileNotFoundError:
            return None
        blob = FakeBlob(self._raw, name)
        blob.content_type = told.pop("Content-Type", None)
        blob.metadata = told
        return blob

    def list_blobs(self, bucket: Any, prefix: str) -> list[FakeBlob]:
        found = [self.get_blob(name) for name in self._raw.names(prefix)]
        return [blob for blob in found if blob is not None]


@contextmanager
def kit_on(raw: RawBucket) -> Iterator[Any]:
    """The kit's ``GcsArtifactService`` over a bucket."""
    from google.adk.artifacts import GcsArtifactService

    cloud, storage, exceptions = (ModuleType(name) for name in ("google.cloud", "storage", "exceptions"))
    storage.Client = lambda **_: FakeClient(raw)  # type: ignore[attr-defined]
    exceptions.PreconditionFailed = FakeTaken  # type: ignore[attr-defined]
    cloud.storage, cloud.exceptions = storage, exceptions  # type: ignore[attr-defined]
    names = {"google.cloud": cloud, "google.cloud.storage": storage, "google.cloud.exceptions": exceptions}
    with patch.dict(sys.modules, names):
        yield GcsArtifactService("bucket")
