"""A lane: one more connection to NATS that carries one bulk transfer at a time.

nats-py copies each message several times and wakes a task for each; at 128 KiB a chunk that caps a read well below
what a socket gives. A lane lets the socket write into the buffer that frames are cut from. It does nothing else: it
subscribes to one inbox, sends, and hands every frame to the transfer that holds it. Everything that is small or
needs reconnecting goes over nats-py.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeAlias
from urllib.parse import urlsplit

from kmnb.errors import StoreDenied
from kmnb.storage.backends import _nats_wire as wire
from kmnb.storage.backends._nats_login import Login

Message: TypeAlias = tuple[str, int, bytes | memoryview, bytes]
"""Subject, token, payload, and lines of headers."""
WRITE_AHEAD_BYTES = 1024 * 1024
"""How much may wait for the socket before whoever sends waits; it keeps the server busy in the meantime."""
_OPTIONS: Mapping[str, Any] = {
    "verbose": False,
    "pedantic": False,
    "headers": True,
    "no_responders": True,
    "echo": False,
    "lang": "python",
    "version": "1",
    "protocol": 1,
    "name": "kmnb lane",
}


class Transfer(Protocol):
    """What holds a lane. Called on the loop, never waits."""

    def on_frame(self, frame: wire.Frame) -> None:
        """Take a message; its payload is valid until :meth:`on_reuse`."""

    def on_reuse(self) -> None:
        """Keep copies of the payloads that are still needed: the buffer is about to be used again."""

    def on_lost(self, error: Exception) -> None:
        """Take note that nothing more will come."""


class Lane(asyncio.BufferedProtocol):
    """One connection."""

    def __init__(self, inbox: str) -> None:
        self.inbox = inbox
        self.received_bytes = self.sent_messages = 0
        self.error: Exception | None = None
        self._tokens = self._stale = 0
        self._own = inbox.encode() + b"."
        self._scanner = wire.Scanner()
        self._transport: asyncio.Transport | None = None
        self._transfer: Transfer | None = None
        self._waiting: asyncio.Future[wire.Frame] | None = None
        self._writable = asyncio.Event()
        self._writable.set()

    @classmethod
    async def open(cls, server: str, login: Login, inbox: str) -> Lane:
        """Connect, log in and subscribe.

        Args:
            server: URL of the server.
            login: Credentials.
            inbox: Subject whose answers this lane gets, with one more token behind it.
        """
        loop, lane, parts = asyncio.get_running_loop(), cls(inbox), urlsplit(server)
        try:
            await loop.create_connection(lambda: lane, parts.hostname or "", parts.port or 4222)
            if login.tls_first:
                await lane._start_tls(login, parts.hostname)
            info = wire.read_info(await lane._answer())
            if login.tls_required and not (info.get("tls_required") or login.tls_first):
                raise StoreDenied(f"NATS server {parts.netloc}", "it offers no TLS", "Use nats:// if that is all right")
            if info.get("tls_required") and not login.tls_first:
                await lane._start_tls(login, parts.hostname)
            lane._write(wire.write_connect({**_OPTIONS, **login.connect_fields(info.get("nonce"))}))
            while (frame := await lane._answer()).verb != b"PONG":
                if frame.verb == b"-ERR":
                    raise wire.WireError(frame.subject.decode("utf-8", "replace"))
            lane._write(wire.write_subscribe(f"{inbox}.*", 1))
        except BaseException:
            lane.abort()
            raise
        return lane

    async def _start_tls(self, login: Login, host: str | None) -> None:
        import ssl

        context = login.tls or ssl.create_default_context()
        try:
            transport = await asyncio.get_running_loop().start_tls(
                self._held(), self, context, server_hostname=login.tls_hostname or host
            )
        except (ssl.CertificateError, ValueError, UnicodeError):
            if login.tls_hostname is None:
                raise
            # Its text holds the name, which is the value of an option.
            raise ConnectionError("its certificate is not valid, or not for the name of option tls_hostname") from None
        if transport is None:
            raise ConnectionError("the server ended the connection")
        self._transport = transport

    def _held(self) -> asyncio.Transport:
        if self._transport is None or self.error is not None:
            raise self.error or ConnectionError("the connection is closed")
        return self._transport

    async def _answer(self) -> wire.Frame:
        frame = self._scanner.next()
        if frame is not None:
            return frame
        self._held()
        self._waiting = asyncio.get_running_loop().create_future()
        try:
            return await self._waiting
        finally:
            self._waiting = None

    @property
    def is_reusable(self) -> bool:
        """Whether the next transfer may have it: it stands, and holds no more memory than a new one."""
        return self.error is None and not self._scanner.has_grown

    def hold(self, transfer: Transfer) -> None:
        """Give all that comes to a transfer from now on."""
        self._transfer = transfer

    def release(self) -> None:
        """Give what comes to nobody: what answers this transfer's requests late is not for the next one."""
        self._transfer, self._stale = None, self._tokens

    def send(self, subject: str, token: int, payload: bytes | memoryview, *, headers: bytes = b"") -> None:
        """Send a message; its answers come as ``<inbox>.<token>``. Await :meth:`drain` now and then."""
        self.send_all([(subject, token, payload, headers)])

    def send_all(self, messages: Sequence[Message]) -> None:
        """Send several, each as :meth:`send` does, with one call of the system where the socket takes them."""
        parts: list[bytes | memoryview] = []
        for subject, token, payload, headers in messages:
            parts += wire.write_message(subject, f"{self.inbox}.{token}", payload, headers=headers)
        self.sent_messages += len(messages)
        self._held().writelines(parts)

    def _write(self, data: bytes) -> None:
        self._held().write(data)

    async def drain(self) -> None:
        """Wait until the socket takes more."""
        await self._writable.wait()
        self._held()

    def take_token(self) -> int:
        """Give a token that no answer under way has."""
        self._tokens += 1
        return self._tokens

    def token(self, frame: wire.Frame) -> int:
        """Tell what a frame answers: the token that was sent."""
        return int(frame.subject.rpartition(b".")[2])

    def abort(self) -> None:
        """Close at once; what is under way is given up."""
        self._transfer = None
        self.error = self.error or ConnectionAbortedError("the connection was given up")
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the transport."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.set_write_buffer_limits(WRITE_AHEAD_BYTES)

    def get_buffer(self, sizehint: int) -> memoryview:
        """Give room for the next bytes."""
        if self._scanner.is_full() and self._transfer is not None:
            self._transfer.on_reuse()
        return self._scanner.room()

    def buffer_updated(self, nbytes: int) -> None:
        """Cut what has come into frames."""
        self._scanner.feed(nbytes)
        self.received_bytes += nbytes
        try:
            while (self._waiting is None or not self._waiting.done()) and (frame := self._scanner.next()) is not None:
                self._dispatch(frame)
        except Exception as error:
            self._lose(error)

    def _dispatch(self, frame: wire.Frame) -> None:
        if self._waiting is not None:
            self._waiting.set_result(frame)
        elif frame.verb == b"MSG":
            if self._transfer is not None and not self._is_stale(frame):
                self._transfer.on_frame(frame)
        elif frame.verb == b"PING":
            self._write(b"PONG\r\n")
        elif frame.verb == b"-ERR":
            raise wire.WireError(frame.subject.decode("utf-8", "replace"))

    def _is_stale(self, frame: wire.Frame) -> bool:
        # Messages of a consumer come under their own subject; their feed knows them by the consumer's name.
        return frame.subject.startswith(self._own) and self.token(frame) <= self._stale

    def _lose(self, error: Exception) -> None:
        if self.error is not None:
            return
        self.error = error
        self._writable.set()
        transfer = self._transfer
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(error)
        self.abort()
        if transfer is not None:
            transfer.on_lost(error)

    def pause_writing(self) -> None:
        """Take note that the socket is full."""
        self._writable.clear()

    def resume_writing(self) -> None:
        """Take note that it is not any more."""
        self._writable.set()

    def eof_received(self) -> None:
        """Let the transport close."""

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell everybody who waits."""
        self._lose(exc or ConnectionError("the server ended the connection"))
