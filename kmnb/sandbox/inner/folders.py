"""Remove a folder that a hostile program left, whatever it holds and however deep it is.

``shutil.rmtree`` of Python 3.11 recurses and gives up on a chain of some thousand folders. Here every sub-folder is
first moved to the top, so that no path grows; symbolic links are removed, never followed.
"""

from __future__ import annotations

import contextlib
import math
import os
import stat
import time

TEMPORARY = ("/tmp", "/var/tmp", "/usr/tmp")
"""Where folders are made when nobody names a place."""
_OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def make_folder(prefix: str, parent: str | None = None) -> str:
    """Make a folder of one's own with a name that nobody can guess.

    Args:
        prefix: How its name begins.
        parent: Where; None is the system's temporary folder.
    """
    usable = (one for one in TEMPORARY if os.access(one, os.W_OK | os.X_OK))
    path = os.path.join(parent or next(usable, "/tmp"), prefix + os.urandom(8).hex())
    os.mkdir(path, 0o700)
    return path


def remove_folder(path: str, *, until: float = math.inf) -> bool | None:
    """Remove a folder with all that it holds; nobody else may be changing it.

    Args:
        path: The folder; one that is not there is fine.
        until: When to stop in the middle, by the monotonic clock.

    Returns:
        Whether it is gone; None when there was no more time.
    """
    try:
        top = _open(path, None)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    try:
        waiting = _empty(top, top, until)
        while waiting:
            name = waiting.pop()
            inner = _open(name, top)
            try:
                waiting += _empty(inner, top, until)
            finally:
                os.close(inner)
            os.rmdir(name, dir_fd=top)
        os.rmdir(path)
    except TimeoutError:
        return None
    except OSError:
        return False
    finally:
        os.close(top)
    return True


def _empty(folder: int, top: int, until: float) -> list[str]:
    """Remove the files of a folder and move its folders to the top; give their names there."""
    found = []
    for name in os.listdir(folder):
        if time.monotonic() > until:
            raise TimeoutError
        if not stat.S_ISDIR(os.lstat(name, dir_fd=folder).st_mode):
            os.unlink(name, dir_fd=folder)
            continue
        os.chmod(name, 0o700, dir_fd=folder)
        found.append(f".kmnb-removed-{os.urandom(8).hex()}")
        os.rename(name, found[-1], src_dir_fd=folder, dst_dir_fd=top)
    return found


def _open(name: str, top: int | None) -> int:
    with contextlib.suppress(OSError):
        os.chmod(name, 0o700, dir_fd=top)
    return os.open(name, _OPEN, dir_fd=top)
