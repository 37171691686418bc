"""Put stored artifacts into a local folder for a program to read.

A file appears under its key, whole and checked, or not at all: it is written under a temporary name, compared with
the size and the digest that the store knows, and renamed. A manifest in the folder says what it holds; a second call
fetches only what is missing and takes away what is no longer asked for.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO

from kmnb.core.bounds import MIB
from kmnb.core.metadata import ObjectInfo
from kmnb.core.progress import advance, tally
from kmnb.errors import BoundExceeded, DigestMismatch, KeySyntaxError
from kmnb.sandbox._threads import in_thread
from kmnb.storage._protocols import ObjectArea

MATERIALISE_MAX_BYTES = 1024 * MIB
"""Largest size in bytes of all files that one call puts into a folder."""
MANIFEST_NAME = ".kmnb-manifest.json"
"""File in the folder that lists what it holds."""

Item = tuple[ObjectArea, ObjectInfo]
"""One artifact: the area that it lies in, and what ``head`` or an envelope said of it."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One materialised artifact."""

    key: str
    """Its key; also its path below the folder."""
    digest: str
    """``sha256:`` and 64 hexadecimal digits of the bytes that were written."""
    size: int
    """Bytes."""
    modified_ns: int
    """Modification time of the file; another one means that somebody changed it."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a folder holds."""

    folder: Path
    """The folder."""
    entries: tuple[Entry, ...]
    """Its artifacts, sorted by key."""

    def facts(self) -> list[dict[str, Any]]:
        """Give ``key``, ``digest`` and ``size`` of each artifact, as receipts list them."""
        return [{"key": one.key, "digest": one.digest, "size": one.size} for one in self.entries]


def local_path(folder: Path, key: str) -> Path:
    """Map a key to its file below a folder, segment by segment.

    Raises:
        KeySyntaxError: The key is empty, absolute, climbs out, holds a NUL, or is the manifest's name.
    """
    segments = key.split("/")
    bad = "\0" in key or any(one in ("", ".", "..") for one in segments) or segments[0].startswith(MANIFEST_NAME)
    if bad or any(len(os.fsencode(one)) > 255 for one in segments):
        raise KeySyntaxError(f"key {key!r}", "cannot be the path of a file below a folder")
    return folder.joinpath(*segments)


async def materialise(
    items: Iterable[Item], folder: Path, *, max_bytes: int = MATERIALISE_MAX_BYTES, remove_stale: bool = True
) -> Manifest:
    """Make a folder hold exactly these artifacts.

    Args:
        items: The artifacts.
        folder: Where; it is made when it is not there.
        max_bytes: Largest size of all files together in bytes.
        remove_stale: Whether files of an earlier call that are not asked for are removed.

    Returns:
        What the folder holds now.

    Raises:
        KeySyntaxError: A key that no file can have; nothing was written.
        BoundExceeded: More bytes than that; files that were whole by then stay.
        DigestMismatch: The store gave other bytes than it told; the file does not appear.
    """
    wanted = {info.key: (area, info, local_path(folder, info.key)) for area, info in items}
    _check_nesting(set(wanted))
    _check_total(sum(info.size or 0 for _, info, _ in wanted.values()), max_bytes)
    known = await in_thread(_prepare, folder, set(wanted), remove_stale)
    entries, used = {one.key: one for one in known if one.key not in wanted}, 0
    for key, (area, info, path) in sorted(wanted.items()):
        entry = await in_thread(_still_there, path, info, {one.key: one for one in known})
        entries[key] = entry or await _fetch(area, info, path, room=max_bytes - used)
        used += entries[key].size
    manifest = Manifest(folder, tuple(entries[key] for key in sorted(entries)))
    await in_thread(_write_manifest, manifest)
    return manifest


async def _fetch(area: ObjectArea, info: ObjectInfo, path: Path, *, room: int) -> Entry:
    """Stream one object into its file."""
    await in_thread(_make_folders, path.parent)
    handle, temporary = tempfile.mkstemp(prefix=".materialise-", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            digest, size = await _copy(area, info, file, room=room)
        if (info.digest or digest) != digest or (size if info.size is None else info.size) != size:
            step = "Store it again; the file was not made."
            raise DigestMismatch(f"artifact {info.key!r}", "the store gave other bytes than it told", step)
        os.chmod(temporary, 0o444)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise
    return Entry(info.key, digest, size, os.stat(path).st_mtime_ns)


async def _copy(area: ObjectArea, info: ObjectInfo, file: BinaryIO, *, room: int) -> tuple[str, int]:
    digest, size = hashlib.sha256(), 0
    with tally("copy", info.size):
        async for block in area.stream(info.key, info=info if info.identity else None):
            size += len(block)
            _check_total(size, room)
            digest.update(block)
            await in_thread(file.write, block)
            advance(len(block))
    return "sha256:" + digest.hexdigest(), size


def _check_total(size: int, room: int) -> None:
    if size > room:
        step = "Ask for fewer artifacts, or for a larger max_bytes."
        raise BoundExceeded("materialising", f"{size} bytes; {room} may be used", step, limit="max_bytes", value=room)


def _check_nesting(keys: set[str]) -> None:
    for key in keys:
        above = key
        while "/" in above:
            above = above.rpartition("/")[0]
            if above in keys:
                raise KeySyntaxError(f"key {above!r}", f"cannot be a file, since {key!r} lies below it")


def _prepare(folder: Path, wanted: set[str], remove_stale: bool) -> list[Entry]:
    """Make the folder, read its manifest and take away what is stale."""
    _make_folders(folder)
    try:
        known = [Entry(**one) for one in json.loads((folder / MANIFEST_NAME).read_bytes())]
    except (FileNotFoundError, ValueError, TypeError):
        known = []
    if not remove_stale:
        return known
    for entry in known:
        if entry.key not in wanted:
            _forget(folder, local_path(folder, entry.key))
    return [one for one in known if one.key in wanted]


def _forget(folder: Path, path: Path) -> None:
    """Remove a file and the folders that are empty without it."""
    path.unlink(missing_ok=True)
    for above in path.parents:
        if above == folder:
            return
        try:
            above.rmdir()
        except OSError:
            return


def _make_folders(folder: Path) -> None:
    # Readable for everybody: a run may have a user of its own.
    missing = [one for one in (folder, *folder.parents) if not one.exists()]
    for one in reversed(missing):
        one.mkdir(exist_ok=True)
        one.chmod(0o755)


def _still_there(path: Path, info: ObjectInfo, known: dict[str, Entry]) -> Entry | None:
    """Give the entry of a file that an earlier call wrote, when neither side changed since."""
    entry = known.get(info.key)
    if entry is None or info.digest != entry.digest:
        return None
    try:
        state = path.lstat()
    except OSError:
        return None
    return entry if (state.st_size, state.st_mtime_ns) == (entry.size, entry.modified_ns) else None


def _write_manifest(manifest: Manifest) -> None:
    handle, temporary = tempfile.mkstemp(prefix=MANIFEST_NAME, dir=manifest.folder)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        json.dump([asdict(one) for one in manifest.entries], file)
    os.chmod(temporary, 0o644)
    os.replace(temporary, manifest.folder / MANIFEST_NAME)
