"""Open files of the ``artifact`` file system: one reads by range, the other becomes a version when it is closed."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from types import TracebackType
from typing import Any

from fsspec.spec import AbstractBufferedFile

from kmnb.core.bounds import ANSWER_CEILING_BYTES, WINDOW_BYTES
from kmnb.ops.handle import Artifact


class Reading(AbstractBufferedFile):  # type: ignore[misc]  # fsspec has no types
    """A version, open for reading; later versions do not change it."""

    def __init__(self, fs: Any, artifact: Artifact, *, path: str, **options: Any) -> None:
        self.artifact = artifact
        super().__init__(fs, path, "rb", size=artifact.size, **options)

    def _fetch_range(self, start: int, end: int) -> bytes:
        step = ANSWER_CEILING_BYTES
        return b"".join(self.artifact.read(place, min(step, end - place)) for place in range(start, end, step))


class Upload:
    """Bytes that are gathered on disk and stored when the file is closed, all or nothing.

    Args:
        store: Stores a file of bytes.
        autocommit: Whether closing stores; otherwise :meth:`commit` does.
    """

    mode = "wb"

    def __init__(self, store: Callable[[Any], None], *, autocommit: bool = True) -> None:
        self._store, self._autocommit = store, autocommit
        self._file = tempfile.SpooledTemporaryFile(max_size=WINDOW_BYTES)  # noqa: SIM115  # closed by close
        self.closed = False

    def write(self, data: Any) -> int:
        """Add bytes."""
        return self._file.write(data)

    def tell(self) -> int:
        """How many bytes were written."""
        return self._file.tell()

    def flush(self) -> None:
        """Do nothing: a version appears whole."""

    def readable(self) -> bool:
        """It is not."""
        return False

    def writable(self) -> bool:
        """Whether it is open."""
        return not self.closed

    def seekable(self) -> bool:
        """It is not."""
        return False

    def close(self) -> None:
        """Store what was written. Closing twice is harmless."""
        if not self.closed:
            self.closed = True
            if self._autocommit:
                self.commit()

    def commit(self) -> None:
        """Store what was written."""
        try:
            self._file.seek(0)
            self._store(self._file)
        finally:
            self._file.close()

    def discard(self) -> None:
        """Forget what was written."""
        self.closed = True
        self._file.close()

    def __enter__(self) -> Upload:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.close()
        else:
            self.discard()
