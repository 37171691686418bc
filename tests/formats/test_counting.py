"""Fast counts: exact for every content, every way of arriving, and both ways of searching."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kmnb.core.records import Dialect
from kmnb.formats import _csv_counting, _line_scan, csv, jsonl, kubectl
from kmnb.formats._counters import Counter, make_counter
from kmnb.formats._counting import LineCounter, filled_lines
from tests.formats.reading import read

PIECES = [b"\n", b"\r\n", b"\n\n", b"a", b" ", b"\t", b"bc", b"#", b" #", b"\r", b"\x0b", b"\xc3\xa9"]
CONTENT = st.lists(st.sampled_from(PIECES), max_size=60).map(b"".join)


@pytest.fixture(params=["plain", "vector"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Search plainly, or in arrays from the first byte on."""
    for module in (_line_scan, _csv_counting, kubectl):
        monkeypatch.setattr(module, "arrays_pay", lambda seen: request.param == "vector")
    monkeypatch.setattr(_line_scan, "VECTOR_BLOCK_BYTES", 1)
    return str(request.param)


def lines_of(content: bytes) -> list[bytes]:
    *whole, rest = content.split(b"\n")
    return whole + ([rest] if rest else [])


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("blank", ["space", "empty"])
@pytest.mark.parametrize("block", [1, 2, 5, 1000])
def test_lines_blank_lines_and_comments_are_counted_exactly(blank: _line_scan.Blank, block: int) -> None:
    @given(CONTENT)
    def check(content: bytes) -> None:
        counter = LineCounter(indexed=False, blank=blank, comments=True)
        for at in range(0, len(content), block):
            counter.feed(content[at : at + block])
        lines = lines_of(content)
        filled = [line for line in lines if not _line_scan.IS_BLANK[blank](line)]
        assert counter.lines == len(lines)
        assert counter.filled == len(filled)
        is_open = bool(lines) and not content.endswith(b"\n") and not _line_scan.IS_BLANK[blank](lines[-1])
        assert counter.closed == len(filled) - is_open
        if blank == "empty":
            assert filled_lines(content) == len(filled)
        else:
            assert counter.comments == sum(line.lstrip(b" \t\r\v\f").startswith(b"#") for line in lines)

    check()


def fed(counter: Counter, content: bytes, block: int) -> int | None:
    for at in range(0, len(content), block):
        assert counter.lines is not None
        counter.lines.feed(content[at : at + block])
        counter.feed(content[at : at + block])
    return counter.finish()


QUOTED = ["a", "b,c", '"', '""', "\n", "\r\n", ",", '"x\n"', '"y,\n\n z"', " ", '5"', "é"]


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("block", [1, 7, 1000])
def test_records_with_quotes_are_counted_as_they_are_cut(block: int) -> None:
    @given(st.lists(st.sampled_from(QUOTED), max_size=40).map("".join))
    def check(text: str) -> None:
        content = f"h,i\n{text}".encode()
        dialect = csv.sniff_dialect(content, Dialect(delimiter=",", header=True), whole=True)
        counter = _csv_counting.CsvCounter(dialect, indexed=False)
        splitter = csv.FORMAT.split(Dialect(delimiter=",", header=True))
        cut = splitter.feed(content).counted + splitter.finish().counted
        assert fed(counter, content, block) == cut

    check()


DOCUMENTS = [
    b'{"a":1}',
    b"[1,2]",
    b"5",
    b"nope",
    b"",
    b" ",
    b'{"a":1} {"b":2}',
    b'{"a"',
    b'"x"',
    b'{"u":"\xe2\x80\xa8"}',
]


@pytest.mark.parametrize("block", [1, 9, 1000])
@given(st.lists(st.sampled_from(DOCUMENTS), max_size=20), st.sampled_from([b"\n", b"\r\n"]), st.booleans())
def test_json_lines_are_counted_as_they_are_cut(block: int, documents: list[bytes], end: bytes, ended: bool) -> None:
    content = end.join(documents) + (end if ended else b"")
    counter = jsonl.FORMAT.counter(b"", indexed=False)
    splitter = jsonl.FORMAT.split(Dialect())
    assert fed(counter, content, block) == splitter.feed(content).counted + splitter.finish().counted


def test_a_json_line_that_is_too_long_is_passed_over_in_bounded_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kmnb.formats._json_counting.LINE_MAX_BYTES", 1000)
    content = b'{"a":1}\n{"b":"' + b"x" * 5000 + b'"}\n{"c":3}\n'
    for block in (10, 700, 10_000):
        counter = jsonl.FORMAT.counter(b"", indexed=False)
        assert fed(counter, content, block) == 2
        assert sum(map(len, counter._carry)) <= 1000


LINES = [
    "kube-system   pod-1             1/1     Running",
    "default       p                 0/1",
    "",
    "stderr:",
    "NAMESPACE     NAME              READY   STATUS",
    "NAME   AGE",
    "long-namespace-that-pushes   pod-2   1/1   X",
]
ROWS = st.lists(st.sampled_from(LINES), max_size=30)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("block", [11, 1000])
def test_rows_of_printed_tables_are_counted_as_they_are_cut(block: int) -> None:
    @given(ROWS)
    def check(rows: list[str]) -> None:
        content = "\n".join(["NAMESPACE     NAME              READY   STATUS", *rows, ""]).encode()
        splitter = kubectl.TableSplitter()
        cut = splitter.feed(content).counted + splitter.finish().counted
        assert fed(kubectl.FORMAT.counter(b"", indexed=False), content, block) == cut

    check()


def test_every_format_counts_its_samples_as_it_cuts_them() -> None:
    from kmnb.formats._detect import format_named, format_names

    for name in format_names():
        plugin = format_named(name)
        for sample in plugin.samples:
            if plugin.kind == "binary":
                continue
            counter = make_counter(plugin, sample, indexed=True)
            splitter = plugin.split(Dialect())
            batches = [splitter.feed(sample), splitter.finish()]
            expected = sum(batch.counted for batch in batches)
            if plugin.kind == "text":
                expected = sum(1 for line in sample.split(b"\n") if line.strip())
            assert fed(counter, sample, 3) == expected, name


@pytest.mark.parametrize("rows", [50_000])
def test_long_content_is_counted_the_same_in_arrays(rows: int) -> None:
    """The arrays begin after 2 MiB: one content that crosses that border."""
    content = b"id,text,n\n" + b"".join(b'%d,"two\nlines, quoted",%d\n\n' % (n, n) for n in range(rows // 2))
    content += b"".join(b"%d,a longer plain text to fill the megabytes,%d\r\n" % (n, n) for n in range(rows))
    assert len(content) > 3 << 20
    counter = csv.FORMAT.counter(content[:65_536], indexed=True)
    assert fed(counter, content, 1 << 20) == rows // 2 + rows
    assert len(read(content, step=1 << 20).rows) == rows // 2 + rows


@pytest.mark.parametrize("block", [1, 2, 3, 4, 5, 100])
@pytest.mark.parametrize(
    ("content", "filled"),
    [(b"\xef\xbb\xbf", 0), (b"\xef\xbb\xbf\n\xef\xbb\xbf\na", 2), (b"\xef\xbb\xbfa\n", 1), (b"\xef\xbb\n\n", 1)],
)
def test_a_byte_order_mark_alone_is_no_record(content: bytes, filled: int, block: int) -> None:
    counter = LineCounter(indexed=False)
    for at in range(0, len(content), block):
        counter.feed(content[at : at + block])
    assert counter.filled == filled
