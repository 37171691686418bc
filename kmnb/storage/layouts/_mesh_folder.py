"""Agent Mesh's folders: ``{base}/{app}/{user}/{session}/{filename}/{n}``, and ``{n}.meta`` with the MIME type.

Of an application's name only what follows the last slash stands there, as with the peer.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterator
from contextlib import AbstractContextManager

from kmnb.core.addresses import NamedAddress, Place
from kmnb.core.metadata import Attribute
from kmnb.core.peer_names import OWN_FOLDER, USER_SESSION, check_mesh_folder, last_part, normal_name
from kmnb.errors import AlreadyExists
from kmnb.storage._threads import in_thread
from kmnb.storage.backends._file_disk import Staged, disk_errors, locked
from kmnb.storage.layouts import _tree as tree
from kmnb.storage.layouts._shelf import About, Slot, Told, Unplaced

MARK = "kmnb"
"""Field of ``{n}.meta`` that names the facts of kmnb; the peer reads the MIME type only."""


class MeshFolder(tree.FolderShelf):
    """Versions in folders of Agent Mesh; see :class:`FolderShelf` for the arguments."""

    has_companions = True

    def check(self, address: NamedAddress) -> None:
        """Refuse slashes and a session named ``user``; see ``Shelf.check``."""
        check_mesh_folder(address)

    def warnings(self, app: str) -> list[str]:
        """Tell of an application that the peer mixes with others."""
        if "/" not in app:
            return []
        left = last_part(app)
        place = f"the folder {left!r}" if left else "one tree"
        return [f"namespace {app!a:.200}: the peer keeps every namespace that ends so in {place}; they are not apart"]

    def _folder(self, app: str, user: str, session: str | None) -> str:
        return os.path.join(self._root, last_part(app), user, USER_SESSION if session is None else session)

    def _name_folder(self, folder: str, name: str) -> str:
        return tree.inside(folder, os.path.join(folder, name), root=self._root)

    def _path(self, address: NamedAddress, version: int) -> str:
        folder = self._folder(address.app, address.user, address.session)
        return os.path.join(self._name_folder(folder, normal_name(address.filename)), str(version))

    def _everything(self) -> Iterator[Slot]:
        self.unplaced = Unplaced()
        for app in tree.entries(self._root):
            if app.name == OWN_FOLDER or not app.is_dir():
                continue
            for user in tree.entries(app.path):
                for session in tree.entries(user.path):
                    for name in tree.entries(session.path):
                        if tree.is_number(name.name) and name.is_file():
                            # One level is missing: written for a namespace that ends with a slash.
                            self.unplaced.add(name.path)
                    inside = None if session.name == USER_SESSION else session.name
                    yield from self._scope(Place(app.name, user.name, inside, None))

    def _scope(self, place: Place) -> Iterator[Slot]:
        folder = self._folder(place.app, place.user, place.session)
        names = [normal_name(place.filename)] if place.filename is not None else [e.name for e in tree.entries(folder)]
        for name in names:
            for entry in tree.entries(self._name_folder(folder, name)):
                if tree.is_number(entry.name) and entry.is_file():
                    told = entry.stat(follow_symlinks=False)
                    shown = name if place.filename is None else place.filename
                    address = NamedAddress(place.app, place.user, place.session, shown)
                    yield Slot(address, int(entry.name), told.st_size, tree.moment_of(told))

    async def head(self, address: NamedAddress, version: int) -> Told:
        """Tell what lies beside a version; see ``Shelf.head``."""
        path = self._path(address, version)

        def look() -> Told:
            with disk_errors(f"artifact {address.name!a:.200} version {version}"):
                found = tree.stat_file(path)
            document = tree.read_document(f"{path}.meta")
            faults = () if document is not None else (f"{version}.meta is missing or damaged, the peer cannot load it",)
            kind, mark = (document or {}).get("mime_type"), (document or {}).get(MARK)
            told: dict[str, str] = {Attribute.CONTENT_TYPE: kind} if isinstance(kind, str) else {}
            own = mark if isinstance(mark, str) else None
            return Told(found.st_size, tree.moment_of(found), tree.identity_of(found), told, own, faults)

        return await in_thread(look)

    async def write(self, address: NamedAddress, version: int, data: bytes | Staged, *, about: About) -> None:
        """Store a version: first what describes it, then the bytes; see ``Shelf.write``."""
        path = self._path(address, version)
        kind = about.attributes.get(Attribute.CONTENT_TYPE) or "application/octet-stream"
        document = json.dumps({"mime_type": kind, MARK: about.mark}).encode()

        def publish() -> None:
            thing = f"artifact {address.name!a:.200} version {version}"
            with disk_errors(thing):
                file = data if isinstance(data, Staged) else tree.staged(self._staging, data)
                try:
                    with self._held(path):
                        self._describe(path, document)
                        _publish(file, path)
                except FileExistsError:
                    raise AlreadyExists(thing, "the number is taken", "Take the next one.") from None
                finally:
                    file.discard()

        await in_thread(publish)

    def _describe(self, path: str, document: bytes) -> None:
        """Write what describes a version that is not there yet."""
        if os.path.lexists(path):
            raise FileExistsError
        # One that is there was left by a writer or a deletion that was killed between the two files.
        tree.write_file(self._staging, f"{path}.meta", document, create_only=False)

    def _held(self, path: str) -> AbstractContextManager[None]:
        """Keep other writers of kmnb from the two files of a version, which would be mixed with theirs."""
        name = f"version-{zlib.crc32(path.encode()) % 64:02d}"
        return locked(os.path.join(os.path.dirname(self._staging), "locks", name), thing=f"version {path!a:.1000}")

    async def delete(self, address: NamedAddress, version: int) -> None:
        """Remove a version; see ``Shelf.delete``."""
        path = self._path(address, version)

        def remove() -> None:
            with disk_errors(f"artifact {address.name!a:.200} version {version}"):
                with self._held(path):
                    tree.remove_file(path)
                    tree.remove_file(f"{path}.meta")
                tree.prune(os.path.dirname(path), self._root)

        await in_thread(remove)


def _publish(file: Staged, path: str) -> None:
    try:
        file.publish(path, create_only=True)
    except FileExistsError:
        raise  # the peer was faster, and what describes its bytes may be its own by now
    except BaseException:
        tree.remove_file(f"{path}.meta")
        raise
