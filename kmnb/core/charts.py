"""Small charts as SVG, built of numbers and escaped text only; no script, no style sheet, nothing from elsewhere."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kmnb.core.display import Card, bundle, plain
from kmnb.core.svg import COLOURS, WIDTH, Place, drawing, label, rect
from kmnb.core.visible import visible

HEIGHT = 180
"""Height of a chart without its legend in its own units."""
SERIES_MAX = 8
"""Most lines of one chart: those with the largest values; further ones are counted in a note."""
POINTS_MAX = 200
"""Most points of one line; of more, the first and the largest of each stretch are drawn."""
_LEFT, _BOTTOM, _TOP = 60, 20, 8
_LEGEND, _NAME_MAX = 15, 75
_BLOCKS = "▁▂▃▄▅▆▇█"


@dataclass(frozen=True)
class Chart:
    """A chart that shows itself, with the numbers that it was drawn from."""

    card: Card
    """What a notebook shows: the picture, and the numbers as its static twin."""
    data: Any
    """The numbers as plain JSON values."""

    @property
    def text(self) -> str:
        """What the command line prints: one line a number, cells between tabs."""
        cells = ("\t".join(visible(str(cell)).replace("\t", " ") for cell in row) for row in self.card.rows)
        return "".join(f"{line}\n" for line in cells)

    def __repr__(self) -> str:
        return plain(self.card)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return bundle(self.card)


def histogram(title: str, counts: Sequence[int], *, low: float, high: float) -> Chart:
    """Draw how values are spread.

    Args:
        title: One line.
        counts: Values in each bin, in order.
        low: Beginning of the first bin.
        high: End of the last one, inclusive.
    """
    step = (high - low) / len(counts) if counts else 0.0
    rows = [(_number(low + at * step), _number(low + (at + 1) * step), count) for at, count in enumerate(counts)]
    most, width = max(counts, default=0), (WIDTH - _LEFT) / max(1, len(counts))
    shapes = [
        rect((_LEFT + at * width, _y(count, 0, most)), (max(1.0, width - 1), _height(count, 0, most)), COLOURS[0])
        for at, count in enumerate(counts)
    ]
    picture = drawing(title, [*shapes, *_axes((0, most), (_number(low), _number(high)))], height=HEIGHT)
    card = Card(title, sketch=spark(counts), columns=("from", "to", "count"), rows=rows, picture=picture)
    return Chart(card, [dict(zip(card.columns, row, strict=True)) for row in rows])


def lines(
    title: str,
    series: Sequence[tuple[str, Sequence[tuple[float, float]]]],
    *,
    ends: tuple[str, str],
    stays: bool = False,
) -> Chart:
    """Draw values over time.

    Args:
        title: One line.
        series: Names, and points of time and value in ascending time; values that are not finite are left out.
        ends: What stands below the first and the last time.
        stays: Whether a value stays until the next one, from nothing at the beginning: steps in the place of slopes.
    """
    finite = [(name, [p for p in points if all(map(math.isfinite, p))]) for name, points in series]
    drawn = sorted((one for one in finite if one[1]), key=lambda one: -max(value for _, value in one[1]))[:SERIES_MAX]
    shown = [(name, _thinned(points)) for name, points in drawn]
    times = [time for _, points in shown for time, _ in points]
    values = [value for _, points in shown for _, value in points]
    span = (min(times, default=0.0), max(times, default=1.0))
    low, high = 0.0 if stays else min(values, default=0.0), max(values, default=1.0)
    places = [_places(points, span, (low, high), stays=stays) for _, points in shown]
    pieces = [_line(found, COLOURS[at]) for at, found in enumerate(places)]
    legend = _legend([name for name, _ in shown])
    height = HEIGHT + _LEGEND * len(shown)
    picture = drawing(title, [*pieces, *legend, *_axes((low, high), ends)], height=height)
    rows = [
        (
            name,
            len(points),
            _number(min(v for _, v in points)),
            _number(max(v for _, v in points)),
            _number(points[-1][1]),
        )
        for name, points in finite
        if points
    ]
    columns = ("series", "points", "min", "max", "last")
    hidden = len(rows) - len(shown)
    notes = [f"drawn: the {len(shown)} series with the largest values"] if hidden > 0 else []
    return Chart(
        Card(title, columns=columns, rows=rows, notes=notes, picture=picture),
        [{"series": name, "points": [list(point) for point in points]} for name, points in finite],
    )


def spark(counts: Sequence[float]) -> str:
    """Draw numbers in one line of text."""
    most = max(counts, default=0)
    return "".join(_BLOCKS[min(7, int(count / most * 7.999))] if most else _BLOCKS[0] for count in counts)


def _thinned(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    if len(points) <= POINTS_MAX:
        return list(points)
    size = math.ceil(len(points) / (POINTS_MAX // 2))
    kept: list[tuple[float, float]] = []
    for start in range(0, len(points), size):
        part = points[start : start + size]
        kept += sorted({part[0], max(part, key=lambda point: abs(point[1]))})
    return kept


def _places(
    points: Sequence[tuple[float, float]], span: tuple[float, float], bounds: tuple[float, float], *, stays: bool
) -> list[Place]:
    first, last = span
    width = (WIDTH - _LEFT) / (last - first) if last > first else 0.0
    places = [(_LEFT + (time - first) * width, _y(value, *bounds)) for time, value in points]
    if not stays:
        return places
    before = [_y(0.0, *bounds), *(y for _, y in places)]
    steps = [corner for (x, y), old in zip(places, before, strict=False) for corner in ((x, old), (x, y))]
    return [*steps, (float(WIDTH), places[-1][1])]


def _line(places: Sequence[Place], colour: str) -> str:
    if len(places) == 1:
        # One point alone would be a line without length.
        return rect((places[0][0] - 2, places[0][1] - 2), (4, 4), colour)
    joined = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    return f'<polyline fill="none" stroke="{colour}" stroke-width="1.5" points="{joined}"/>'


def _legend(names: Sequence[str]) -> list[str]:
    """Name the lines below the picture, where nothing is covered; names in the colour of text, which can be read."""
    pieces: list[str] = []
    for at, name in enumerate(names):
        y = HEIGHT + _LEGEND * (at + 1) - 4
        short = name if len(name) <= _NAME_MAX else f"{name[: _NAME_MAX - 1]}…"
        pieces += [rect((_LEFT, y - 8), (10, 8), COLOURS[at]), label((_LEFT + 16, y), short)]
    return pieces


def _axes(bounds: tuple[float, float], ends: tuple[str, str]) -> list[str]:
    low, high = bounds
    base = HEIGHT - _BOTTOM
    return [
        f'<path d="M{_LEFT} {_TOP}V{base}H{WIDTH}" fill="none" stroke="currentColor" stroke-opacity="0.5"/>',
        label((_LEFT - 4, _TOP + 8), _number(high), anchor="end"),
        label((_LEFT - 4, base), _number(low), anchor="end"),
        label((_LEFT, HEIGHT - 5), ends[0]),
        label((WIDTH, HEIGHT - 5), ends[1], anchor="end"),
    ]


def _y(value: float, low: float, high: float) -> float:
    room = HEIGHT - _BOTTOM - _TOP
    return HEIGHT - _BOTTOM - (room * (value - low) / (high - low) if high > low else 0.0)


def _height(value: float, low: float, high: float) -> float:
    return HEIGHT - _BOTTOM - _y(value, low, high)


def _number(value: float) -> str:
    return f"{value:,.0f}" if float(value).is_integer() and abs(value) < 1e15 else f"{value:.6g}"
