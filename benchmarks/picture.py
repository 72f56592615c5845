"""Curves of CPU time over sizes as SVG, both axes logarithmic: a straight line is a power, its slope the exponent."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from benchmarks.measure import Run

WIDTH, HEIGHT, LEFT, TOP, BOTTOM, GAP = 360, 260, 52, 30, 44, 40
COLORS = ("#1f6fb2", "#c2561a", "#777")
_STYLE = (
    "<style>text { font: 12px sans-serif; fill: #333 } .grid { stroke: #ddd } .axis { text-anchor: middle }"
    " .tick { text-anchor: end } path { fill: none; stroke-width: 2 }</style>"
)


@dataclass(frozen=True)
class Curve:
    """Runs of a subject by size."""

    name: str
    points: Mapping[int, Sequence[Run]]

    def cpu(self, size: int) -> float:
        return statistics.median(run.cpu for run in self.points[size])

    @property
    def slope(self) -> float | None:
        """The exponent between the two largest sizes."""
        if len(self.points) < 2:
            return None
        before, last = sorted(self.points)[-2:]
        return math.log(self.cpu(last) / self.cpu(before)) / math.log(last / before)

    def note(self, size: int) -> str:
        is_last = size == max(self.points)
        return f"slope {self.slope:.2f}" if is_last and self.slope is not None else ""


@dataclass(frozen=True)
class Panel:
    """Curves over the same kind of size."""

    title: str
    curves: Sequence[Curve]


def draw(panels: Sequence[Panel]) -> str:
    """Return the panels side by side, with one scale of CPU seconds."""
    seconds = [curve.cpu(size) for panel in panels for curve in panel.curves for size in curve.points]
    low, high = math.floor(math.log10(min(seconds))), math.ceil(math.log10(max(seconds)))
    width = len(panels) * (WIDTH + GAP)
    drawn = "".join(
        f'<g transform="translate({number * (WIDTH + GAP)} 0)">{"".join(_panel(panel, low, max(high, low + 1)))}</g>'
        for number, panel in enumerate(panels)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {HEIGHT + TOP + BOTTOM}" role="img">'
        "<title>CPU seconds of a run by size</title>"
        f'{_STYLE}<rect width="100%" height="100%" fill="#fff"/>{drawn}</svg>\n'
    )


def _panel(panel: Panel, low: int, high: int) -> Iterator[str]:
    sizes = sorted({size for curve in panel.curves for size in curve.points})
    first, last = math.log10(sizes[0]), math.log10(max(sizes[-1], sizes[0] * 10))

    def x(size: float) -> float:
        return LEFT + (math.log10(size) - first) / (last - first) * (WIDTH - LEFT - 8)

    def y(seconds: float) -> float:
        return TOP + (high - math.log10(seconds)) / (high - low) * HEIGHT

    for power in range(low, high + 1):
        height = y(10**power)
        yield f'<line class="grid" x1="{LEFT}" x2="{WIDTH}" y1="{height:.0f}" y2="{height:.0f}"/>'
        yield f'<text class="tick" x="{LEFT - 6}" y="{height + 4:.0f}">{10**power:g} s</text>'
    for size in sizes:
        yield f'<text class="axis" x="{x(size):.0f}" y="{TOP + HEIGHT + 18}">{size:,}</text>'
    yield f'<text class="axis" x="{(LEFT + WIDTH) / 2:.0f}" y="{TOP + HEIGHT + 38}">{escape(panel.title)}</text>'
    for number, curve in enumerate(panel.curves):
        color, points = COLORS[number % len(COLORS)], [(x(size), y(curve.cpu(size))) for size in sorted(curve.points)]
        path = " L".join(f"{a:.0f} {b:.0f}" for a, b in points)
        slope = f", slope {curve.slope:.2f}" if curve.slope is not None else ""
        yield f'<path stroke="{color}" d="M{path}"/>'
        yield from (f'<circle fill="{color}" r="3" cx="{a:.0f}" cy="{b:.0f}"/>' for a, b in points)
        label = f"{escape(curve.name)}{slope}"
        yield f'<text x="{LEFT + 8}" y="{TOP - 8 + 16 * number}" style="fill: {color}">{label}</text>'
