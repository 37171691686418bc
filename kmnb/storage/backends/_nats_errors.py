"""What NATS clients and servers say, as kmnb's errors."""

from __future__ import annotations

import re
from functools import cache
from typing import Any, TypeAlias

from kmnb.errors import AlreadyExists, KmnbError, NotSupported, StoreDenied, StoreError, StoreUnavailable, clip

WRONG_SEQUENCE = frozenset({10071, 10164})
"""Codes of a refused conditional write; 10164 comes from replicated streams."""
STREAM_NOT_FOUND, NAME_IN_USE, NO_MESSAGE = 10059, 10058, 10037
NOT_NOW = frozenset({10004, 10007, 10008, 10009})
"""Codes that pass by themselves: no leader yet, the system is starting."""
_NO_JETSTREAM = frozenset({10039, 10076, 10035})
FULL = frozenset({10023, 10028, 10047, 10054, 10077, 10122})
"""Codes of a stream, an account or a server that has no more room."""
_START, _UP = "Start nats-server with JetStream (-js)", "Is the server up?"
_NOBODY = f"{_START}; connect again to make a stream anew"
_Row: TypeAlias = tuple[tuple[type[BaseException], ...], tuple[str, ...], tuple[type[StoreError], str, str]]
"""Classes, words in the message, and what it becomes."""
_SECRET = re.compile(r"(?<=://)[^/@\s]+@|(?i:\b(?:pass|password|auth_token|token|sig|jwt|seed)\b\W{1,3}\S+)")


class ApiError(Exception):
    """An answer of JetStream's API that says what went wrong.

    Attributes:
        code: JetStream's own code, for example 10059.
        status: Its HTTP-like status, for example 404.
    """

    def __init__(self, code: int, status: int, description: str) -> None:
        super().__init__(description)
        self.code, self.status, self.description = code, status, description

    @classmethod
    def of(cls, answer: dict[str, Any]) -> ApiError | None:
        """Find the error in an answer; None when there is none."""
        error = answer.get("error")
        if not isinstance(error, dict):
            return None
        code, status = error.get("err_code"), error.get("code")
        return cls(
            code if isinstance(code, int) else 0,
            status if isinstance(status, int) else 0,
            str(error.get("description") or "no reason given"),
        )


def no_secrets(text: str) -> str:
    """Take user info and secrets out of a foreign message."""
    return clip(_SECRET.sub("…", text), 600)


def translate(error: BaseException, thing: str, server: str) -> KmnbError:
    """Make an error of kmnb out of one of nats-py, of the API or of the operating system.

    Args:
        error: What was raised.
        thing: What the call was about.
        server: Host and port, without user info.
    """
    if isinstance(error, KmnbError):
        return error
    if isinstance(error, ApiError):
        return _translate_api(error, thing, server)
    text = no_secrets(str(error) or type(error).__name__)
    for kinds, words, (kind, reason, step) in _table():
        if isinstance(error, kinds) or any(word in text.lower() for word in words):
            return kind(thing, reason.format(server=server, text=text), step, server=server)
    return StoreError(thing, f"{server}: {text}", server=server)


@cache
def no_responders() -> type[Exception]:
    """Give the class of nats-py that says that nobody listens to a subject."""
    from nats.errors import NoRespondersError

    return NoRespondersError


@cache
def timeout() -> type[Exception]:
    """Give the class of nats-py that says that no answer came."""
    from nats.errors import TimeoutError as NatsTimeoutError

    return NatsTimeoutError


def is_away(error: BaseException) -> bool:
    """Tell whether an error means that no server was reached, and not that one answered badly."""
    answered = (ApiError, no_responders())
    return isinstance(error, StoreUnavailable) and not isinstance(error.__cause__, answered)


def is_gone(error: BaseException) -> bool:
    """Tell whether an error means that the server has no such stream any more."""
    cause = error.__cause__
    return isinstance(cause, ApiError) and cause.code == STREAM_NOT_FOUND


@cache
def _table() -> tuple[_Row, ...]:
    from nats import errors as client

    refused = (StoreDenied, "{server} refused the credentials", "Check user, token or creds file")
    lacking = (StoreDenied, "{server} says {text}", "Use credentials that have this right")
    large = (StoreError, "{server} takes no message of that size", "Raise max_payload there, or store less with it")
    nobody = (StoreUnavailable, "nobody at {server} answers: it offers no JetStream, or the stream is gone", _NOBODY)
    late = (StoreUnavailable, "{server} did not answer in time", _UP)
    away = (StoreUnavailable, "{server} is not reachable: {text}", _UP)
    return (
        ((), ("permissions violation",), lacking),
        ((client.AuthorizationError,), ("authorization", "authentication"), refused),
        ((client.MaxPayloadError,), ("maximum payload",), large),
        ((client.NoRespondersError,), (), nobody),
        ((TimeoutError, client.TimeoutError), (), late),
        ((OSError, client.Error), (), away),
    )


def _translate_api(error: ApiError, thing: str, server: str) -> KmnbError:
    text = no_secrets(error.description)
    if error.code in WRONG_SEQUENCE:
        return AlreadyExists(thing, "there is one already")
    if error.code in _NO_JETSTREAM:
        return StoreUnavailable(thing, f"JetStream is not enabled at {server}", _START, server=server)
    if error.code in FULL:
        step = "Delete what is not needed, or give the bucket more room (max_bytes)"
        return StoreError(thing, f"the store is full: {text}", step, server=server, full=True)
    if error.code in NOT_NOW or error.status == 503:
        return StoreUnavailable(thing, f"{server}: {text}", "Try again in a moment", server=server)
    if error.status == 404:
        return NotSupported(thing, f"{server}: {text}", server=server)
    return StoreError(thing, f"{server}: {text}", server=server)
