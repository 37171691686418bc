"""``artifact://`` for everything that opens files by fsspec: pandas, pyarrow, DuckDB, Dask. Versions are immutable.

::

    pandas.read_csv("artifact://report.csv", storage_options={"store": "s3://bucket/artifacts"})

Reading moves the ranges that are asked for. Writing makes the next version of a name; a path that ends with
``/versions/3`` reads that one.
"""

from __future__ import annotations

import inspect
import os
from datetime import datetime
from typing import Any
from weakref import WeakValueDictionary

from fsspec.spec import AbstractFileSystem

import kmnb
from kmnb._bridge import run
from kmnb.core.addresses import SCHEME, USER_PREFIX, NamedAddress, Target
from kmnb.errors import AlreadyExists, ArtifactNotFound, BadRequest
from kmnb.integrations._fs_files import Reading, Upload
from kmnb.integrations._fs_paths import (
    DISCUSSIONS,
    Folder,
    clean,
    facts_of,
    folder_of,
    is_short,
    level,
    own_folders,
    path_of,
    target_of,
    writable,
)
from kmnb.ops import artifacts, named, pins, saving
from kmnb.ops.handle import Artifact
from kmnb.ops.workspace import Workspace

__all__ = ["ArtifactFileSystem"]

_NAMES = frozenset(inspect.signature(kmnb.connect).parameters)
_workspaces: WeakValueDictionary[str, Workspace] = WeakValueDictionary()


class ArtifactFileSystem(AbstractFileSystem):  # type: ignore[misc]  # fsspec has no types
    """Artifacts of one store as files.

    A path that begins with ``apps/`` or ``discussions/`` is a whole ``artifact://`` URI; every other one, however deep,
    is a name of the workspace's own session, or of its user with ``user:`` before it. Folders are what the slashes in
    names make them; there are no empty ones.

    Args:
        url: Address of the store, the same as ``store``; functions of fsspec that have an argument ``url`` themselves
            (``url_to_fs``, ``get_mapper``, and so pandas with Parquet) cannot pass it on.
        store: Address of the store; None for what :func:`kmnb.connect` takes without one.
        options: Further arguments of :func:`kmnb.connect` and of fsspec.
    """

    protocol = "artifact"
    cachable = True

    def __init__(self, url: str | None = None, *, store: str | None = None, **options: Any) -> None:
        if url is not None and store not in (None, url):
            raise BadRequest("options store and url", "name two stores", "Give one of them.")
        given = {name: options.pop(name) for name in list(options) if name in _NAMES}
        workspace = options.pop("workspace", None)
        super().__init__(**options)
        self.workspace: Workspace = workspace if workspace is not None else _opened(store or url, given)
        """The workspace behind the files."""

    @classmethod
    def of(cls, workspace: Workspace) -> ArtifactFileSystem:
        """Make a file system of an open workspace; closing the workspace ends it."""
        made: ArtifactFileSystem = cls(workspace=workspace, skip_instance_cache=True)
        return made

    @classmethod
    def _strip_protocol(cls, path: Any) -> Any:
        if isinstance(path, list):
            return [cls._strip_protocol(each) for each in path]
        return clean(os.fspath(path))

    def unstrip_protocol(self, name: str) -> str:
        """Give the URI of a path."""
        return SCHEME + clean(name)

    def artifact(self, path: str) -> Artifact:
        """Get the handle behind a path, with all its sips.

        Args:
            path: A path or URI.

        Raises:
            ArtifactNotFound: There is none.
        """
        return self._load(self._strip_protocol(path))

    def _load(self, path: str) -> Artifact:
        target = self._target(path)
        context = self.workspace.context
        if target.address is not None:
            return run(pins.load_address(context, target.address, target.version))
        return run(artifacts.get_artifact(context, target.key))

    def _target(self, path: str) -> Target:
        try:
            return target_of(path, self.workspace.names)
        except BadRequest as error:
            raise ArtifactNotFound(f"{SCHEME}{path}"[:300], error.reason, error.next_step) from error

    def info(self, path: str, **_: Any) -> dict[str, Any]:
        """Tell name, size, type, version, digest and time of a file, or that it is a folder.

        Args:
            path: A path or URI.

        Raises:
            FileNotFoundError: There is neither.
        """
        path = self._strip_protocol(path)
        try:
            found = self._load(path)
        except ArtifactNotFound:
            if path and not self._children(path):
                raise
            return {"name": path, "size": 0, "type": "directory"}
        return {**facts_of(path, found.size, found.created_at), "version": found.version, "digest": found.digest}

    def ls(self, path: str, detail: bool = True, **_: Any) -> list[Any]:
        """List a folder, in one listing of the store that reads no bytes.

        Args:
            path: A path or URI; empty for the names of the workspace's session and user.
            detail: Whether to give facts instead of paths.

        Raises:
            FileNotFoundError: There is nothing.
        """
        path = self._strip_protocol(path)
        found = self._children(path) or ([] if not path else [self.info(path)])
        return found if detail else [entry["name"] for entry in found]

    def _children(self, path: str) -> list[dict[str, Any]]:
        if is_short(path):
            return level(path, run(self._own(path)))
        if path.partition("/")[0] == DISCUSSIONS:
            below = path.partition("/")[2]
            return level(path, run(self._discussions(below)))
        folder = folder_of(path)
        return [] if folder is None else level(path, run(self._named(folder)))

    async def _discussions(self, prefix: str) -> list[dict[str, Any]]:
        area = self.workspace.context.backend.discussions
        return [facts_of(path_of(Target(key=info.key)), info.size, info.created_at) async for info in area.list(prefix)]

    async def _own(self, path: str) -> list[dict[str, Any]]:
        """Files of the workspace's own scopes under their short paths."""
        found = list[dict[str, Any]]()
        for folder in own_folders(self.workspace.names):
            if not path or (folder.session is None) == path.startswith(USER_PREFIX):
                found += await self._named(folder, short=True)
        return found

    async def _named(self, folder: Folder, *, short: bool = False) -> list[dict[str, Any]]:
        context = self.workspace.context
        latest = await named.latest_of_names(context, app=folder.app, user=folder.user, session=folder.session)
        return [
            facts_of(folder.path_of(address.filename, short=short), info.size, info.created_at)
            for address, info in latest.items()
        ]

    def _open(
        self,
        path: str,
        mode: str = "rb",
        *,
        block_size: Any = None,
        autocommit: bool = True,
        cache_options: Any = None,
        **options: Any,
    ) -> Any:
        if mode == "rb":
            size = "default" if block_size is None else block_size
            return Reading(self, self._load(path), path=path, block_size=size, cache_options=cache_options, **options)
        address = writable(path, self.workspace.names)
        if mode not in ("wb", "xb", "ab"):
            raise BadRequest(f"mode {mode!r}", "is none of rb, wb, xb and ab")
        if mode == "xb":
            self._refuse(address)
        return Upload(lambda data: self._store(address, data, mode), autocommit=autocommit)

    def _store(self, address: NamedAddress, data: Any, mode: str) -> None:
        context = self.workspace.context
        if mode == "ab":
            run(saving.append_version(context, address, data))
            return
        if mode == "xb":
            self._refuse(address)
        run(saving.save_version(context, address, data, told=saving.told_of(address, None)))

    def _refuse(self, address: NamedAddress) -> None:
        if run(named.list_versions(self.workspace.context, address)):
            raise AlreadyExists(f"artifact {address.name!a:.200}", "is there already", "Mode wb makes a new version.")

    def cat_file(self, path: str, start: int | None = None, end: int | None = None, **_: Any) -> bytes:
        """Read a file or a part of it, moving no more than that.

        Args:
            path: A path or URI.
            start: First byte, from 0; negative from the end.
            end: End, exclusive; negative from the end.
        """
        found = self._load(self._strip_protocol(path))
        if start is None and end is None:
            return b"".join(found.stream())
        first, last, _step = slice(start, end).indices(found.size or 0)
        with found.open() as file:
            file.seek(first)
            return file.read(max(0, last - first))

    def cp_file(self, path1: str, path2: str, **_: Any) -> None:
        """Copy a file to the next version of another name, with its metadata and lineage."""
        source, target = self._strip_protocol(path1), self._strip_protocol(path2)
        if self.isdir(source):
            return
        address = writable(target, self.workspace.names)
        run(saving.keep_artifact(self.workspace.context, self._load(source), address))

    def rm(self, path: Any, recursive: bool = False, maxdepth: int | None = None) -> None:
        """Remove files; folders go with what is in them. Numbers of versions are not given out again."""
        for each in self.expand_path(path, recursive=recursive, maxdepth=maxdepth):
            if self.info(each)["type"] == "file":
                self.rm_file(each)

    def rm_file(self, path: str) -> None:
        """Remove every version of a name, or the one version that the path pins.

        Raises:
            FileNotFoundError: There is none.
        """
        path = self._strip_protocol(path)
        target, context = self._target(path), self.workspace.context
        self._load(path)
        if target.address is None:
            run(artifacts.delete_artifact(context, target.key))
        else:
            run(pins.remove_target(context, target.address, target.version))

    _rm = rm_file

    def mkdir(self, path: str, create_parents: bool = True, **_: Any) -> None:
        """Do nothing: folders are made by what is written into them."""

    def makedirs(self, path: str, exist_ok: bool = False) -> None:
        """Do nothing: folders are made by what is written into them."""

    def rmdir(self, path: str) -> None:
        """Do nothing: folders go with what is in them."""

    def modified(self, path: str) -> datetime:
        """When the version was written, UTC."""
        moment: datetime = self.info(path)["created"]
        return moment

    created = modified


def _opened(url: str | None, options: dict[str, Any]) -> Workspace:
    # fsspec makes one file system a thread; they share a connection.
    key = f"{os.getpid()} {url} {sorted(options.items())}"
    found = _workspaces.get(key)
    if found is None:
        found = _workspaces[key] = kmnb.connect(url, **options)
    return found
