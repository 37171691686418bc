"""The other end of :mod:`kmnb.ops._isolated`: runs in a process of its own."""

from __future__ import annotations

import gc
import importlib
import json
import os
import sys
from dataclasses import asdict
from typing import Any, BinaryIO

from kmnb.errors import BoundExceeded, ExpressionError, KmnbError
from kmnb.ops import _jq_helper
from kmnb.ops._walking import Walking
from kmnb.sips import _jq_library

MEMORY_BYTES = 4 * 1024 * 1024 * 1024
"""Address space of the process."""


def main() -> None:
    """Serve one sip on standard input and output."""
    limit_process()
    # Records make no cycles; looking for some would take as long as decoding them.
    gc.disable()
    helper = _jq_helper.Helper()
    if _jq_helper.is_worthwhile():
        _jq_library.spread_by(helper.first_outputs)
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    run: Any = None
    while head := source.read(9):
        kind, body = head[:1], source.read(int.from_bytes(head[1:], "big"))
        try:
            reply = b""
            if kind == b"S":
                order = json.loads(body)
                plugin = importlib.import_module(order["module"]).SIP
                query = plugin.start(order["arguments"], max_bytes=order["max_bytes"])
                run = Walking(query, strict=bool(order["arguments"].get("strict")))
            elif kind == b"B":
                run.feed(body)
                reply = json.dumps(run.skippable).encode()
            elif kind == b"R":
                run.resume(*json.loads(body))
            else:
                reply = _answer(run, ended=kind == b"E")
                helper.close()
            _send(sink, b"D" if run.done else b"F" if run.full else b"A", reply)
        except KmnbError as error:
            _send(sink, b"X", _error(error))
        except (MemoryError, RecursionError) as error:
            reason = "needs more memory than it may" if isinstance(error, MemoryError) else "is nested too deeply"
            fault = BoundExceeded("the query", f"it, or a value, {reason}", "Ask for less, or use run")
            _send(sink, b"X", _error(fault))
        except Exception as error:
            _send(sink, b"X", _error(ExpressionError("the query", f"{type(error).__name__}: {error}")))


def _answer(run: Any, *, ended: bool) -> bytes:
    if ended:
        run.end()
    return json.dumps(asdict(run.finish()), allow_nan=False).encode()


def _send(sink: BinaryIO, kind: bytes, body: bytes) -> None:
    sink.write(kind + len(body).to_bytes(8, "big") + body)
    sink.flush()


def _error(error: KmnbError) -> bytes:
    facts = {"kind": type(error).__name__, "thing": error.thing, "reason": error.reason, "next_step": error.next_step}
    return json.dumps({**facts, "facts": error.facts}, default=str).encode()


def limit_process() -> None:
    """Take from this process what hostile programs would use: memory, files, the host's variables."""
    import resource

    # Python sets this for itself where there is no locale; $ENV would show it.
    os.unsetenv("LC_CTYPE")
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
