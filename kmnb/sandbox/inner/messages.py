"""Messages between server, spawner and workers: one JSON object each, with descriptors beside it."""

from __future__ import annotations

import array
import json
import os
import socket
from collections.abc import Sequence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MESSAGE_MAX_BYTES = 65_536
"""Largest message; what may be longer travels in a file whose descriptor is passed."""
DESCRIPTORS_MAX = 8
"""Most descriptors beside one message."""


def send(sock: socket.socket, message: dict[str, Any], descriptors: Sequence[int] = ()) -> None:
    """Send one message.

    Raises:
        OSError: The other side is gone, or its queue is full.
    """
    raw = json.dumps(message).encode()
    if descriptors:
        socket.send_fds(sock, [raw], list(descriptors))
    else:
        # Workers tell of their start under a filter that lets no descriptors be passed.
        sock.send(raw)


def receive(sock: socket.socket) -> tuple[dict[str, Any], list[int]] | None:
    """Take the next message.

    Returns:
        The message and the descriptors that came with it, or None when the other side is gone.

    Raises:
        BlockingIOError: There is none now, on a socket that does not wait.
    """
    space = socket.CMSG_LEN(DESCRIPTORS_MAX * array.array("i").itemsize)
    try:
        raw, ancillary, _, _ = sock.recvmsg(MESSAGE_MAX_BYTES, space, socket.MSG_CMSG_CLOEXEC)
    except ConnectionResetError:
        return None
    found = array.array("i")
    for level, kind, data in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            found.frombytes(data[: len(data) - len(data) % found.itemsize])
    return (json.loads(raw), list(found)) if raw else None


def read_all(descriptor: int) -> bytes:
    """Read a file from its beginning and close it."""
    try:
        blocks, at = [], 0
        while block := os.pread(descriptor, 1 << 20, at):
            blocks.append(block)
            at += len(block)
        return b"".join(blocks)
    finally:
        os.close(descriptor)
