"""Runs a service for as long as its parent lives: ``python -m kmnb.testing._keeper COMMAND …``.

The parent holds the other end of standard input. When it closes it, or is killed, the service is ended by its process
id; when the service ends by itself, so does the keeper.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading

TERMINATE_SECONDS = 5
"""How long a service may take to end by itself."""


def main(command: list[str]) -> int:
    """Run a command until standard input ends.

    Args:
        command: Program and arguments.

    Returns:
        Its exit code; -15 or -9 when it was ended here.
    """
    service = subprocess.Popen(command, stdin=subprocess.DEVNULL)  # noqa: S603 - the test's own command

    def watch() -> None:
        # Not sys.stdin: a thread inside a buffered read would hold its lock when the interpreter ends.
        while os.read(0, 4096):
            pass
        service.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            service.wait(TERMINATE_SECONDS)
        service.kill()

    threading.Thread(target=watch, daemon=True).start()
    return service.wait()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
