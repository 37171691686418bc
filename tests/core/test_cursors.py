"""Cursors come back from anybody: what no answer gave is refused in words, whatever it is."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from kmnb.core.cursors import numbers_of, seal, unseal
from kmnb.errors import BadRequest
from kmnb.ops._line_index import bound_to
from tests.sips.driving import info_of, sip_bytes

ROWS = b"a\n" + b"1\n" * 9
ODD: tuple[Any, ...] = (-1, 1.5, "1", True, [1], {}, 2**63, float("nan"))


@pytest.mark.parametrize("odd", ODD)
def test_a_number_that_no_answer_wrote_is_refused(odd: Any) -> None:
    with pytest.raises(BadRequest, match="not one that a slice gave"):
        numbers_of(json.dumps({"line": odd}), "line")
    with pytest.raises(BadRequest, match="not one that a slice gave"):
        numbers_of(json.dumps({"line": 1, "total": odd}), "line", optional=("total",))


def test_numbers_are_those_that_were_written() -> None:
    assert numbers_of(None, "line") == {}
    assert numbers_of('{"line":7,"limit":null,"total":null}', "line", optional=("total",)) == {"line": 7}
    with pytest.raises(BadRequest):
        numbers_of("{}", "line")


@pytest.mark.parametrize("text", ["x", "é", "W10", base64.urlsafe_b64encode(b"[" * 50_000).decode()])
def test_what_is_no_cursor_is_refused(text: str) -> None:
    with pytest.raises(BadRequest, match="not one that a slice gave"):
        unseal(text, "lines", "x 1")


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("head", {}), ("lines", {}), ("grep", {"pattern": "1"}), ("select", {"columns": ["a"]}), ("jq", {"program": "."})],
)
def test_every_operation_refuses_a_state_that_is_not_its_own(name: str, arguments: dict[str, Any]) -> None:
    cursor = seal(name, bound_to(info_of(ROWS)), {"line": [1], "record": {}, "skip": "x"})
    with pytest.raises(BadRequest, match="it is not one that a slice gave"):
        sip_bytes(ROWS, name, {**arguments, "cursor": cursor})
