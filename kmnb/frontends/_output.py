"""What the command line prints, and how it ends."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from kmnb import errors
from kmnb.core.answers import Answer
from kmnb.core.cards import artifact_card, outcome_card, slice_card
from kmnb.core.display import plain
from kmnb.core.jsonable import json_text
from kmnb.core.outcome import Outcome
from kmnb.core.report import Report
from kmnb.core.slice import Slice
from kmnb.core.visible import visible
from kmnb.ops.handle import Artifact
from kmnb.ops.spill import Spill

CODES: tuple[tuple[type[BaseException], int], ...] = (
    (errors.BadRequest, 2),
    (errors.ArtifactNotFound, 3),
    (errors.BoundExceeded, 4),
    (errors.StoreError, 5),
    (errors.SandboxUnavailable, 6),
    (errors.AlreadyExists, 7),
)
"""Exit codes by kind of error."""
TIMED_OUT, INTERRUPTED, READER_GONE = 124, 130, 141


@dataclass
class End:
    """How a command ended."""

    code: int = 1
    """The exit code."""


@contextmanager
def ended() -> Iterator[End]:
    """Turn errors into one line on stderr and an exit code; a reader that went away ends it quietly."""
    end = End()
    try:
        yield end
        sys.stdout.flush()
    except BrokenPipeError:
        # Python would complain once more when it flushes at exit.
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        end.code = READER_GONE
    except KeyboardInterrupt:
        end.code = INTERRUPTED
    except errors.KmnbError as error:
        remark(f"{type(error).__name__} [{error.code}]: {error}")
        end.code = next((code for kind, code in CODES if isinstance(error, kind)), 1)
    except OSError as error:
        # A file or folder of the caller: one that the store keeps is a StoreError.
        remark(f"{error.strerror or error}: {error.filename or 'standard output'}")


def put_text(text: str) -> int:
    """Print a text to stdout in UTF-8; a terminal gets control characters made visible."""
    if sys.stdout.isatty():
        text = visible(text)
    stream = getattr(sys.stdout, "buffer", None)
    if stream is None:
        sys.stdout.write(text)
    else:
        sys.stdout.flush()
        stream.write(text.encode("utf-8", "replace"))
        stream.flush()
    return 0


def remark(text: str) -> None:
    """Print a remark of one line to stderr."""
    line = visible(text.replace("\n", " "))
    print(line.encode("utf-8", "replace").decode(), file=sys.stderr)


def show(name: str, answer: Any, *, as_json: bool, arguments: Mapping[str, Any]) -> int:
    """Print an answer.

    Args:
        name: The command that gave it.
        answer: A slice, an outcome, a spill, an artifact, an answer, or a report with a ``text``.
        as_json: Whether to print JSON.
        arguments: Arguments of the command.

    Returns:
        The exit code.
    """
    if as_json:
        put_text(json_text(data_of(answer), indent=2) + "\n")
    elif isinstance(answer, Artifact):
        _artifact(name, answer, arguments)
    elif isinstance(answer, Spill):
        put_text(json_text(answer.message) + "\n")
    elif isinstance(answer, Outcome):
        put_text(answer.stdout)
        sys.stderr.write(visible(answer.stderr))
        for note in outcome_card(answer).notes:
            remark(note)
    else:
        put_text(answer.text)
        for note in _notes(answer):
            remark(note)
    return _code(answer)


def _code(answer: Any) -> int:
    if isinstance(answer, Report):
        return 1 if answer.failures else 0
    if isinstance(answer, Answer):
        return 0 if answer.ok else 1
    if not isinstance(answer, Outcome):
        return 0
    if answer.timed_out:
        remark("the program ran out of time")
        return TIMED_OUT
    return answer.exit_code if answer.exit_code >= 0 else 128 - answer.exit_code


def data_of(answer: Any) -> Any:
    """Give an answer as what becomes JSON."""
    if isinstance(answer, Answer):
        return answer.data
    if isinstance(answer, Spill):
        return answer.message
    if isinstance(answer, Artifact):
        return {"uri": answer.uri, "artifact": answer.envelope()}
    return answer


def _artifact(name: str, artifact: Artifact, arguments: Mapping[str, Any]) -> None:
    if name == "show":
        put_text(plain(artifact_card(artifact), max_lines=60) + "\n")
    elif name == "get" and not arguments["path"]:
        for block in artifact.stream():
            sys.stdout.buffer.write(block)
        sys.stdout.buffer.flush()
    else:
        put_text(f"{artifact.uri}\n")


def _notes(answer: Any) -> Iterator[str]:
    if isinstance(answer, Report):
        yield from answer.notes
    if not isinstance(answer, Slice):
        return
    yield from slice_card(answer).notes
    if answer.cursor and not answer.complete:
        yield f"more follows; go on with --cursor {answer.cursor}"
