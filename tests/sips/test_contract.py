"""Every sip keeps the contract of sips: its examples hold for every way of cutting the bytes, on every backend."""

from __future__ import annotations

from typing import Any

import pytest

from kmnb.core.describe import Example
from kmnb.ops.sip import sip_names, sip_operation, sip_plugin
from tests.sips.driving import BytesArea, Cut, sip_bytes

EXAMPLES = [(name, place) for name in sip_names() for place in range(len(sip_operation(name).examples))]


def example_of(name: str, place: int) -> Example:
    return sip_operation(name).examples[place]


@pytest.mark.parametrize(("name", "place"), EXAMPLES)
@pytest.mark.parametrize("size", [1, 2, 3, 7, 1 << 20])
def test_an_example_holds_for_every_way_of_cutting_the_bytes(name: str, place: int, size: int) -> None:
    example = example_of(name, place)
    answer = sip_bytes(example.content, name, example.arguments, cut=Cut(size), media_type=example.media_type)
    assert tuple(answer.values) == example.values
    if example.text is not None:
        assert answer.text == example.text


@pytest.mark.parametrize("name", sip_names())
def test_a_sip_has_a_summary_examples_and_help_for_every_parameter(name: str) -> None:
    operation = sip_plugin(name).operation
    assert operation.name == name
    assert operation.summary.endswith(".")
    assert operation.examples
    assert all(param.help.endswith(".") for param in operation.params)


@pytest.mark.parametrize("name", sip_names())
def test_every_sip_takes_a_cap_and_a_section(name: str) -> None:
    assert {"max_bytes", "section"} <= {param.name for param in sip_operation(name).params}


@pytest.mark.parametrize("name", sip_names())
@pytest.mark.parametrize("indexed", [True, False])
def test_what_a_sip_says_it_moved_is_what_the_store_gave(name: str, indexed: bool) -> None:
    content = b"".join(b'{"name":"pod-%d","n":%d}\n' % (n, n) for n in range(20_000))
    arguments = {"grep": {"pattern": "pod-7"}, "jq": {"program": ".n"}, "jmespath": {"expression": "n"}}
    asked = arguments.get(name, {"columns": ["n"]} if name == "select" else {})
    area = BytesArea(content)
    answer = sip_bytes(content, name, asked, indexed=indexed, area=area)
    assert answer.fetched_bytes == area.moved
    assert area.moved <= len(content) + (64 << 10)
    if indexed and name == "count":
        assert area.moved == 0


@pytest.mark.parametrize(("name", "place"), EXAMPLES)
@pytest.mark.parametrize("cap", [1, 40, 200])
def test_no_answer_is_larger_than_its_cap(name: str, place: int, cap: int) -> None:
    from kmnb.errors import BoundExceeded

    example = example_of(name, place)
    arguments: dict[str, Any] = {**example.arguments, "max_bytes": cap}
    try:
        answer = sip_bytes(example.content, name, arguments, media_type=example.media_type)
    except BoundExceeded:
        return
    assert len(answer.text.encode()) <= cap
