"""What long runs of the same signs look like is found out in linear time: nothing is tried again and again."""

from __future__ import annotations

import time

import pytest

from kmnb.core.shape import type_of
from kmnb.formats._csv_dialect import sniff_dialect
from kmnb.formats._inspect import inspect
from kmnb.formats.prometheus import read_sample

LONG = 20_000


@pytest.mark.parametrize(
    "line",
    ["NAME" + " " * LONG + "AGE", "1" + " " * LONG + "x", "1" * LONG + "x", "x{" + 'a="b",' * LONG + "} 1", '"' * LONG],
)
def test_a_long_line_costs_no_more_than_its_length(line: str) -> None:
    # Time of the processor, so that a busy machine changes nothing; what goes back would take minutes.
    begun = time.process_time()
    assert inspect(f"{line}\n{line}\n".encode()).lines == 2
    read_sample(line)
    type_of(line)
    assert time.process_time() - begun < 5


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("up 1", ["__name__", "value"]),
        ('up{a="b\\"}", c="d",} 1.5e3 17', ["__name__", "a", "c", "value", "timestamp"]),
        ('{"my name", x="1"}  +Inf  # {t="1"} 1', ["__name__", "x", "value"]),
        ("up   NaN   ", ["__name__", "value"]),
        ('up{a="b"} x', None),
        ("up {", None),
    ],
)
def test_samples_are_read_as_before(line: str, names: list[str] | None) -> None:
    sample = read_sample(line)
    assert (list(sample) if sample is not None else None) == names


def test_numbers_name_no_columns() -> None:
    """A first row of numbers with blanks, signs and percent is a row of values."""
    from kmnb.core.records import Dialect

    content = b"1 000,-2.5 %,.5e3 , 7%\n1,2,3,4\n"
    assert not sniff_dialect(content, Dialect(), whole=True).header
