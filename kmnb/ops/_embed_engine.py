"""JSONPath, Mustache and YAML on hostile input: in a process that can be killed, with an empty environment."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from typing import Any

from kmnb.core.bounds import QUERY_SECONDS
from kmnb.errors import ExpressionError

_BOOT = "import sys, json; sys.path[:] = json.loads(sys.argv[1]); from kmnb.ops._embed_child import main; main()"


async def run_engine(work: str, data: Any, argument: str = "") -> Any:
    """Do one piece of work.

    Args:
        work: ``jsonpath``, ``mustache`` or ``yaml``.
        data: A JSON value; for YAML its text.
        argument: The path or the template.

    Raises:
        ExpressionError: It failed, took longer than QUERY_SECONDS, or ran out of memory.
    """
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-I", "-S", "-c", _BOOT),
        json.dumps([path for path in sys.path if path]),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env={},
        cwd="/",
        start_new_session=True,
    )
    try:
        order = json.dumps({"work": work, "data": data, "argument": argument}).encode()
        answer, _ = await asyncio.wait_for(process.communicate(order), QUERY_SECONDS)
        reply = json.loads(answer)
    except TimeoutError:
        raise ExpressionError(work, f"stopped after {QUERY_SECONDS:g} s") from None
    except (ValueError, OSError):
        raise ExpressionError(work, "its process ended: out of memory, or too deep") from None
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
    if "error" in reply:
        raise ExpressionError(work, str(reply["error"]))
    return reply["result"]
