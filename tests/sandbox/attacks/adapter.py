"""Puts kmnb's sandbox under ``check.py``; the environment says which engine and which Landlock version to use."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[3]))
if os.environ.get("ADAPTER_SITE"):
    # An ordinary user's interpreter may be another than the one that has jupyter_client installed.
    sys.path.append(os.environ["ADAPTER_SITE"])

from kmnb._bridge import run as wait_for
from kmnb.errors import KmnbError
from kmnb.sandbox import _api
from kmnb.sandbox._host import ENGINES, Host
from kmnb.sandbox.kernels import run_cell
from kmnb.sandbox.kernels._pool import Pool

ENGINE = os.environ.get("ADAPTER_ENGINE", "any").replace("any", "")
ABI = int(os.environ.get("ADAPTER_LANDLOCK", "0")) or None
LEVEL = int(os.environ.get("ADAPTER_LEVEL", "2"))

HOST = Host(engines=(ENGINE,) if ENGINE else ENGINES, landlock_abi=ABI)
_api.default_host = lambda: HOST  # type: ignore[assignment]
wait_for(HOST.start())
GUARANTEES = HOST.guarantees


def execute(
    language: str,
    code: str,
    *,
    timeout: float = 10.0,
    artifacts: str | None = None,
    tmp: str | None = None,
    tool: str = "execute",
    filename: str | None = None,
    output_cap: int | None = None,
) -> dict[str, Any]:
    """Run or validate one probe."""
    try:
        if tool == "validate":
            verdict = _api.validate(code, language=language)
            return {"valid": verdict.valid, "stdout": "", "stderr": verdict.errors, "error": None}
        outcome = _api.run(
            code,
            language=language,
            timeout_seconds=timeout,
            artifacts_folder=artifacts,
            run_parent=tmp,
            max_output_bytes=output_cap or 65_536,
            required_level=LEVEL,
        )
    except KmnbError as error:
        return {"error": str(error)}
    fields = ("stdout", "stderr", "exit_code", "timed_out", "truncated")
    return {name: getattr(outcome, name) for name in fields} | {"error": None}


def artifacts_path(folder: str) -> str:
    """Where a program finds the artifacts."""
    return "/artifacts" if HOST.isolation is not None and HOST.isolation.level >= 3 else folder


POOL = Pool(engines=HOST.engines, landlock_abi=ABI)


def kernel_cells(cells: list[str], *, timeout: float = 30.0) -> list[dict[str, Any]]:
    """Run each cell in a kernel of its own."""
    results = []
    for code in cells:
        outcome = wait_for(run_cell(code, timeout_seconds=timeout, required_level=LEVEL, pool=POOL))
        mimes = sorted({kind for display in outcome.displays for kind in display})
        status = "ok" if outcome.ok else "error"
        results.append({"status": status, "stdout": outcome.stdout, "stderr": outcome.stderr, "mimes": mimes})
    return results
