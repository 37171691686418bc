"""Every error that kmnb raises on purpose.

::

    KmnbError
    ├─ BadRequest(ValueError)                the caller's fault
    │  ├─ KeySyntaxError                     a key or an identifier that no artifact can have
    │  ├─ EnvelopeError                      something that is not a readable reference
    │  ├─ ExpressionError                    a pattern, query or program that cannot be understood or run
    │  └─ UnknownPlugin                      no backend, sip, format, language or front end of that name
    ├─ ArtifactNotFound(FileNotFoundError)   never existed, deleted or expired
    ├─ AlreadyExists(FileExistsError)        a create-only write lost
    │  └─ VersionConflict                    a conditional write met another version
    ├─ BoundExceeded                         a named limit was passed
    ├─ StoreError(OSError)                   the store's fault
    │  ├─ StoreUnavailable                   not reachable, or not in time
    │  ├─ StoreDenied                        reachable, but not for these credentials
    │  ├─ DigestMismatch                     the bytes are not the ones that were stored
    │  └─ NotSupported                       this store lacks the capability asked for
    └─ SandboxUnavailable(RuntimeError)      the sandbox itself; a failing program is an Outcome

A message names the thing, the reason and the next step in at most 2 KiB. Facts are attributes; the text is
built from them.
"""

from __future__ import annotations

from typing import Any

MAX_MESSAGE_BYTES = 2048
"""Longest text of an error in UTF-8 bytes; longer ones are cut and say so."""

_CUT = " … (cut)"


def clip(text: str, limit_bytes: int = MAX_MESSAGE_BYTES) -> str:
    """Cut a text at a character boundary so that it fits in a number of UTF-8 bytes.

    Args:
        text: Any text; lone surrogates are replaced.
        limit_bytes: Largest size of the answer in bytes, the mark of the cut included.

    Returns:
        The text itself, or its beginning followed by a mark.
    """
    raw = text.encode("utf-8", "replace")
    if len(raw) <= limit_bytes:
        return raw.decode("utf-8")
    return raw[: max(0, limit_bytes - len(_CUT.encode()))].decode("utf-8", "ignore") + _CUT


class KmnbError(Exception):
    """Root of all errors that kmnb raises on purpose.

    Args:
        thing: What the error is about, for example a key or an option.
        reason: What is wrong with it.
        next_step: What the reader can do now; empty when there is nothing to do.
        facts: Further facts, kept as attributes of the same name.
    """

    code = "error"
    """Short name of the kind of error; the same in Python, magics, command line and REST."""

    def __init__(self, thing: str, reason: str = "", next_step: str = "", **facts: Any) -> None:
        self.thing, self.reason, self.next_step, self.facts = clip(thing, 1200), reason, next_step, facts
        super().__init__(str(self))

    def __getattr__(self, name: str) -> Any:
        facts = self.__dict__.get("facts", {})
        if name in facts:
            return facts[name]
        raise AttributeError(name)

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), (self.thing, self.reason, self.next_step), self.facts)

    def __str__(self) -> str:
        text = said(self)
        if self.next_step:
            text = f"{text}. {self.next_step}" if text[-1:] not in ".!?" else f"{text} {self.next_step}"
        return clip(text)

    def _render_traceback_(self) -> list[str]:
        """Give what IPython shows of it: the caller's own lines and the message."""
        from kmnb._cell_errors import rendered

        return rendered(self)


def said(error: BaseException, about: str = "") -> str:
    """Give what an error says without its next step, as a part of the reason of another one, which has its own.

    Args:
        error: Any error.
        about: What the other error is about; it is not said twice.

    Returns:
        Thing and reason of an error of kmnb, the text of any other.
    """
    if not isinstance(error, KmnbError):
        return str(error) or type(error).__name__
    if error.reason and error.thing == about:
        return error.reason
    return f"{error.thing}: {error.reason}" if error.reason else error.thing


def shown(value: Any) -> str:
    """Give a value as errors show it: short and printable, whatever it is.

    Args:
        value: What a caller gave.
    """
    try:
        text = ascii(value)
    except Exception:
        text = f"a value of type {type(value).__name__}"
    return clip(text, 80)


def _rebuild(kind: type[KmnbError], texts: tuple[str, str, str], facts: dict[str, Any]) -> KmnbError:
    """Make an error again from its facts, so that errors can be pickled."""
    return kind(*texts, **facts)


class BadRequest(KmnbError, ValueError):
    """The caller asked for something that cannot be meant."""

    code = "bad-request"


class KeySyntaxError(BadRequest):
    """A key or identifier that no artifact can have."""

    code = "bad-key"


class EnvelopeError(BadRequest):
    """Something that is not a readable reference to an artifact."""

    code = "bad-envelope"


class ExpressionError(BadRequest):
    """A pattern, query or program that cannot be understood or run."""

    code = "bad-expression"


class UnknownPlugin(BadRequest):
    """No backend, sip, format, language or front end of that name."""

    code = "unknown-plugin"


class ArtifactNotFound(KmnbError, FileNotFoundError):
    """Never existed, deleted or expired; ``reason`` says which where the store knows."""

    code = "not-found"


class AlreadyExists(KmnbError, FileExistsError):
    """A create-only write found that the key is taken."""

    code = "exists"


class VersionConflict(AlreadyExists):
    """A conditional write met another version than the expected one."""

    code = "conflict"


class BoundExceeded(KmnbError):
    """A named limit was passed; facts ``limit``, ``value``, ``unit`` and ``kept`` say which."""

    code = "bound"


class StoreError(KmnbError, OSError):
    """The store could not do what it was asked."""

    code = "store"


class StoreUnavailable(StoreError):
    """The store is not reachable, or did not answer in time."""

    code = "store-unavailable"


class StoreDenied(StoreError):
    """The store refused the credentials, or they lack a right."""

    code = "store-denied"


class DigestMismatch(StoreError):
    """The bytes are not the ones that were stored; nothing wrong is handed out."""

    code = "digest-mismatch"


class NotSupported(StoreError):
    """This store lacks the capability that was asked for by name."""

    code = "not-supported"


def forked(thing: str, pid: int) -> StoreError:
    """Give the error for something that was begun before a fork and is asked for in the child.

    Args:
        thing: What was begun.
        pid: The process that began it and alone can go on with it.
    """
    reason = f"process {pid} began it, from which this one was forked; that one alone can go on with it"
    return StoreError(thing, reason, "Begin it again in this process", forked=True)


class SandboxUnavailable(KmnbError, RuntimeError):
    """The sandbox cannot run anything here; a failing program is an Outcome instead."""

    code = "sandbox-unavailable"
