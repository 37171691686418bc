"""A copy of an artifact as a file of the caller's: it appears whole or not at all, with the mode that others have."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from kmnb.errors import BadRequest, KmnbError, shown


@contextlib.contextmanager
def file_errors(path: Any) -> Iterator[None]:
    """Tell what keeps a file from being written, with the name that the caller gave."""
    try:
        yield
    except KmnbError:
        raise
    except (OSError, TypeError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        step = "Name one below a folder that is there and may be written."
        raise BadRequest(f"file {shown(str(path))}", f"cannot be written: {reason}", step) from error


class Copy:
    """A file that is being written.

    A link is followed. What is no file, for example a device or a pipe, is written as it stands and never replaced.

    Args:
        path: What the caller named.
        name: Name of the file where that is a folder.
    """

    def __init__(self, path: str | os.PathLike[str], name: str) -> None:
        with file_errors(path):
            target = Path(path)
            self.path = target / name if target.is_dir() else target
            self._real = Path(os.path.realpath(self.path))
            self._new: Path | None = None
            self._file = self._opened()

    def _opened(self) -> BinaryIO:
        if self._real.exists() and not self._real.is_file():
            handle = os.open(self._real, os.O_WRONLY | os.O_NONBLOCK)  # a pipe that nobody reads is not waited for
            os.set_blocking(handle, True)
            return os.fdopen(handle, "wb")
        self._new = self._real.with_name(f".kmnb-{secrets.token_hex(8)}")
        return self._new.open("xb")

    def write(self, block: bytes) -> None:
        """Write the next bytes."""
        with file_errors(self.path):
            self._file.write(block)

    def publish(self) -> None:
        """Let the file appear."""
        with file_errors(self.path):
            self._file.close()
            if self._new is not None:
                if self._real.exists():
                    self._new.chmod(self._real.stat().st_mode & 0o7777)
                os.replace(self._new, self._real)

    def drop(self) -> None:
        """Leave nothing of what was not published."""
        with contextlib.suppress(OSError):
            self._file.close()
        if self._new is not None:
            self._new.unlink(missing_ok=True)
