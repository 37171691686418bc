"""What an object says of the records that its count leaves out is hostile until it is checked."""

from __future__ import annotations

import pytest

from kmnb.core.metadata import Attribute, ObjectInfo
from kmnb.ops._line_index import left_out


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ('{"records": 2, "sections": ["a", "b"]}', (2, ["a", "b"])),
        ("{}", (0, [])),
        ("", (0, [])),
        ("[]", (0, [])),
        ("{", (0, [])),
        ('{"records": 1e999}', (0, [])),
        ('{"records": -5}', (0, [])),
        ('{"records": "x"}', (0, [])),
        ('{"sections": 7}', (0, [])),
        ("[" * 100_000, (0, [])),
    ],
)
def test_what_cannot_be_read_says_nothing(told: str, expected: tuple[int, list[str]]) -> None:
    info = ObjectInfo("k", 1, None, None, None, {str(Attribute.LEFT_OUT): told})
    assert left_out(info) == expected
