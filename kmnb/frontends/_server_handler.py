"""What every route has in common: problem+json errors, checked arguments, strict JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from http.client import responses
from typing import Any

from jupyter_server.base.handlers import APIHandler

from kmnb import errors
from kmnb.core.jsonable import json_text
from kmnb.errors import BadRequest, KmnbError

STATUS: tuple[tuple[type[KmnbError], int], ...] = (
    (errors.BadRequest, 400),
    (errors.ArtifactNotFound, 404),
    (errors.AlreadyExists, 409),
    (errors.BoundExceeded, 413),
    (errors.NotSupported, 501),
    (errors.StoreUnavailable, 503),
    (errors.StoreError, 502),
    (errors.SandboxUnavailable, 503),
)
"""HTTP status by kind of error."""
BODY_MAX_BYTES = 1024 * 1024
"""Largest body of a request."""


class KmnbHandler(APIHandler):
    """Base of the routes."""

    auth_resource = "kmnb"

    def initialize(self, state: Any) -> None:
        """Take the state that all requests share."""
        self.state = state

    def arguments_given(self) -> dict[str, Any]:
        """Give the arguments of the query string, or of a JSON body.

        Raises:
            BadRequest: The body is no JSON object, or too large.
        """
        given: dict[str, Any] = {name: self.get_query_arguments(name) for name in self.request.query_arguments}
        given = {name: values if len(values) > 1 else values[0] for name, values in given.items()}
        given.pop("token", None)
        given.pop("no_track_activity", None)
        return given | self._body()

    def _body(self) -> dict[str, Any]:
        raw = self.request.body
        if not raw:
            return {}
        if len(raw) > BODY_MAX_BYTES:
            raise BadRequest("request", f"its body has more than {BODY_MAX_BYTES:,} bytes")
        try:
            body = json.loads(raw)
        except (ValueError, RecursionError):
            body = None
        if not isinstance(body, dict):
            raise BadRequest("request", "its body is no JSON object", "Send the arguments as one JSON object.")
        return body

    def answer(self, value: Any, *, status: int = 200) -> None:
        """End the request with a JSON answer."""
        self.set_status(status)
        self.set_header("X-Content-Type-Options", "nosniff")
        self.finish(json_text(value), set_content_type="application/json")

    def log_exception(self, *arguments: Any) -> None:
        """Log errors of the caller in one line; anything unforeseen with its traceback."""
        if isinstance(arguments[1], KmnbError):
            self.log.info("kmnb: %s: %s", arguments[1].code, arguments[1])
        else:
            super().log_exception(*arguments)

    def write_error(self, status_code: int, **details: Any) -> None:
        """Answer an error as application/problem+json (RFC 9457)."""
        error = details.get("exc_info", (None, None, None))[1]
        problem = problem_of(error, status_code)
        self.set_status(problem["status"])
        self.finish(json_text(problem), set_content_type="application/problem+json")


def problem_of(error: BaseException | None, status: int) -> Mapping[str, Any]:
    """Describe an error; the code and the text are those of Python and the magics.

    Args:
        error: What was raised.
        status: Status that the framework chose.

    Returns:
        ``type``, ``title``, ``status``, ``detail``, ``code`` and, for limits, the facts.
    """
    if not isinstance(error, KmnbError):
        title = responses.get(status, "Error")
        detail = getattr(error, "log_message", None) if status < 500 else None
        return {
            "type": "about:blank",
            "title": title,
            "status": status,
            "detail": detail or title,
            "code": f"http-{status}",
        }
    status = next((number for kind, number in STATUS if isinstance(error, kind)), 500)
    facts: dict[str, Any] = {
        name: error.facts[name] for name in ("limit", "value", "unit", "kept") if name in error.facts
    }
    return {
        "type": f"urn:kmnb:error:{error.code}",
        "title": type(error).__name__,
        "status": status,
        "detail": str(error),
        "code": error.code,
        **facts,
    }
