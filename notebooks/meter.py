"""A relay that counts: whoever knows only its address cannot receive a byte that it does not count."""

from __future__ import annotations

import contextlib
import socket
import socketserver
import threading
import time
from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

BLOCK_BYTES = 256 * 1024
"""Most that is passed on at a time."""
QUIET_SECONDS, QUIET_TRIES = 0.02, 250
"""How long nothing may have come before a count is told, and how often that is tried."""


class Relay(socketserver.ThreadingTCPServer):
    """Takes connections on a port of its own, passes them on to one server, and counts what comes back.

    Attributes:
        server: Host and port of the server.
        received: Bytes that the server sent so far, over all connections, closed ones included. A byte is counted
            before it is passed on.
    """

    daemon_threads = True

    def __init__(self, server: tuple[str, int]) -> None:
        super().__init__(("127.0.0.1", 0), _Connection)
        self.server, self.received, self._lock = server, 0, threading.Lock()

    def count(self, size: int) -> None:
        """Take note of bytes that came back."""
        with self._lock:
            self.received += size


class _Connection(socketserver.BaseRequestHandler):
    """One connection, from both sides, until either ends."""

    server: Relay

    def handle(self) -> None:
        with contextlib.suppress(OSError), socket.create_connection(self.server.server) as far:
            for end in (self.request, far):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            up = threading.Thread(target=self._pass, args=(self.request, far), daemon=True)
            up.start()
            self._pass(far, self.request, count=self.server.count)
            up.join()

    def _pass(self, source: socket.socket, sink: socket.socket, count: Callable[[int], object] = int) -> None:
        with contextlib.suppress(OSError):
            while block := source.recv(BLOCK_BYTES):
                count(len(block))
                sink.sendall(block)
        for end in (source, sink):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


class _Display(socketserver.ThreadingTCPServer):
    """Tells everybody who connects what a relay has counted."""

    daemon_threads = True

    def __init__(self, relay: Relay) -> None:
        super().__init__(("127.0.0.1", 0), _Reading)
        self.relay = relay


class _Reading(socketserver.BaseRequestHandler):
    server: _Display

    def handle(self) -> None:
        self.request.sendall(str(self.server.relay.received).encode())


@contextlib.contextmanager
def metered(url: str) -> Iterator[tuple[str, int]]:
    """Put a relay before a server.

    Args:
        url: The server's address; user and password are kept.

    Yields:
        The same address by way of the relay, and the port where :func:`reading` finds its count.
    """
    parts = urlsplit(url)
    user, mark, _ = parts.netloc.rpartition("@")
    with Relay((parts.hostname or "", parts.port or 4222)) as relay, _Display(relay) as display:
        threads = [
            threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True) for server in (relay, display)
        ]
        for thread in threads:
            thread.start()
        try:
            yield parts._replace(netloc=f"{user}{mark}127.0.0.1:{relay.server_address[1]}").geturl(), port_of(display)
        finally:
            for server in (relay, display):
                server.shutdown()
            for thread in threads:
                thread.join()


def port_of(server: socketserver.TCPServer) -> int:
    """Port on which a server listens."""
    return int(server.server_address[1])


def reading(port: int) -> int:
    """Ask how many bytes a relay has counted, once what is still on its way has come."""
    last = -1
    for _ in range(QUIET_TRIES):
        if (now := _ask(port)) == last:
            break
        last = now
        time.sleep(QUIET_SECONDS)
    return now


def _ask(port: int) -> int:
    with socket.create_connection(("127.0.0.1", port)) as connection, connection.makefile("rb") as answer:
        return int(answer.read())
