"""Pieces of pictures: SVG made of numbers and escaped text, and of nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Literal

from kmnb.core.visible import visible

WIDTH = 560
"""Width of a picture in its own units; it scales to the room there is."""
COLOURS = ("#3b7dd8", "#c8622d", "#2f8f5b", "#a05bbf", "#a87a08", "#cc4a6b", "#3a8f9e", "#7d7d7d")
"""Colours that keep a contrast of 3:1 on white and on black alike."""

Place = tuple[float, float]


class Drawing(str):
    """Markup that was built here, so that it may be shown as it stands."""

    __slots__ = ()


def rect(place: Place, size: Place, colour: str) -> str:
    """Draw a rectangle.

    Args:
        place: Its upper left corner.
        size: Its width and height.
        colour: One of :data:`COLOURS`.
    """
    (x, y), (width, height) = place, size
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{colour}"/>'


def label(place: Place, text: str, *, anchor: Literal["start", "end"] = "start", colour: str = "currentColor") -> str:
    """Write a text, which may be anything.

    Args:
        place: Where its base line begins, or ends.
        text: Untrusted text.
        anchor: Which end stands at the place.
        colour: One of :data:`COLOURS`, or the colour of the text around.
    """
    x, y = place
    return f'<text x="{x:.0f}" y="{y:.0f}" font-size="11" text-anchor="{anchor}" fill="{colour}">{_safe(text)}</text>'


def drawing(title: str, pieces: Sequence[str], *, height: float) -> Drawing:
    """Put pieces together.

    Args:
        title: What the picture shows; untrusted text.
        pieces: What :func:`rect`, :func:`label` and the like gave.
        height: Height in the picture's own units.
    """
    head = f'<svg role="img" aria-label="{_safe(title)}" viewBox="0 0 {WIDTH} {height:.0f}" width="{WIDTH}">'
    return Drawing(f"{head}{''.join(pieces)}</svg>")


def _safe(text: str) -> str:
    return escape(visible(text))
