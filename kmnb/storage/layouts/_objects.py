"""Both peers' layout of buckets: ``{app}/{user}/{session}/{filename}/{n}``, with metadata on each object."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing, suppress
from pathlib import Path
from typing import Any, cast

from kmnb.core.addresses import NamedAddress, Place
from kmnb.core.metadata import Attribute
from kmnb.core.peer_kit import header_type, read_headers, write_headers
from kmnb.core.peer_names import (
    OWN_FOLDER,
    bucket_folder,
    bucket_name,
    check_bucket_place,
    is_of,
    mesh_headers,
    read_bucket_path,
    read_inside_app,
)
from kmnb.errors import AlreadyExists, ArtifactNotFound, KeySyntaxError, StoreUnavailable
from kmnb.storage._obstore import Bucket, Found
from kmnb.storage._source import blocks
from kmnb.storage.backends._bucket_layout import PATH_MAX_BYTES
from kmnb.storage.backends._file_disk import Staged
from kmnb.storage.layouts._shelf import About, Slot, Told, Unplaced
from kmnb.storage.layouts._tree import is_number

MARK = "kmnb"
"""Metadata that names the facts of kmnb."""
_TYPE = "Content-Type"
_OWN = {_TYPE, "Cache-Control", "Content-Disposition", "Content-Encoding", "Content-Language", MARK}


class ObjectShelf:
    """Versions in a bucket of a peer.

    Args:
        bucket: Where they lie.
        prefix: What stands before everything, with its trailing slash where it is not empty.
        is_mesh: Whether the layout is Agent Mesh's, else the kit's.
    """

    staging: str | None = None

    def __init__(self, bucket: Bucket, prefix: str, *, is_mesh: bool) -> None:
        self._bucket, self._prefix, self._is_mesh = bucket, prefix, is_mesh
        self.has_companions, self.unplaced = is_mesh, Unplaced()

    def check(self, address: NamedAddress) -> None:
        """Refuse what a flat name cannot keep apart; see ``Shelf.check``."""
        check_bucket_place(address, layout="agent-mesh" if self._is_mesh else "adk")
        if len(self._path(address, 10**6).encode()) > PATH_MAX_BYTES:
            raise KeySyntaxError(f"artifact {address.name!a:.80}", f"its path has more than {PATH_MAX_BYTES} bytes")

    def warnings(self, app: str) -> list[str]:
        """Tell of an application that the peer cannot list, or that this layout refuses."""
        if "/" not in (app.strip("/") if self._is_mesh else app):
            return []
        fate = "the peer finds no version and overwrites version 0" if self._is_mesh else "it is refused"
        return [f"namespace {app!a:.200}: with a slash in it other scopes share its paths; {fate}"]

    def _folder(self, app: str, user: str, session: str | None) -> str:
        return self._prefix + bucket_folder(app, user, session, is_mesh=self._is_mesh)

    def _path(self, address: NamedAddress, version: int) -> str:
        folder = self._folder(address.app, address.user, address.session)
        return f"{folder}{bucket_name(address, is_mesh=self._is_mesh)}/{version}"

    async def walk(self, place: Place | None, *, app: str | None = None) -> AsyncIterator[Slot]:
        """Walk versions in one listing; see ``Shelf.walk``."""
        folder, wanted = self._prefix, None
        if place is not None:
            wanted = NamedAddress(place.app, place.user, place.session, place.filename or "-")
            folder = self._folder(place.app, place.user, place.session)
            if place.filename is not None:
                folder = self._path(wanted, 0).removesuffix("0")
        else:
            self.unplaced = Unplaced()
            folder += "" if app is None else bucket_folder(app, "", None, is_mesh=self._is_mesh).removesuffix("/user/")
        async with aclosing(self._bucket.list(folder)) as pages:
            async for found in pages:
                slot = await (self._any(found, app) if place is None else self._inside(found, folder, place))
                if slot is not None:
                    yield slot

    async def _inside(self, found: Found, folder: str, place: Place) -> Slot | None:
        rest, _, number = found.path.removeprefix(folder).rpartition("/")
        if not found.path.startswith(folder) or not is_number(number):
            return None
        if place.filename is not None:
            name = place.filename
            if rest:
                return None
        else:
            name = rest.removeprefix("user:") if place.session is None and not self._is_mesh else rest
            if not name or (place.session is None and not self._is_mesh and name == rest):
                return None
        address = NamedAddress(place.app, place.user, place.session, name)
        if not await self._speaks(found, address):
            return None
        return Slot(address, int(number), found.size, found.modified)

    async def _speaks(self, found: Found, address: NamedAddress) -> bool:
        """Ask an object whose path could be that of two names which of them it is."""
        if not self._is_mesh or "/" not in address.app.strip("/") + address.filename:
            return True
        try:
            return is_of((await self._bucket.head(found.path, thing="artifact")).attributes, address)
        except ArtifactNotFound:
            return False

    async def _any(self, found: Found, app: str | None) -> Slot | None:
        path = found.path.removeprefix(self._prefix)
        start, _, number = path.rpartition("/")
        if path.startswith(f"{OWN_FOLDER}/"):
            return None
        address = None
        if is_number(number) and app is None:
            address = read_bucket_path(start.split("/"), is_mesh=self._is_mesh)
        elif is_number(number) and app is not None:
            address = read_inside_app(app, start, is_mesh=self._is_mesh)
            if address is not None and not await self._speaks(found, address):
                address = None
        if address is None and is_number(number) and self._is_mesh:
            address = await self._by_headers(found, start)
        if address is None:
            self.unplaced.add(path)
            return None
        return Slot(address, int(number), found.size, found.modified)

    async def _by_headers(self, found: Found, start: str) -> NamedAddress | None:
        try:
            told = (await self._bucket.head(found.path, thing="artifact")).attributes
        except ArtifactNotFound:
            return None
        user, session, name = (_plain(told.get(key)) for key in ("user_id", "session_id", "original_filename"))
        if not user or not session or not name:
            return None
        mine = name.startswith("user:") or session == "user"
        bare = name.removeprefix("user:")
        end = f"/{user}/{'user' if mine else session}/{bare}"
        app = start.removesuffix(end)
        return NamedAddress(app, user, None if mine else session, bare) if app and app != start else None

    async def head(self, address: NamedAddress, version: int) -> Told:
        """Tell what lies beside a version; see ``Shelf.head``."""
        thing = f"artifact {address.name!a:.200} version {version}"
        found = await self._bucket.head(self._path(address, version), thing=thing)
        if self._is_mesh and not is_of(found.attributes, address):
            raise ArtifactNotFound(thing, "what lies there belongs to another user or session")
        kind = found.attributes.get(_TYPE)
        headers = {name: value for name, value in found.attributes.items() if name not in _OWN}
        told = {Attribute.CONTENT_TYPE.value: kind} if kind else {}
        attributes: Mapping[str, str] = told if self._is_mesh else read_headers(headers, kind)
        return Told(found.size, found.modified, _identity(found), attributes, found.attributes.get(MARK))

    async def read(self, address: NamedAddress, version: int, span: tuple[int, int]) -> tuple[bytes, str]:
        """Read a range; see ``Shelf.read``."""
        thing = f"artifact {address.name!a:.200} version {version}"
        found = await self._bucket.get_range(self._path(address, version), span[0], span[1], thing=thing)
        return found.data, _identity(found)

    async def write(self, address: NamedAddress, version: int, data: bytes | Staged, *, about: About) -> None:
        """Store a version: one conditional request, or parts for a large one; see ``Shelf.write``."""
        path, thing = self._path(address, version), f"artifact {address.name!a:.200} version {version}"
        kept = self._headers(address, version, about)
        try:
            if isinstance(data, Staged):
                await self._upload(path, data, kept, thing=thing)
            else:
                await self._bucket.put(path, data, mode="create", attributes=kept, thing=thing)
        except AlreadyExists:
            # A request that was sent again after a lost answer meets its own first success.
            with suppress(ArtifactNotFound):
                if (await self._bucket.head(path, thing=thing)).attributes.get(MARK) == about.mark:
                    return
            raise
        except ArtifactNotFound:
            raise StoreUnavailable(thing, "the bucket does not exist", "Make the bucket, or check the URL") from None

    def _headers(self, address: NamedAddress, version: int, about: About) -> dict[str, str]:
        if not self._is_mesh:
            return {_TYPE: header_type(about.attributes), **write_headers(about.attributes), MARK: about.mark}
        kind = about.attributes.get(Attribute.CONTENT_TYPE) or "application/octet-stream"
        return {_TYPE: kind, **mesh_headers(address, version), MARK: about.mark}

    async def _upload(self, path: str, data: Staged, kept: Mapping[str, str], *, thing: str) -> None:
        """Send a large object in parts. No bucket makes that conditional; numbers of kmnb are reserved elsewhere."""
        try:
            await self._bucket.head(path, thing=thing)
        except ArtifactNotFound:
            pass
        else:
            raise AlreadyExists(thing, "the number is taken", "Take the next one.")
        source = cast("AsyncIterator[bytes | memoryview]", blocks(Path(data.path)))
        await self._bucket.upload(path, source, thing=thing, metadata=kept[MARK], attributes=kept)

    async def delete(self, address: NamedAddress, version: int) -> None:
        """Remove a version, and never that of another scope under the same path; see ``Shelf.delete``."""
        path, thing = self._path(address, version), f"artifact {address.name!a:.200}"
        try:
            if self._is_mesh and not is_of((await self._bucket.head(path, thing=thing)).attributes, address):
                return
        except ArtifactNotFound:
            return
        await self._bucket.delete(path, thing=thing)


def _identity(found: Found) -> str:
    return json.dumps(dict(found.revision), sort_keys=True)


def _plain(text: Any) -> str | None:
    """Read a text that Agent Mesh wrote as ASCII with escapes."""
    if not isinstance(text, str) or "\\" not in text:
        return text if isinstance(text, str) else None
    try:
        return text.encode("ascii").decode("unicode_escape")
    except (UnicodeError, ValueError):
        return None
