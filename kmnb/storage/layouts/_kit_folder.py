"""The kit's folders: ``apps/{app}/users/{user}/[sessions/{session}/]artifacts/{name}/versions/{n}/{end of name}``.

``metadata.json`` lies beside the bytes. A version is staged in ``.{n}.pending``, whose making reserves the number, and
published by one rename, as the kit does it itself; so neither of the two ever takes the other's number.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from kmnb.core.addresses import NamedAddress, Place
from kmnb.core.peer_kit import read_document, write_document
from kmnb.core.peer_names import check_kit_folder
from kmnb.errors import AlreadyExists
from kmnb.storage._threads import in_thread
from kmnb.storage.backends._file_disk import NO_FILE, Staged, disk_errors, make_folders, sync_folder
from kmnb.storage.layouts import _tree as tree
from kmnb.storage.layouts._shelf import About, Slot, Told, Unplaced

DOCUMENT, VERSIONS = "metadata.json", "versions"
MARK = "kmnb"
"""Field of the document that names the facts of kmnb; the kit passes over it."""
_RACES_MAX = 100
_NOT_OURS = NO_FILE | {errno.ENOENT}
OWNER = ".kmnb-writer"
"""File in a staging folder of kmnb; its lock tells that the writer lives."""


class KitFolder(tree.FolderShelf):
    """Versions in folders of the Agent Development Kit; see :class:`FolderShelf` for the arguments."""

    has_companions = False

    def check(self, address: NamedAddress) -> None:
        """Refuse what the kit reads as something else; see ``Shelf.check``."""
        check_kit_folder(address)

    def warnings(self, app: str) -> list[str]:
        """Tell of a tree of releases before 2.6, which tells no application."""
        old = os.path.isdir(os.path.join(self._root, "users"))
        return ["users/ is of a release before 2.6 and tells no application; it is not read"] if old else []

    def _scope_folder(self, app: str, user: str, session: str | None) -> str:
        inside = () if session is None else ("sessions", session)
        return os.path.join(self._root, "apps", app, "users", user, *inside, "artifacts")

    def _folder(self, address: NamedAddress) -> str:
        scope = self._scope_folder(address.app, address.user, address.session)
        return tree.inside(scope, os.path.join(scope, address.filename), root=self._root)

    def _path(self, address: NamedAddress, version: int) -> str:
        folder = self._folder(address)
        return os.path.join(folder, VERSIONS, str(version), os.path.basename(folder))

    def _scope(self, place: Place) -> Iterator[Slot]:
        top = self._scope_folder(place.app, place.user, place.session)
        if place.filename is not None:
            yield from self._versions(NamedAddress(place.app, place.user, place.session, place.filename))
            return
        waiting = [top]
        while waiting:
            folder = waiting.pop()
            for entry in tree.entries(folder):
                if entry.is_dir() and entry.name == VERSIONS and folder != top:
                    name = os.path.relpath(folder, top)
                    yield from self._versions(NamedAddress(place.app, place.user, place.session, name))
                elif entry.is_dir():
                    waiting.append(entry.path)

    def _versions(self, address: NamedAddress) -> Iterator[Slot]:
        folder = self._folder(address)
        for entry in tree.entries(os.path.join(folder, VERSIONS)):
            if tree.is_number(entry.name) and entry.is_dir():
                try:
                    told = os.stat(os.path.join(entry.path, os.path.basename(folder)), follow_symlinks=False)
                except (FileNotFoundError, NotADirectoryError):
                    continue
                if stat.S_ISREG(told.st_mode):
                    yield Slot(address, int(entry.name), told.st_size, tree.moment_of(told))

    def _everything(self) -> Iterator[Slot]:
        self.unplaced = Unplaced()
        for app, users, _ in _identified(os.path.join(self._root, "apps"), ("users",)):
            for user, found, word in _identified(users, ("sessions", "artifacts")):
                if word == "artifacts":
                    yield from self._scope(Place(app, user, None, None))
                    continue
                for session, _, _ in _identified(found, ("artifacts",)):
                    yield from self._scope(Place(app, user, session, None))

    async def head(self, address: NamedAddress, version: int) -> Told:
        """Tell what lies beside a version; see ``Shelf.head``."""
        path = self._path(address, version)

        def look() -> Told:
            with disk_errors(f"artifact {address.name!a:.200} version {version}"):
                found = tree.stat_file(path)
            document = tree.read_document(os.path.join(os.path.dirname(path), DOCUMENT))
            faults = () if document is not None else ("metadata.json is missing or damaged; read as text",)
            told = read_document(document or {})
            mark = (document or {}).get(MARK)
            own = mark if isinstance(mark, str) else None
            return Told(found.st_size, tree.moment_of(found), tree.identity_of(found), told, own, faults)

        return await in_thread(look)

    async def write(self, address: NamedAddress, version: int, data: bytes | Staged, *, about: About) -> None:
        """Store a version as the kit does; see ``Shelf.write``."""
        path = self._path(address, version)
        final = os.path.dirname(path)
        document = write_document(
            about.attributes,
            name=address.name,
            version=version,
            uri=_uri(path),
            moment=about.moment.timestamp(),
        )
        text = json.dumps({**document, MARK: about.mark}, ensure_ascii=False).encode("utf-8", "replace")

        def publish() -> None:
            thing = f"artifact {address.name!a:.200} version {version}"
            with disk_errors(thing):
                file = data if isinstance(data, Staged) else tree.staged(self._staging, data)
                try:
                    self._publish(final, file, document=text, name=os.path.basename(path))
                except FileExistsError:
                    raise AlreadyExists(thing, "the number is taken", "Take the next one.") from None
                finally:
                    file.discard()

        await in_thread(publish)

    def _publish(self, final: str, file: Staged, *, document: bytes, name: str) -> None:
        folder = os.path.dirname(final)
        pending = os.path.join(folder, f".{os.path.basename(final)}.pending")
        with _reserved(pending):
            if os.path.lexists(final):
                raise FileExistsError
            file.publish(os.path.join(pending, name), create_only=True)
            tree.write_file(self._staging, os.path.join(pending, DOCUMENT), document)
            os.unlink(os.path.join(pending, OWNER))
            try:
                os.rename(pending, final)
            except OSError as error:
                if error.errno != errno.ENOTEMPTY:
                    raise
                raise FileExistsError from None
            with suppress(FileNotFoundError):  # it was there, and somebody deleted it with its folder
                sync_folder(folder)

    async def delete(self, address: NamedAddress, version: int) -> None:
        """Remove a version; see ``Shelf.delete``."""
        folder = os.path.dirname(self._path(address, version))

        def remove() -> None:
            # A version that is being removed must not be read half: it leaves its place first.
            above, removed = os.path.dirname(folder), f".{version}.removed"
            gone = os.path.join(above, f"{removed}-{secrets.token_hex(4)}")
            with disk_errors(f"artifact {address.name!a:.200} version {version}"):
                for left in [entry.path for entry in tree.entries(above) if entry.name.startswith(removed)]:
                    shutil.rmtree(left, ignore_errors=True)  # of somebody who was killed here
                try:
                    os.rename(folder, gone)
                except FileNotFoundError:
                    return
                shutil.rmtree(gone, ignore_errors=True)
                tree.prune(os.path.dirname(folder), self._root)

        await in_thread(remove)


@contextmanager
def _reserved(pending: str) -> Iterator[None]:
    """Hold a staging folder, and remove it where what is done in it fails.

    That of a writer of kmnb that was killed is emptied and used; what the kit left there stays reserved.

    Raises:
        FileExistsError: Its writer lives, or is not one of kmnb.
    """
    owner = os.path.join(pending, OWNER)
    flags = os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW | (os.O_CREAT if _is_made(pending) else 0)
    try:
        handle = os.open(owner, flags, 0o666)
    except OSError as error:
        raise FileExistsError if error.errno in _NOT_OURS else error from None
    try:
        _lock(handle, owner)
        try:
            for entry in tree.entries(pending):
                if entry.name != OWNER:
                    os.unlink(entry.path)
            yield
        except BaseException:
            shutil.rmtree(pending, ignore_errors=True)
            raise
    finally:
        os.close(handle)


def _is_made(folder: str) -> bool:
    """Make a folder; tell whether it was not there. Deletions may take those above away in between."""
    for _ in range(_RACES_MAX):
        try:
            make_folders(os.path.dirname(folder))
            os.mkdir(folder)
        except FileExistsError:
            return False
        except FileNotFoundError:
            continue
        return True
    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), folder)


def _lock(handle: int, path: str) -> None:
    """Lock the file of a path; raises FileExistsError where somebody else did, or took it away meanwhile."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(handle), os.stat(path, follow_symlinks=False)):
            return
    except (BlockingIOError, FileNotFoundError):
        pass
    raise FileExistsError


def _uri(path: str) -> str:
    return Path(os.path.realpath(path)).as_uri()


def _identified(top: str, words: tuple[str, ...]) -> Iterator[tuple[str, str, str]]:
    """Find identifiers below a folder, of one part or several, and the folder of the layout that follows each.

    Args:
        top: Where they begin.
        words: Names that end an identifier. As its only part one may be such a word itself.

    Yields:
        The identifier, the folder behind it, and that folder's name.
    """
    waiting = [entry.path for entry in tree.entries(top) if entry.is_dir()]
    while waiting:
        path = waiting.pop()
        for entry in tree.entries(path):
            if entry.is_dir() and entry.name in words:
                yield os.path.relpath(path, top), entry.path, entry.name
            elif entry.is_dir():
                waiting.append(entry.path)
