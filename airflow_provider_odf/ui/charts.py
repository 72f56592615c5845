"""Charts as SVG without scripts: stacked bars, and lines. The template ``chart.html`` draws them.

Colors are classes of the stylesheet, because the pages allow no other styles. Each bar and point has its numbers as its
title; pages show the same numbers as a table.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

WIDTH, HEIGHT = 760, 190
LEFT, RIGHT, TOP, BOTTOM = 72, 8, 14, 26
_TICKS = 4
_GAP = 0.2
"""Part of a bar's place that stays empty."""

_WIDEST = 40
_LABEL = 60
"""Half of the room that a label takes."""


@dataclass(frozen=True)
class Unit:
    """Unit of an axis: its name, and how many of the values' own unit it has."""

    name: str
    size: float = 1


COUNT = (Unit(""),)
BYTES = (Unit("bytes"), Unit("kB", 1e3), Unit("MB", 1e6), Unit("GB", 1e9))
SECONDS = (Unit("seconds"), Unit("minutes", 60), Unit("hours", 3600), Unit("days", 86400))


@dataclass(frozen=True)
class Series:
    """Numbers, one for each label of the chart, None if unknown. ``style`` is a class of the stylesheet."""

    name: str
    style: str
    numbers: tuple[float | None, ...]


@dataclass(frozen=True)
class Tick:
    """A line of the axis: its height in the drawing, and its text."""

    y: float
    text: str


@dataclass(frozen=True)
class Mark:
    """A bar or a point: its place in the drawing, and what it stands for."""

    x: float
    y: float
    height: float
    style: str
    title: str
    link: str = ""


@dataclass(frozen=True)
class Chart:
    """Series over labels from left to right, as stacked bars or as lines. ``units`` are in ascending order. ``links``
    are addresses that the bars of each label lead to. ``level`` are numbers that bars are compared with."""

    key: str
    """Identifier in the page."""
    title: str
    description: str
    labels: tuple[str, ...]
    series: tuple[Series, ...]
    units: Sequence[Unit] = COUNT
    is_line: bool = False
    links: tuple[str, ...] = ()
    level: Series | None = None

    @cached_property
    def is_empty(self) -> bool:
        return not any(number is not None for series in self.series for number in series.numbers)

    @cached_property
    def unit(self) -> Unit:
        """The largest unit of which the highest number has two or more."""
        highest = max(abs(self._low), abs(self._high))
        return [unit for unit in self.units if unit is self.units[0] or highest >= 2 * unit.size][-1]

    @cached_property
    def ticks(self) -> tuple[Tick, ...]:
        """Lines of the axis at round numbers, the lowest first."""
        places = max(0, -math.floor(math.log10(self._axis[1] - self._axis[0])))
        return tuple(Tick(self._y(number * self.unit.size), f"{number:,.{places}f}") for number in self._axis)

    @cached_property
    def bar_width(self) -> float:
        return min(_WIDEST, round((WIDTH - LEFT - RIGHT) / max(1, len(self.labels)) * (1 - _GAP), 2))

    @cached_property
    def bars(self) -> tuple[Mark, ...]:
        """Bars of the series, stacked on each other in their order."""
        return tuple(bar for at in range(len(self.labels)) for bar in self._stack(at))

    @cached_property
    def levels(self) -> tuple[Mark, ...]:
        """Lines at the numbers that bars are compared with."""
        if self.level is None:
            return ()
        width = self.bar_width
        return tuple(
            Mark(
                round(self._middle(at) - width / 2, 2), self._y(number), 0, self.level.style, self._text(at, self.level)
            )
            for at, number in enumerate(self.level.numbers)
            if number is not None
        )

    @cached_property
    def points(self) -> tuple[Mark, ...]:
        """Points of a line."""
        return tuple(
            Mark(self._middle(at), self._y(number), 0, series.style, self._text(at, series))
            for series in self.series
            for at, number in enumerate(series.numbers)
            if number is not None
        )

    @cached_property
    def paths(self) -> tuple[tuple[str, str], ...]:
        """Style and path of each line. A line ends where a number is unknown."""
        return tuple((series.style, path) for series in self.series for path in self._paths(series))

    @cached_property
    def marks_of_labels(self) -> tuple[tuple[float, str, str], ...]:
        """Place, anchor and text of the labels that have room: the first, the middle and the last."""
        last = len(self.labels) - 1
        return tuple((self._middle(at), self._anchor(at), self.labels[at]) for at in sorted({0, last // 2, last}))

    @cached_property
    def _low(self) -> float:
        return min([0.0, *(n for series in self.series for n in series.numbers if n is not None)])

    @cached_property
    def _high(self) -> float:
        columns = zip(*(series.numbers for series in self.series), strict=True)
        sums = (max((n or 0 for n in ns), default=0) if self.is_line else sum(n or 0 for n in ns) for ns in columns)
        levels = self.level.numbers if self.level is not None else ()
        return max([0.0, *sums, *(number for number in levels if number is not None)])

    @cached_property
    def _axis(self) -> tuple[float, ...]:
        """Round numbers of the unit around all numbers, at least two."""
        low, high = self._low / self.unit.size, self._high / self.unit.size
        step = round_step(high - low, is_whole=self.unit.size == 1)
        return tuple(n * step for n in range(math.floor(low / step), max(1, math.ceil(high / step)) + 1))

    def _stack(self, at: int) -> Iterator[Mark]:
        base = 0.0
        for series in self.series:
            if number := series.numbers[at]:
                top, bottom = self._y(base + number), self._y(base)
                x = round(self._middle(at) - self.bar_width / 2, 2)
                link = self.links[at] if self.links else ""
                yield Mark(x, top, round(max(1.0, bottom - top), 2), series.style, self._text(at, series), link)
                base += number

    def _paths(self, series: Series) -> Iterator[str]:
        for is_known, run in groupby(enumerate(series.numbers), lambda entry: entry[1] is not None):
            if is_known:
                yield "M" + " L".join(f"{self._middle(at)} {self._y(number or 0)}" for at, number in run)

    def _text(self, at: int, series: Series) -> str:
        number = (series.numbers[at] or 0) / self.unit.size
        places = 0 if number == int(number) else 1
        return f"{self.labels[at]}: {series.name} {number:,.{places}f} {self.unit.name}".rstrip()

    def _anchor(self, at: int) -> str:
        """Return how the label of a place stands to it, so that it is inside of the drawing."""
        x = self._middle(at)
        return "start" if x < LEFT + _LABEL else "end" if x > WIDTH - RIGHT - _LABEL else "middle"

    def _middle(self, at: int) -> float:
        return round(LEFT + (WIDTH - LEFT - RIGHT) / len(self.labels) * (at + 0.5), 2)

    def _y(self, number: float) -> float:
        low, high = self._axis[0], self._axis[-1]
        part = (number / self.unit.size - low) / (high - low)
        return round(HEIGHT - BOTTOM - part * (HEIGHT - TOP - BOTTOM), 2)


def round_step(span: float, *, is_whole: bool = False) -> float:
    """Return the smallest of 1, 2 and 5 times a power of ten of which a span has at most four.

    :param is_whole: whether it must be a whole number.
    """
    least = max(span / _TICKS, 1e-6)
    power = 10.0 ** math.floor(math.log10(least))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= least * (1 - 1e-9))
    return max(1.0, step) if is_whole else step
