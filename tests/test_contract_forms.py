"""Every way of writing a number is seen; what is no number is named; a receipt is looked at before it counts."""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kmnb import contract
from kmnb.core.lookalikes import DIGIT_FIRST, LETTER_FIRST
from kmnb.core.numbers import find_numbers
from kmnb.core.proofs import sip_digest, text_digest
from kmnb.core.receipt import Receipt, digest_of
from kmnb.core.slice import Slice
from kmnb.errors import BadRequest
from tests.test_contract_answers import PAGE, receipt

OUTPUT = """kube-system 17
default 42
TOTAL 59
share 28.8136%
p95 5.25 ms
elapsed 3.2 s
bytes 1234567890
growth -4.5
rows=1048576
[4, 8, 15, 16, 23]
{"a": 40, "b": 45}
price 1200.50 USD
cpu 250m
mem 512Mi
2026-11-30 7 errors
hex 0x2b
"""

NEVER = (
    "75pods", "75kg", "75EUR", "USD75", "75bn", "75-fold", "75-percent", "_75_", "**75**", "#75", "[75]",
    "75. pods", "75) x",
    "1:75", "0x4b", ".75", "1.234.568", "1'234'568", "&#55;&#53;", "⑦⑤", "㊸", "٧٥", "７５", "⁷⁵", "₇₅",
    "1e999999999", "7️⃣5️⃣",
    "7\u200b5", "7\u00a05", "7\u20095", "7\u00ad5", "7<b></b>5", "7<!-- x -->5", "7**5**", "7`5`", "7_5",
    "[7](http://x.org)5",
    "seventy-five", "seventyfive", "two hundred", "4O", "1l7", "4\u041e", "30 Marked", "12 Decimal",
    "Decreased 31", "May 75",
    "On May 75", "42 Million", "42 mio", "42 bn", "42 trillion", "42 dozen", "42 PB", "42 ‰", "42²", "½", "17½",
    "minus 42",
    "\u221242", "is –42", "| (42) |", "$(42)", "28.8136", "5.25 s", "5.25", "about 100", "about 70", "nearly 16",
    "pods-75",
    "pods/75", "pods=75", "total75", "75x", "42k", "42m", "42 m", "42 × 10^6", "42×10⁶", "2^42", "42.5 %",
    "42,5",
    "17 42 pods", "1,23,456", "12 345", "1 234 pods", "No.42", "US$ 75", "75 $", "the 75!", "~75", "±75", "75-",
    "75°C",
    '<td title="75">x</td>', '<img alt="75 pods">', "<!-- 75 -->", "\\75", "\\frac{42}{17}", "4{,}2", "42 lakh",
    "42万",
    "四十二", "肆拾叁", "mid-70s", "4·2", "4'2", "2026-13-42", "43000000a", "http://75", "./75", "3/75", "75 of 80",
    "70–75",
    "7.5e1", "0113",
    "\u202e24", "42,42", "1\x1b[1m7\x1b[0m5", "42 [ARTIFACT key=a bytes=75]", "```\n75 pods\n```", "42 42",
    "1O42", "512 MB", "42 万", "42 만", "42 tsd", "42 млн", "42 kilo", "42 Mreq/s", "42 krps", "42 k rows",
    "\n| pods (thousands) |\n|---|\n| 42 |\n", "\n| a | time [s] |\n|:-|-:|\n| 17 | 5.25 |\n",
)  # fmt: skip
"""What is refused in both modes."""
IN_STRICT = (
    "line 75", "page 75", "step 75", "issue #75", "x75", "12:59", "May 12 pods", "2026-11 pods", "in 2043.",
    "the 75th", "three",
    "a dozen", "half of them", "twice as many", "dozens of pods", "LXXV pods", "8.126.183.148", "xviii pods",
    "/data/75", "7d9f8 pods",
    "one pod failed", "it doubled", "tripling since then", "double the pods", "halved",
)  # fmt: skip
"""What is doubtful: refused in strict mode, listed as ignored otherwise."""
HONEST = (
    "There are 17 pods in kube-system and 42 in default.",
    "| namespace | pods |\n|---|---:|\n| kube-system | 17 |\n| default | 42 |\n| **TOTAL** | **59** |",
    "1. kube-system has 17 pods\n2. default has 42 pods\n3. together 59",
    "- **17** pods (28.8 %)\n- `42` others, _59_ in all, \"17\", '42'",
    "p95 is 5.25 ms (0.00525 s); it took 3.2s, that is 3200 ms.",
    "It uses 1.2 GB (1,234,567,890 bytes), 1.15 GiB.",
    "On 2026-11-30 at 12:30:05Z, on 30 November 2026 and on Nov 30 there were 7 errors.",
    "Pod web-7d9f-43 on ip-10-0-3-7 (10.0.3.7, fe80::1) restarted 17 times.",
    "nginx-1.25.3 runs as v1.2.3 (1.2.3-rc1) on Kubernetes v1.29.1 and Python 3.11; k8s, p95: 17.",
    "UTF-8, SHA-256, RFC 3339 and HTTP 404: 17.",
    "See [the docs](https://example.com/a/43?x=7#L10): 17 pods [1]. The answer is 59 [2].",
    "Commit 93df746, 550e8400-e29b-41d4-a716-446655440000 and sha256:0f1e2d3c4b5a gave 17.",
    "```\nkube-system 17\ndefault 42\nTOTAL 59\n```",
    '```json\n{"a": 40, "b": 45}\n```\n[4,8,15,16,23]',
    "Values range from 40 to 45 (40–45, 40..45), between 4 and 23; 17 of 59, 17/59.",
    "It shrank by −4.5 (-4.5, minus 4.5).",
    "1,048,576 rows (1 048 576; 1'048'576; 1_048_576; 1.048576 million)",
    "The price is 1200.50 USD, $1,200.50 or 1.2005 thousand USD.",
    "cpu 250m and memory 512Mi, about 1.0 million rows or roughly 1,000,000.",
    "## 1. Overview\n17 pods\n## 2. Details\n### 2.1 More\n42",
    "Step 1: count. Step 2: sum. It is 59, see table 2.",
    "/artifacts/ns/crew/t1/agent/get_pods-0 and ns/crew/t1/agent-1/get_pods-0 have 42 rows.",
    "<table><tr><td>17</td><td>42</td></tr></table><p style='width:75px'>There are <b>17</b> pods.</p>",
    "I ran it at 14:05 UTC, it is up 24/7: 17 pods, forty-two others, 0x2b.",
    "kube-system,17\ndefault,42\nkube-system\t17\n17|42|59\n17; 42; 59",
    "The top three of these two: the first two are fine, the last one is not. 17 pods.",
    "registry.k8s.io/pause:3.9 and docker.io/library/nginx:1.25-alpine ran 17 times as of Dec 1, 2026, 03:15.",
    "a 17-node cluster, 17\u00a0pods – 42\u00a0others",
    "| pods | p95 (ms) | elapsed [ms] |\n|---|--:|---|\n| 17 | 5.25 | 3200 |",
    "> **memory (Mi)** | pod(s)\n> -|-\n> 512 | 17",
    "| pods (number) | rows (in millions) |\n|---|---|\n| 17 | 1.048576 |",
    "The double-checked pods: 17. A user of double quotes.",
)
"""What passes in both modes."""


def ok(text: str, *, strict: bool = True) -> bool:
    return contract.check(text, [receipt(OUTPUT)], strict=strict).ok


@pytest.mark.parametrize("text", NEVER)
@pytest.mark.parametrize("strict", [True, False])
def test_a_number_is_seen_however_it_is_written(text: str, strict: bool) -> None:
    # One receipt with one number: nothing can be derived by chance.
    lone = [receipt("a 42\n"), receipt("b 17\n"), receipt("4\n"), receipt("2\n"), receipt("28.8136%\n5.25 ms\n")]
    assert not contract.check(f"We see {text} here.\n", lone, strict=strict).ok
    assert not contract.check(f"{text}\n", lone, strict=strict).ok


@pytest.mark.parametrize("text", IN_STRICT)
def test_what_is_doubtful_is_told_and_refused_in_strict_mode(text: str) -> None:
    assert not ok(text)
    (told,) = contract.check(text, [], strict=False).ignored
    assert told.doubtful
    assert told.reason


@pytest.mark.parametrize("text", HONEST)
@pytest.mark.parametrize("strict", [True, False])
def test_honest_texts_pass(text: str, strict: bool) -> None:
    checked = contract.check(text, [receipt(OUTPUT)], strict=strict)
    assert [(one.text, one.evidence) for one in checked.numbers if one.status == "unbacked"] == []


def test_each_row_of_what_is_ignored_is_documented() -> None:
    page = PAGE.read_text("utf-8")
    assert [row.kind for row in (*DIGIT_FIRST, *LETTER_FIRST) if row.kind not in page] == []


def test_places_lead_back_to_the_text_as_it_was_given() -> None:
    text = "\x1b[1m&lt;\u200b <b>17</b> &amp; ④② pods"
    assert [(text[one.place], one.text) for one in contract.check(text, []).numbers] == [("1", "17"), ("④", "42")]


def test_the_program_of_a_receipt_may_be_quoted_to_the_letter() -> None:
    code = "for n in range(75):\n    print(n)\n"
    proof = receipt("17\n")
    proof = dataclasses.replace(proof, program_digest=digest_of(code), digest="")
    text = "```python\n{}```\n17"
    checked = contract.check(text.format(code), [proof], strict=True)
    assert checked.ok
    assert [one.reason for one in checked.ignored] == ["program"]
    assert not contract.check(text.format(code.replace("75", "76")), [proof], strict=True).ok


def test_colours_of_an_output_are_no_numbers() -> None:
    assert [
        one.value for one in find_numbers("\x1b[31m12\x1b[0m pods \x1b[38;5;75m4\x1b[1m2\x1b[m\n\x1b]0;75\x07")
    ] == ["12", "42"]


@pytest.mark.parametrize(("text", "passes"), [
    ("about 1,000", False), ("about 1,200", True), ("about 1,250", False), ("about 1,230", True),
    ("about 1,234.6", False),
    ("nearly 1,240", True), ("nearly 1,230", False), ("roughly 1.2k", True), ("~1.3k", False), ("about 0", False),
    ("more than 1,200", False), ("1.2k", True), ("1k", False), ("about 1k", False), ("1234.0", True),
    ("1233.9", False),
])  # fmt: skip
def test_rounding_is_half_a_unit_of_what_is_shown_and_five_per_cent(text: str, passes: bool) -> None:
    assert contract.check(text, [receipt("1234\n")], strict=True).ok is passes


def test_long_integers_are_compared_to_the_last_digit() -> None:
    for length in (60, 61, 200, 999):
        digits = "7" * length
        assert contract.check(digits, [receipt(digits)], strict=True).ok
        assert not contract.check(digits[:-1] + "8", [receipt(digits)], strict=True).ok
    assert not contract.check("7" * 1001, [receipt("7" * 1001)], strict=True).ok


def sip(op: str = "count", **parameters: object) -> dict[str, Any]:
    numbers = [dataclasses.asdict(one) for one in find_numbers("42\n")]
    facts = {"op": op, "parameters": parameters, "key": "a/b", "artifactDigest": "sha256:1",
        "textDigest": text_digest("42\n"),
             "numbers": numbers}  # fmt: skip
    return facts | {"digest": sip_digest(facts)}


def changed(path: str, value: object) -> Callable[[], object]:
    def made() -> object:
        facts: Any = json.loads(receipt("42\n").to_json()) if path.startswith("run") else json.loads(json.dumps(sip()))
        *names, last = path.split(".")[1:]
        inner = facts
        for name in names:
            inner = inner[int(name) if name.isdigit() else name]
        inner[last] = value
        return facts

    return made


def stale() -> object:
    proof = receipt("42\n")
    object.__setattr__(proof, "numbers", receipt("75\n").numbers)
    return proof


BROKEN: dict[str, Callable[[], object]] = {
    "a Receipt with a stale digest": stale,
    "a run's number": changed("run.numbers.0.value", "75"),
    "a run's exit code": changed("run.exit_code", False),
    "a sip's number": changed("sip.numbers.0.value", "75"),
    "a sip's text digest": changed("sip.textDigest", text_digest("75\n")),
    "a sip's operation": changed("sip.op", "stats"),
    "a sip without its digest": lambda: {name: value for name, value in sip().items() if name != "digest"},
    "a count out of thin air": lambda: {"op": "count", "numbers": [75]},
    "a value that is none": changed("run.numbers.0.value", "nan"),
    "a place that is none": changed("run.numbers.0.line", "1"),
    "a slice of another text": lambda: Slice([], "75\n", True, 1, 1, receipt=sip()),
    "a slice whose receipt tells no text": lambda: Slice(
        [], "75\n", True, 1, 1, receipt={"op": "count", "parameters": {}, "key": "a"}
    ),
    "nested without end": lambda: '{"op":' + "[" * 100_000,
    "a lone surrogate": lambda: {
        "op": "count",
        "parameters": {},
        "key": "\ud800",
        "textDigest": "",
        "digest": "",
        "numbers": [],
    },
    "numbers that are huge": lambda: '{"op": "count", "numbers": ' + "7" * 10_000 + "}",
    "bytes that are no text": lambda: b"\xff\xfe",
    "keys that are no text": lambda: {1: 2, "op": "count"},
    "parameters that are none": lambda: sip() | {"parameters": 7},
    "an object": object,
    "a receipt of another kind": changed("run.kind", "whim"),
}


@pytest.mark.parametrize("made", BROKEN.values(), ids=BROKEN)
@pytest.mark.parametrize("strict", [True, False])
def test_a_receipt_that_is_none_or_was_changed_is_a_clear_error(made: Callable[[], object], strict: bool) -> None:
    with pytest.raises(BadRequest, match=r"this (receipt|slice)"):
        contract.check("75", [made()], strict=strict)


def test_receipts_of_sips_pass_as_what_they_are() -> None:
    assert contract.check("42", [sip()], strict=True).ok
    assert contract.check("42", [json.dumps(sip("stats", top=3))], strict=True).ok
    for given in (sip("head"), sip(where="a = 1"), sip("stats", section="x")):
        assert not contract.check("42", [given], strict=True).ok
        assert contract.check("42", [given]).ok


@pytest.mark.parametrize("given", ["x", {"a": 1}, 7, None, receipt("1")])
def test_receipts_that_are_no_list_are_a_clear_error(given: Any) -> None:
    with pytest.raises(BadRequest, match="receipts"):
        contract.check("5", given)


def test_receipts_without_end_are_a_clear_error() -> None:
    def endless() -> Iterator[Receipt]:
        while True:
            yield receipt("1")

    with pytest.raises(BadRequest, match="more than"):
        contract.check("5", endless())


def test_a_text_that_is_too_long_is_a_clear_error_at_once() -> None:
    with pytest.raises(BadRequest, match="longer than 262,144"):
        contract.check("1" * 10_000_000, [])


@pytest.mark.parametrize("piece", [
    "7", "1,", "1 ", "1.", "[1", "((", "4**3**", "a-", "a.", "/a", "one ", "M", "1\u00a0", "about 1 ", "0a1",
    "a://", "2026-11-30 ",
    "May ", "line 1 ", "四", "1e5", "1. x\n", "[1] ", "```\n1\n", "½", "<!-- ", "<a ", "&#", "\x1b[0", "-1",
    "\ud800", "$1 ", "5 % ", "|a (s)\n|-\n|1\n", "|-", "|1",
])  # fmt: skip
def test_the_work_grows_with_the_length_and_no_faster(piece: str) -> None:
    taken = []
    for size in (2_000, 16_000):
        text = (piece * size)[:size]
        begin = time.process_time()
        contract.check(text, [receipt(OUTPUT)], strict=True)
        taken.append(time.process_time() - begin)
    # Eight times the text; a square would take sixty-four times as long.
    assert taken[1] < 0.5 or taken[1] < 30 * taken[0]
