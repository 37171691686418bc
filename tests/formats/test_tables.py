"""Printed tables, metrics, YAML: records of the corpus, and what goes wrong around them."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kmnb.errors import BadRequest
from kmnb.formats import kubectl, promapi, prometheus, yaml
from kmnb.formats._inspect import inspect
from kmnb.formats._yaml_counting import MarkCounter
from kmnb.formats._yaml_reading import read_document
from tests.formats.reading import cases, corpus, read
from tests.sips.driving import sip_bytes

PODS = "k8s/kubectl-get-pods-wide-labels.txt"


def lines(*texts: str) -> bytes:
    return "".join(f"{text}\n" for text in texts).encode()


@pytest.mark.parametrize("step", [1, 100, 1 << 20])
def test_a_wide_listing_is_cut_at_its_header(step: int) -> None:
    """Blanks in names and values, a trailing blank line and a word that is no row."""
    found = read(corpus(PODS), step=step)
    assert (found.format, len(found.rows), found.counted) == ("kubectl", 80, 80)
    assert found.columns is not None
    assert found.columns[8:10] == ("NOMINATED NODE", "READINESS GATES")
    assert Counter(row[3] for row in found.rows) == {"Running": 78, "CrashLoopBackOff": 1, "Completed": 1}
    assert found.rows[0][4] == "4 (20m ago)"
    assert [(problem.line, problem.reason) for problem in found.problems] == [(83, "no row of the table")]


def test_cells_stay_in_their_columns() -> None:
    """S10: a restart count with an age, an empty cell, a wide name, a status with a colon."""
    header = "NAME    READY   STATUS     RESTARTS        AGE   NOMINATED NODE"
    found = read(
        lines(
            header,
            "p1      1/1     Running    4 (20m ago)     2d    <none>",
            "p2              Init:0/1   0               3d    node-1",
            "日本語  1/1     Pending    0               1h    <none>",
            "é       0/1     Error      1               1h",
        )
    )
    assert found.columns == ("NAME", "READY", "STATUS", "RESTARTS", "AGE", "NOMINATED NODE")
    assert found.rows[0] == ["p1", "1/1", "Running", "4 (20m ago)", "2d", "<none>"]
    assert found.rows[1] == ["p2", "", "Init:0/1", "0", "3d", "node-1"]
    assert found.rows[3] == ["é", "0/1", "Error", "1", "1h", ""]
    assert found.rows[2][1:] == ["1/1", "Pending", "0", "1h", "<none>"]


def test_a_table_that_does_not_stand_below_its_header_is_cut_at_double_blanks_or_refused() -> None:
    found = read(
        lines(
            "NAME  READY  STATUS  RESTARTS  AGE  NOMINATED NODE",
            "p1  1/1  Running  4 (20m ago)  2d  <none>",
            "a-very-long-name-that-pushes  1/1  Running  0  2d  <none>",
            "one blank only 1/1 Running 0 2d <none>",
        )
    )
    assert [row[3] for row in found.rows] == ["4 (20m ago)", "0"]
    assert [(problem.line, found.counted) for problem in found.problems] == [(4, 3)]


def test_a_second_table_is_not_read_into_the_first() -> None:
    found = read(
        lines(
            "NAME   READY", "a      1/1", "", "NAME   TYPE   AGE", "svc    x      1d", "", "NAME   READY", "b      0/1"
        )
    )
    assert found.rows == [["a", "1/1"], ["b", "0/1"]]
    assert [problem.reason for problem in found.problems] == ["another table begins here; it is not read"]


@pytest.mark.parametrize(
    "text",
    [
        lines("ERROR  FATAL", "something went wrong here, see the log"),
        lines("Hello  World", "a  b"),
        lines("TOTAL", "5"),
        b"",
    ],
)
def test_what_only_begins_in_capitals_is_no_table(text: bytes) -> None:
    assert kubectl.FORMAT.sniff(text) < 0.5


NAMES = st.text("abcé-日", min_size=1, max_size=12)


@given(st.lists(st.tuples(NAMES, st.sampled_from(["1/1", "", "4 (20m ago)"]), NAMES), max_size=12), st.integers(1, 60))
def test_a_table_as_kubectl_aligns_it_comes_back_cell_by_cell(rows: list[tuple[str, ...]], step: int) -> None:
    table = [("NAME", "READY STATE", "LAST"), *rows]
    widths = [max(len(row[at]) for row in table) + 3 for at in range(3)]
    text = lines(
        *("".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in table)
    )
    found = read(text, step=step) if rows else read(text)
    assert found.rows == [list(row) for row in rows]
    assert inspect(text).rows == len(rows)


def test_many_rows_are_counted_as_they_are_cut() -> None:
    header = "NAMESPACE     NAME              READY   STATUS"
    body = [f"kube-system   pod-{number:<10}    1/1     Running" for number in range(5000)]
    body[3000] = "short"
    body[4000] = ""
    text = lines(header, *body, "stderr:")
    assert inspect(text).rows == read(text).counted == 4998


@pytest.mark.parametrize("case", cases("prom_samples", "prom_families", "prom_top_series"), ids=lambda case: case["id"])
def test_metrics_of_the_corpus(case) -> None:
    content = corpus(case["file"].removeprefix("files/"))
    found = read(content)
    assert (found.format, found.problems) == ("prometheus", [])
    if case["op"] == "prom_samples":
        assert len(found.rows) == inspect(content).rows == case["expected"]
    elif case["op"] == "prom_top_series":
        names = Counter(value["__name__"] for value in found.values)
        # The third place of one file is shared: the counts decide, not the order.
        assert sorted(names.values(), reverse=True)[: case["args"]["n"]] == [times for _, times in case["expected"]]
        assert all(names[name] == times for name, times in case["expected"])


@pytest.mark.parametrize(
    ("line", "sample"),
    [
        ("up 1", {"__name__": "up", "value": "1"}),
        ("up{} NaN 1700", {"__name__": "up", "value": "NaN", "timestamp": "1700"}),
        ('m{a="x, y=\\"z\\"",b="c}d"} +Inf', {"__name__": "m", "a": 'x, y="z"', "b": "c}d", "value": "+Inf"}),
        ('m{a="1\\n2\\\\",} -1.5e-3', {"__name__": "m", "a": "1\n2\\", "value": "-1.5e-3"}),
        (
            'm{value="l",timestamp="t"} 2',
            {"__name__": "m", "exported_value": "l", "exported_timestamp": "t", "value": "2"},
        ),
        ('{"my.metric","k.ey"="v"} 3', {"__name__": "my.metric", "k.ey": "v", "value": "3"}),
        ('m_total 17 # {trace_id="x"} 0.67', {"__name__": "m_total", "value": "17"}),
        ('m{le="0.5"} 00010', {"__name__": "m", "le": "0.5", "value": "00010"}),
    ],
)
def test_a_sample_is_its_name_labels_and_value_as_they_stand(line: str, sample: dict[str, str]) -> None:
    assert prometheus.read_sample(line) == sample


@pytest.mark.parametrize(
    "line", ["", "up", "up one", 'up{a="b" 1', "up{a=b} 1", "{} 1", 'm{a="b"}1 x', "m 1 2 3", "{" * 2000]
)
def test_what_is_no_sample_is_reported(line: str) -> None:
    assert prometheus.read_sample(line) is None


@given(st.text('am{}=",\\# 1\n', max_size=60))
def test_any_text_is_read_as_samples_or_problems_and_counted_alike(text: str) -> None:
    content = b"# TYPE m gauge\n" + text.encode()
    splitter = prometheus.FORMAT.split
    batches = [splitter := prometheus.SampleSplitter()]
    first, last = splitter.feed(content), splitter.finish()
    counter = prometheus.FORMAT.counter(b"", indexed=False)
    counter.lines.feed(content)
    assert counter.finish() == first.counted + last.counted
    assert batches


def test_an_answer_of_the_prometheus_api_counts_series_and_gives_samples() -> None:
    content = corpus("prom/range-query-cpu-throttling.json")
    for step in (997, 1 << 20):
        found = read(content, step=step)
        assert (found.format, found.counted, len(found.rows)) == ("promapi", 17, 2057)
    assert found.values[0]["pod"] == "coredns-autoscaler-864c4496bf-nk44b"
    assert "17 series (2,057 samples)" in inspect(content).preview


@pytest.mark.parametrize("sample", promapi.FORMAT.samples)
def test_values_of_the_api_stay_text(sample: bytes) -> None:
    assert all(isinstance(row["value"], str) for row in read(sample).values)


def test_series_that_are_none_are_reported() -> None:
    content = (
        b'{"data":{"resultType":"vector","result":[{"metric":{"a":"b"},"value":[1,"2"]},{"metric":5},{"metric":{}}]}}'
    )
    found = read(content)
    assert len(found.rows) == 1
    assert [problem.line for problem in found.problems] == [2, 3]


@pytest.mark.parametrize("case", cases("yaml_documents"), ids=lambda case: case["id"])
@pytest.mark.parametrize("step", [7, 1 << 20])
def test_documents_of_the_corpus(case, step: int) -> None:
    """One bad document hides no other."""
    content = corpus(case["file"].removeprefix("files/"))
    found = read(content, step=step)
    expected = case["expected"]
    assert len(found.rows) == expected.get("total", expected.get("parsable"))
    assert len(found.problems) == expected.get("not_parsable", 0)
    assert inspect(content).rows == len(found.rows)


def test_a_kubernetes_list_in_yaml_has_its_items_as_records() -> None:
    content = corpus("k8s/pods-list.yaml")
    found = read(content)
    assert found.counted == inspect(content).rows == 25
    names = Counter(value["metadata"]["namespace"] for value in found.values)
    assert names == {"kube-system": 9, "scraper": 16}


def test_yaml_values_are_those_of_json_and_nothing_is_retyped() -> None:
    """S11, S12: codes, versions, dates and words stay text; integers are exact."""
    text = (
        "code: 00010\nver: 1.10\nno: no\nday: 2024-01-02\nexp: 1e5\nbig: 18446744073709551615\nn: null\nt: true\n"
        "hex: 0x1F\nsexagesimal: 1:30\nf: 1.5\ninf: .inf\nempty:\nq: '5'\n"
    )
    assert read_document(text.encode()) == {
        "code": "00010", "ver": 1.1, "no": "no", "day": "2024-01-02", "exp": 1e5, "big": 18446744073709551615,
        "n": None, "t": True, "hex": "0x1F", "sexagesimal": "1:30", "f": 1.5, "inf": ".inf", "empty": None, "q": "5",
    }  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "a: [1, 2",
        "a: &x [*x]",
        "? {a: 1}\n: b",
        "- " * 500 + "x",
        'a: "\\x"',
        "\t- a",
        "a: &a [x,x,x,x,x,x,x,x,x]\n"
        + "".join(
            f"{n}: &{n} [*{p},*{p},*{p},*{p},*{p},*{p},*{p},*{p}]\n"
            for p, n in zip("abcdefgh", "bcdefghi", strict=True)
        ),
    ],
)
def test_hostile_yaml_is_a_problem_in_bounded_time(text: str) -> None:
    with pytest.raises(BadRequest):
        read_document(text.encode())
    found = read(f"---\n{text}\n---\nok: 1\n".encode(), step=50)
    assert [value for value in found.values if isinstance(value, dict) and value.get("ok") == 1]


@pytest.mark.parametrize(
    "tag", ["!!python/object/apply:os.system ['true']", "!custom {a: 1}", "!!binary aGk=", "!!set {a}"]
)
def test_a_tag_makes_nothing_but_values(tag: str) -> None:
    value = read_document(f"a: {tag}".encode())
    assert list(json.loads(json.dumps(value, default=str))) == ["a"]


@pytest.mark.parametrize("name", ["k8s/pods-list.yaml", "yaml/sock-shop-multidoc.yaml"])
@pytest.mark.parametrize("step", [1, 500, 1 << 20])
def test_counting_by_marks_agrees_with_reading(name: str, step: int) -> None:
    content = corpus(name)
    counter = MarkCounter()
    for at in range(0, len(content), step):
        counter.feed(content[at : at + step])
    counter.finish()
    assert counter.records == read(content).counted


def test_long_yaml_is_counted_and_described_by_its_beginning() -> None:
    items = b"".join(b"- metadata:\n    name: pod-%05d\n  spec:\n    - x\n" % number for number in range(20_000))
    found = inspect(b"apiVersion: v1\nkind: List\nitems:\n" + items)
    assert found.rows == 20_000
    assert "metadata.name: pod-00000, pod-00001" in found.preview


def test_yaml_is_told_from_text_with_colons() -> None:
    assert yaml.FORMAT.sniff(corpus("k8s/kubectl-describe-node.txt")) < 0.1
    assert yaml.FORMAT.sniff(b"2024-01-01: started\nerror: failed: badly: x\n") < 0.1
    assert yaml.FORMAT.sniff(b"kind: Pod\nmetadata:\n  name: a\n") > 0.1


def test_the_stored_schema_of_samples_is_the_one_that_a_scan_gives() -> None:
    content = b'# TYPE up gauge\nup{job="a",zone="x"} 1 1700000000\nup{job="b"} 0\n'
    stored = sip_bytes(content, "schema", {}, indexed=True)
    assert stored.values == sip_bytes(content, "schema", {}).values
    assert [column["name"] for column in stored.values] == ["__name__", "job", "zone", "value", "timestamp"]
    many = b"".join(b'x{l%d="1"} 1\n' % number for number in range(900))
    cut = sip_bytes(many, "schema", {}, indexed=True)
    assert (cut.complete, cut.total_is_lower_bound) == (False, True)


def test_the_stored_schema_of_an_api_answer_names_what_select_takes() -> None:
    content = b'{"status":"success","data":{"resultType":"vector","result":[{"metric":{"job":"a"},"value":[1,"2"]}]}}'
    stored = sip_bytes(content, "schema", {}, indexed=True).values
    assert stored == sip_bytes(content, "schema", {}).values
    names = [column["name"] for column in stored]
    assert list(sip_bytes(content, "select", {"columns": names}).values[0]) == names
