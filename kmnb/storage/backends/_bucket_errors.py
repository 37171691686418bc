"""Errors of obstore become those of kmnb. Its messages are not passed on whole, since they hold URLs and headers."""

from __future__ import annotations

import re

from obstore import exceptions as foreign

from kmnb.errors import (
    AlreadyExists,
    ArtifactNotFound,
    KmnbError,
    NotSupported,
    StoreDenied,
    StoreError,
    StoreUnavailable,
    VersionConflict,
)


class ConnectionLost(StoreUnavailable):
    """The connection could not be made, or broke; whether the request was carried out is not known."""


_KINDS: tuple[tuple[type[BaseException], type[KmnbError], str, str], ...] = (
    (FileNotFoundError, ArtifactNotFound, "there is none: never existed, deleted or expired", "List the keys near it"),
    (foreign.AlreadyExistsError, AlreadyExists, "the key is taken", "Choose another key"),
    (foreign.PreconditionError, VersionConflict, "it is not as expected", "Read it again and decide anew"),
    (foreign.PermissionDeniedError, StoreDenied, "permission denied", "Check what the credentials may do"),
    (foreign.UnauthenticatedError, StoreDenied, "the credentials were refused", "Check the credentials"),
    (foreign.NotSupportedError, NotSupported, "the store does not support it", ""),
)
_NO_BUCKET = re.compile(r"NoSuchBucket|ContainerNotFound|bucket does not exist")
_ANSWERS: tuple[tuple[re.Pattern[str], type[KmnbError], str, str], ...] = (
    (re.compile(r"status code: 40[13]|AuthorizationFailure|InvalidAccessKeyId|SignatureDoesNotMatch"), StoreDenied,
     "the credentials were refused", "Check the credentials and what they may do"),
    (re.compile(r"status code: 412"), VersionConflict, "it is not as expected", "Read it again and decide anew"),
    (re.compile(r"status code: 507|QuotaExceeded|InsufficientStorage"), StoreError,
     "the store is full", "Free some space and try again"),
    (re.compile(r"[Cc]redentials? |instance metadata|token request"), StoreDenied,
     "no usable credentials were found", "Set them in the environment or in a profile"),
    (re.compile(r"status code: 416|GetRange|[Rr]ange start"), StoreError,
     "it does not have these bytes", "Ask for its facts again"),
    (re.compile(r"kind: Timeout|kind: TimedOut"), StoreUnavailable,
     "it did not answer in time", "Check the network and the endpoint"),
    (re.compile(r"error sending request|kind: Connect|kind: Interrupted|kind: Request"), ConnectionLost,
     "it cannot be reached", "Check the endpoint and the network"),
)  # fmt: skip
_STATUS = re.compile(r"status code: (\d{3}[A-Za-z ]*)")


def translate(thing: str, error: BaseException) -> KmnbError | None:
    """Give kmnb's error for a foreign one.

    Args:
        thing: What the error is about.
        error: What obstore raised.

    Returns:
        The error to raise instead; None for what is no store's fault.
    """
    text = str(error)
    if _NO_BUCKET.search(text):
        return StoreUnavailable(thing, "the bucket does not exist", "Make the bucket, or check the URL")
    for foreign_kind, kind, reason, step in _KINDS:
        if isinstance(error, foreign_kind):
            return kind(thing, reason, step)
    if type(error).__name__ != "PanicException" and not isinstance(error, foreign.BaseError | OSError):
        return None
    status = _STATUS.search(text)
    for pattern, kind, reason, step in _ANSWERS:
        if pattern.search(text):
            return kind(thing, f"{reason} ({status[1]})" if status else reason, step)
    return StoreUnavailable(thing, f"the store answered {status[1]}" if status else "the store failed", "Try again")
