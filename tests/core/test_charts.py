"""Charts are numbers and escaped text, bounded, and say in words what they draw."""

from __future__ import annotations

import math
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from kmnb.core.charts import Chart, histogram, lines, spark
from kmnb.core.display import MARKUP_MAX_BYTES, Card, markup
from kmnb.core.svg import Drawing

NUMBERS = st.floats(-1e12, 1e12)
NAMES = st.text(max_size=80) | st.sampled_from(
    ["<script>alert(1)</script>", '"/><img onerror=1>', "\x1b[31m", "\u202e"]
)
SERIES = st.lists(
    st.tuples(NAMES, st.lists(st.tuples(NUMBERS, NUMBERS | st.just(math.nan)), max_size=30).map(sorted)), max_size=12
)


def check(chart: Chart) -> None:
    """A picture that XML understands, of drawing elements alone, within the budget."""
    picture = chart.card.picture
    assert isinstance(picture, Drawing)
    root = ElementTree.fromstring(picture)
    assert {node.tag for node in root.iter()} <= {"svg", "rect", "text", "path", "polyline"}
    assert not any(name.startswith("on") or "href" in name for node in root.iter() for name in node.attrib)
    html = chart._repr_mimebundle_()["text/html"]
    assert len(html.encode()) <= MARKUP_MAX_BYTES
    assert "<script" not in html
    assert "nan" not in picture


@given(NAMES, st.lists(st.integers(0, 10**9), max_size=40), NUMBERS, NUMBERS)
def test_histograms_are_pictures_of_numbers(title, counts, low, high):
    check(histogram(title, counts, low=min(low, high), high=max(low, high)))


@given(NAMES, SERIES, NAMES)
def test_lines_are_pictures_of_numbers(title, series, end):
    check(lines(title, series, ends=(end, end)))


def test_the_twin_of_a_chart_has_its_numbers():
    chart = lines("t", [("up", [(0, 1), (60, 3)])], ends=("a", "b"))
    assert list(chart.card.rows) == [("up", 2, "1", "3", "3")]
    assert chart.text == "up\t2\t1\t3\t3\n"
    assert "up" in chart._repr_mimebundle_()["text/plain"]
    assert chart.data == [{"series": "up", "points": [[0, 1], [60, 3]]}]
    assert spark([0, 1, 2]) == "▁▄█"


def test_what_has_one_point_or_stays_is_seen():
    """A store whose artifacts were all written at once has one time only."""
    one = lines("t", [("a", [(5.0, 3.0)])], ends=("", "")).card.picture
    assert one is not None
    assert one.count("<rect") == 2  # the point, and its colour in the legend
    steps = lines("t", [("a", [(5.0, 3.0)]), ("b", [(5.0, 1.0), (5.0, 2.0)])], ends=("", ""), stays=True).card.picture
    assert steps is not None
    assert 'points="60.0,160.0 60.0,8.0 560.0,8.0"' in steps


def test_the_largest_are_drawn_and_named_below():
    series = [(f"s{n}", [(0.0, float(n)), (1.0, 0.0)]) for n in range(12)]
    card = lines("t", series, ends=("", "")).card
    assert card.picture is not None
    assert [name for name, _ in series if f">{name}<" in card.picture] == [f"s{n}" for n in range(4, 12)]
    assert card.notes == ["drawn: the 8 series with the largest values"]


def test_a_histogram_begins_with_its_sketch():
    chart = histogram("t", [0, 1, 2], low=0, high=3)
    assert repr(chart).splitlines()[1] == "▁▄█"
    assert "▁▄█" not in chart._repr_mimebundle_()["text/html"]


def test_a_text_is_no_picture():
    """Only what the drawing functions made is shown as it stands."""
    assert "<svg" not in markup(Card("t", picture="<svg onload=alert(1)>"))  # type: ignore[arg-type]


def test_many_points_are_thinned_and_their_peaks_kept():
    points = [(float(n), 1.0) for n in range(10_000)]
    points[5003] = (5003.0, 99.0)
    chart = lines("t", [("a", points)], ends=("", ""))
    assert chart.card.picture.count(",") < 300
    assert chart.card.rows[0][3] == "99"
    check(chart)
