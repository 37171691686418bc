"""Subjects of the bus: where references, discussion messages and events are published.

A namespace and a crew are exactly one token and are never rewritten, as the peer demands. Other identifiers get the
escapes of :mod:`kmnb.core.keys`, the dot included, so that a thread can never widen a subject.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from kmnb.core.keys import CREWLESS, escape, unescape
from kmnb.errors import KeySyntaxError

ARTIFACTS = "kubemoot.artifacts"
"""First tokens of reference messages."""
DISCUSS = "kubemoot.discuss"
"""First tokens of discussion messages."""
EVENTS = "kmnb.events"
"""First tokens of events."""
BROADCAST = "broadcast"
"""Channel that every agent of a crew hears."""

TOKEN_MAX_CHARS = 200
"""Longest identifier that stands in the subject of an event itself."""

_TOKEN = re.compile(r"[A-Za-z0-9_=-]+")


def one_token(name: str, what: str) -> str:
    """Check a namespace or crew for use in a subject.

    Args:
        name: The name.
        what: ``namespace`` or ``crew``, for the error.

    Raises:
        KeySyntaxError: Blank, dotted, a wildcard, or with a blank in it.
    """
    if not _TOKEN.fullmatch(name):
        raise KeySyntaxError(f"{what} {name!a:.80}", "is not one subject token", "Use letters, digits, '-' and '_'.")
    return name


def token(identifier: str) -> str:
    """Write any identifier as one subject token; reversible by :func:`kmnb.core.keys.unescape`."""
    return escape(identifier).replace(".", "=2E")


def untoken(text: str) -> str:
    """Read an identifier back from a subject token."""
    return unescape(text.replace("=2E", ".")) if "=" in text else text


def artifact_subject(namespace: str, crew: str | None, thread: str) -> str:
    """Where form A references of a thread go."""
    crew_token = one_token(crew or CREWLESS, "crew")
    return f"{ARTIFACTS}.{one_token(namespace, 'namespace')}.{crew_token}.{token(thread)}"


def artifact_wildcard(namespace: str) -> str:
    """All form A references of a namespace."""
    return f"{ARTIFACTS}.{one_token(namespace, 'namespace')}.>"


def discussion_subject(namespace: str, crew: str | None, thread: str | None, *, channel: str | None = BROADCAST) -> str:
    """Where discussion messages of a thread go; without a crew the subject is one token shorter.

    Args:
        namespace: One token.
        crew: One token; None, empty or ``nocrew`` for agents without one.
        thread: Any identifier; None for all threads.
        channel: Channel; None for all channels.
    """
    last, middle = ("*" if name is None else token(name) for name in (thread, channel))
    start = f"{DISCUSS}.{one_token(namespace, 'namespace')}"
    if crew in (None, "", CREWLESS):
        return f"{start}.{middle}.{last}"
    return f"{start}.{one_token(crew or '', 'crew')}.{middle}.{last}"


@dataclass(frozen=True, slots=True)
class Place:
    """What a subject says about a message."""

    namespace: str
    """Namespace token."""
    crew: str
    """Crew token, ``nocrew`` where there is none."""
    thread: str
    """Thread identifier, without escapes."""
    channel: str | None = None
    """Channel of a discussion message; None for references."""


def parse_subject(subject: str) -> Place | None:
    """Read a subject of references or discussion messages.

    Args:
        subject: The subject of a message.

    Returns:
        Its parts; None for too few or too many tokens, an empty token or a foreign prefix.
    """
    tokens = subject.split(".")
    if not all(tokens):
        return None
    head, rest = ".".join(tokens[:2]), tokens[2:]
    if head == ARTIFACTS and len(rest) == 3:
        return Place(rest[0], rest[1], untoken(rest[2]))
    if head == DISCUSS and len(rest) == 4:
        return Place(rest[0], rest[1], untoken(rest[3]), untoken(rest[2]))
    if head == DISCUSS and len(rest) == 3:
        return Place(rest[0], CREWLESS, untoken(rest[2]), untoken(rest[1]))
    return None


def event_subject(app: str, user: str, session: str) -> str:
    """Where events go; a long identifier stands there by its digest, since servers bound the length of a subject."""
    return ".".join([EVENTS, *(_short(token(name)) for name in (app, user, session))])


def _short(text: str) -> str:
    return text if len(text) <= TOKEN_MAX_CHARS else "==" + hashlib.sha256(text.encode()).hexdigest()
