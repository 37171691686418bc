"""A relay before a server that speaks HTTP, which does something else with some requests."""

from __future__ import annotations

import http.client
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

SECONDS = 60.0
_HOP = {"transfer-encoding", "connection", "content-length"}


def answer(status: int, code: str = "", *, carried_out: bool = False) -> Callable[[Handler, bytes], None]:
    """Answer with an error, perhaps after the server did what was asked."""
    data = f"<Error><Code>{code}</Code><Message>s3cret</Message></Error>".encode() if code else b"<html>s3cret</html>"

    def act(handler: Handler, body: bytes) -> None:
        if carried_out:
            handler.forward(body)
        handler.say(status, {}, data)

    return act


def lose(handler: Handler, body: bytes) -> None:
    """Have the server do what was asked, then break the connection before its answer."""
    handler.forward(body)
    handler.hang_up()


def cut(handler: Handler, body: bytes) -> None:
    """Break the connection in the middle of the answer."""
    status, headers, data = handler.forward(body)
    handler.say(status, headers, data, most=len(data) // 2)
    handler.hang_up()


def hang(handler: Handler, body: bytes) -> None:
    """Say nothing until the relay is closed."""
    del body
    handler.relay.closed.wait(SECONDS)
    handler.hang_up()


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    relay: Relay

    def log_message(self, format: str, *args: Any) -> None:
        """Keep quiet."""

    def serve(self) -> None:
        """Forward a request, or do with it what the relay was told."""
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        with self.relay.lock:
            self.relay.asked.append(f"{self.command} {self.path}")
            act = self.relay.plan(self.command, self.path)
        if act is not None:
            act(self, body)
        else:
            self.say(*self.forward(body))

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = serve

    def forward(self, body: bytes) -> tuple[int, dict[str, str], bytes]:
        """Have the server do it."""
        connection = http.client.HTTPConnection("127.0.0.1", self.relay.upstream, timeout=SECONDS)
        connection.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
        for name, value in self.headers.items():
            connection.putheader(name, value)
        connection.endheaders(body or None)
        told = connection.getresponse()
        data = told.read()
        connection.close()
        headers = {name: value for name, value in told.getheaders() if name.lower() not in _HOP}
        headers["Content-Length"] = (
            told.getheader("Content-Length") or "0" if self.command == "HEAD" else str(len(data))
        )
        return told.status, headers, data

    def say(self, status: int, headers: dict[str, str], data: bytes, *, most: int | None = None) -> None:
        """Answer."""
        self.send_response(status)
        for name, value in {"Content-Length": str(len(data)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data[:most])

    def hang_up(self) -> None:
        """Break the connection."""
        self.close_connection = True
        self.wfile.flush()
        self.connection.shutdown(socket.SHUT_RDWR)


class Relay(ThreadingHTTPServer):
    """A running relay; ``plan`` gives for a method and path what to do instead, or None."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, upstream: int) -> None:
        handler = type("RelayHandler", (Handler,), {"relay": self})
        super().__init__(("127.0.0.1", 0), handler)
        self.upstream, self.port = upstream, self.server_address[1]
        self.lock, self.closed = threading.Lock(), threading.Event()
        self.asked: list[str] = []
        self.plan: Callable[[str, str], Callable[[Handler, bytes], None] | None] = lambda _method, _path: None

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients go away in the middle here."""

    def once(self, method: str, part: str, act: Callable[[Handler, bytes], None], *, times: int = 1) -> None:
        """Do something else with the next requests of a method whose path holds a text."""
        self.asked.clear()
        left = [act] * times

        def plan(asked: str, path: str) -> Callable[[Handler, bytes], None] | None:
            return left.pop() if left and asked == method and part in path else None

        self.plan = plan


@contextmanager
def relayed(upstream: int) -> Iterator[Relay]:
    """Run a relay before a port of this machine."""
    relay = Relay(upstream)
    thread = threading.Thread(target=relay.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield relay
    finally:
        relay.closed.set()
        relay.shutdown()
        relay.server_close()
        thread.join(SECONDS)
