"""Errors of obstore become those of kmnb. Its messages are not passed on, since they hold URLs, headers and answers.

A message also holds the path, which is the caller's: it is taken out before anything is looked for in the rest, so that
an object called ``NoSuchBucket`` is an object like others.
"""

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


class TryAgain(StoreUnavailable):
    """The connection broke, or somebody else was at the same object; sent again the request may succeed."""


class Misplaced(StoreError):
    """The bucket answered, with the name of an object that no key can have."""


_Answer = tuple[type[KmnbError], str, str]
_NO_BUCKET: _Answer = (StoreUnavailable, "the bucket does not exist", "Make the bucket, or check the URL")
_REFUSED: _Answer = (StoreDenied, "the credentials were refused", "Check the credentials and what they may do")
_EXPIRED: _Answer = (StoreDenied, "the credentials have expired or are not valid", "Get new ones")
_REGION: _Answer = (StoreUnavailable, "the bucket lies in another region", "Give region=, or set AWS_REGION")
_FULL: _Answer = (StoreError, "the store is full", "Free some space and try again")
_BUSY: _Answer = (TryAgain, "somebody else writes it at this moment", "Try again")
_LATE: _Answer = (StoreUnavailable, "it did not answer in time", "Check the network and the endpoint")
_LOST: _Answer = (TryAgain, "it cannot be reached", "Check the endpoint and the network")
_TAKEN: _Answer = (AlreadyExists, "the key is taken", "Choose another key")
_CHANGED: _Answer = (VersionConflict, "it is not as expected", "Read it again and decide anew")
_NO_RANGE: _Answer = (StoreError, "it does not have these bytes", "Ask for its facts again")
_NO_LOGIN: _Answer = (StoreDenied, "no usable credentials were found", "Set them in the environment or in a profile")

_KINDS: tuple[tuple[type[BaseException], _Answer], ...] = (
    (
        FileNotFoundError,
        (ArtifactNotFound, "there is none: never existed, deleted or expired", "List the keys near it"),
    ),
    (foreign.PermissionDeniedError, (StoreDenied, "permission denied", "Check what the credentials may do")),
    (foreign.UnauthenticatedError, (StoreDenied, "the credentials were refused", "Check the credentials")),
    (foreign.NotSupportedError, (NotSupported, "the store does not support it", "")),
)
_CODES: tuple[tuple[_Answer, frozenset[str]], ...] = (
    (_NO_BUCKET, frozenset({"NoSuchBucket", "ContainerNotFound", "ContainerBeingDeleted"})),
    (_EXPIRED, frozenset({"ExpiredToken", "InvalidToken", "TokenRefreshRequired"})),
    (_REFUSED, frozenset({"AccessDenied", "AllAccessDisabled", "InvalidAccessKeyId", "SignatureDoesNotMatch",
                          "AuthenticationFailed", "AuthorizationFailure", "InvalidAuthenticationInfo"})),
    (_REGION, frozenset({"AuthorizationHeaderMalformed", "PermanentRedirect", "IllegalLocationConstraintException"})),
    (_FULL, frozenset({"QuotaExceeded", "InsufficientStorage", "XMinioStorageFull"})),
    (_BUSY, frozenset({"ConditionalRequestConflict", "OperationAborted"})),
)  # fmt: skip
_STATUSES = {"401": _REFUSED, "403": _REFUSED, "416": _NO_RANGE, "507": _FULL}
_WITH_STATUS = (_REFUSED, _EXPIRED, _FULL, _NO_RANGE)
# The answers whose reason is followed by the status.
_WORDS: tuple[tuple[re.Pattern[str], _Answer], ...] = (
    (re.compile(r"redirect without LOCATION"), _REGION),
    (re.compile(r"[Cc]redentials? |instance metadata|token request"), _NO_LOGIN),
    (re.compile(r"GetRange|[Rr]ange start"), _NO_RANGE),
)
_URL = re.compile(r"https?://\S+")
_STATUS = re.compile(r"status code: (\d{3})([A-Za-z ]*)")
_CODE = re.compile(r"<Code>(\w{1,60})</Code>|\(code: (\w{1,60})\)\s*\Z")
_KIND = re.compile(r"^\s*kind: (\w+)", re.MULTILINE)
_PLACE = re.compile(r'[Pp]ath "(.*?)"(?::| contained)')


def translate(thing: str, error: BaseException, *, path: str = "", conditional: bool = False) -> KmnbError | None:
    """Give kmnb's error for a foreign one.

    Args:
        thing: What the error is about.
        error: What obstore raised.
        path: Path that the request was about.
        conditional: Whether it was a conditional write; only such a one can lose against another.

    Returns:
        The error to raise instead; None for what is no store's fault.
    """
    if isinstance(error, KmnbError):
        return None
    text, _, deeper = str(error).partition("\n\nDebug source:\n")
    if isinstance(error, foreign.InvalidPathError):
        return _misplaced(thing, text)
    text = _URL.sub("", text.replace(path, "") if path else text)
    found, status = _CODE.search(text), _STATUS.search(text)
    code = "" if found is None else found[1] or found[2]
    answer = _by_code(code) or _by_kind(error, conditional=conditional)
    if answer is None:
        if type(error).__name__ != "PanicException" and not isinstance(error, foreign.BaseError | OSError):
            return None
        answer = _by_status(status, code) if status else _by_words(text, deeper)
    kind, reason, step = answer
    if status and answer in _WITH_STATUS:
        reason = f"{reason} ({status[1]}{status[2].rstrip()})"
    return kind(thing, reason, step, **({"full": True} if answer is _FULL else {}))


def _by_code(code: str) -> _Answer | None:
    return next((answer for answer, codes in _CODES if code in codes), None)


def _by_kind(error: BaseException, *, conditional: bool) -> _Answer | None:
    if conditional and isinstance(error, foreign.AlreadyExistsError):
        return _TAKEN
    if conditional and isinstance(error, foreign.PreconditionError):
        return _CHANGED
    return next((answer for kind, answer in _KINDS if isinstance(error, kind)), None)


def _by_status(status: re.Match[str], code: str) -> _Answer:
    if answer := _STATUSES.get(status[1]):
        return answer
    step = "Check endpoint, region and credentials" if status[1] == "400" else "Try again"
    return StoreUnavailable, f"the store answered {status[1]}{status[2].rstrip()}{code and f' ({code})'}", step


def _by_words(text: str, deeper: str) -> _Answer:
    for pattern, answer in _WORDS:
        if pattern.search(text):
            return answer
    kinds = set(_KIND.findall(deeper))
    if kinds & {"Timeout", "TimedOut"}:
        return _LATE
    is_lost = "error sending request" in text or kinds & {"Connect", "Interrupted", "Request"}
    return _LOST if is_lost else (StoreUnavailable, "the store failed", "Try again")


def _misplaced(thing: str, text: str) -> Misplaced:
    """Tell of an object whose name no key can have; obstore lists nothing of the page that holds it."""
    found = _PLACE.search(text)
    name = repr(found[1]) if found else "one"
    reason = f"an object of another program lies among those of kmnb, under a name that no key can have: {name}"
    return Misplaced(thing, reason, "Remove or rename it, or use another prefix")
