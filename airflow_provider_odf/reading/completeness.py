"""Is a period complete: records by hour, day or month, beside what is usual, with gaps and late records."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property
from statistics import median
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest.fragments import MergeStrategyChangelogStream
from airflow_provider_odf.merge_strategies import APPEND, CORRECT_TO, OPERATION_NAMES, PRESENT
from airflow_provider_odf.reading.event_hours import SECONDS, Part, Records, records_by_hour

if TYPE_CHECKING:
    from airflow_provider_odf.chain.dataset import Dataset
    from airflow_provider_odf.chain.state import ChainState
    from airflow_provider_odf.manifest.model import MetadataBlock


GAP, FEW, MANY = "gap", "few", "many"
COMPLETE, AS_USUAL, OPEN, UNKNOWN = "complete", "as usual", "open", "unknown"
_LEAST_PAST = 3
"""Periods of the past that say what is usual."""

SCHEMA = pa.schema(
    [
        ("start", pa.timestamp("s", "UTC")),
        ("rows", pa.int64()),
        ("usual", pa.float64()),
        ("answer", pa.string()),
        ("late", pa.int64()),
    ]
)
"""Columns of periods for programs."""


@dataclass
class Numbers:
    """Records of an hour or a longer period: by code of operation, and how many of them came late."""

    operations: list[int] = field(default_factory=lambda: [0] * len(OPERATION_NAMES))
    late: int = 0

    @property
    def rows(self) -> int:
        """The rows that came: added ones, and those that a correction ends with."""
        return self.operations[APPEND] + self.operations[CORRECT_TO]

    def add(self, other: Numbers) -> None:
        self.operations = [one + more for one, more in zip(self.operations, other.operations, strict=True)]
        self.late += other.late


@dataclass
class Totals:
    """Records of a history up to its head, by hour from 1970 on of their event time, and of their publication."""

    head: str = ""
    watermark: Instant | None = None
    by_event: dict[int, Numbers] = field(default_factory=dict)
    by_publication: dict[int, Numbers] = field(default_factory=dict)
    untimed: int = 0
    """Records without an event time."""

    def extend(
        self,
        dataset: Dataset,
        state: ChainState,
        blocks: Iterable[tuple[str, MetadataBlock]],
        published: Callable[[MetadataBlock], Instant],
    ) -> None:
        """Add the records of the blocks after the head, oldest first, up to the head of a state.

        :param published: returns when a block could be read.
        :raises ChainCorrupted: a slice is missing or damaged.
        """
        for records in records_by_hour(dataset, self._parts(blocks, published), state):
            self._add(records)
        self.head = state.head

    def _parts(
        self, blocks: Iterable[tuple[str, MetadataBlock]], published: Callable[[MetadataBlock], Instant]
    ) -> Iterator[Part]:
        """Yield the slices of blocks, and move the watermark."""
        for _, block in blocks:
            data_slice = getattr(block.event, "new_data", None)
            if data_slice is not None:
                yield Part(data_slice, self.watermark, _hour(published(block).to_datetime()))
            self.watermark = getattr(block.event, "new_watermark", None) or self.watermark

    def _add(self, records: Records) -> None:
        numbers = Numbers()
        numbers.operations[records.operation] = records.number
        self.by_publication.setdefault(records.published, Numbers()).add(numbers)
        if records.hour is None:
            self.untimed += records.number
            return
        if records.is_late and records.operation in PRESENT:  # others have the event time of an older row
            numbers.late = records.number
        self.by_event.setdefault(records.hour, Numbers()).add(numbers)

    def periods(self, unit: str = "", *, is_publication: bool = False, most: int | None = None) -> list[Period]:
        """Return the newest periods, oldest first, of event time or of publication.

        :param unit: name of a unit; by default the one that fits.
        :param most: number of periods, by default as many as a page shows.
        """
        hours = self.by_publication if is_publication else self.by_event
        watermark = None if is_publication or self.watermark is None else self.watermark.to_datetime()
        return Periods(UNITS[unit or unit_of(hours)], hours, datetime.now(UTC), watermark).newest(most)

    def current_rows(self, state: ChainState) -> int | None:
        """Return the number of current rows: each retraction and correction takes back one row. None if that is not
        known: operations of a changelog come from its source, which may repeat them."""
        if isinstance(state.merge, MergeStrategyChangelogStream):
            return None
        whole = Numbers()
        for numbers in self.by_publication.values():
            whole.add(numbers)
        return sum(number if code in PRESENT else -number for code, number in enumerate(whole.operations))


def _hour(time: datetime) -> int:
    return int(time.timestamp()) // SECONDS


_FIRST, _LAST = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True)
class Unit:
    """A length of periods. ``floor`` returns the start of an hour's period, ``step`` one some periods on. ``shown``
    periods are on a page; ``past`` are the distances to those that a period is compared with, and to others where the
    data does not go back so far."""

    name: str
    floor: Callable[[datetime], datetime]
    step: Callable[[datetime, int], datetime]
    form: str
    usual: str
    """Form of what a period is compared with, in words."""
    shown: int
    past: Sequence[Sequence[int]]

    def moved(self, time: datetime, n: int) -> datetime:
        """Return the start of the period that is ``n`` periods on, at an end of the calendar its last or first time."""
        try:
            return self.step(time, n)
        except (OverflowError, ValueError):
            return _LAST if n > 0 else _FIRST


def _month(time: datetime, n: int) -> datetime:
    """Return the start of the month that is ``n`` months after that of a time."""
    years, month = divmod(time.month - 1 + n, 12)
    return datetime(time.year + years, month + 1, 1, tzinfo=UTC)


def _steps(length: int, n: int) -> Sequence[int]:
    return range(length, length * n + 1, length)


def _day(time: datetime) -> datetime:
    return time.replace(hour=0)


UNITS = {
    unit.name: unit
    for unit in (
        Unit(
            "hour",
            lambda t: t,
            lambda t, n: t + timedelta(hours=n),
            "%Y-%m-%d %H:00",
            "at %H:00 on a %A",
            72,
            (_steps(168, 8), _steps(24, 7)),
        ),
        Unit("day", _day, lambda t, n: _day(t) + timedelta(days=n), "%Y-%m-%d %a", "for a %A", 56, (_steps(7, 8),)),
        Unit("month", lambda t: _month(t, 0), _month, "%Y-%m", "for a month", 24, (_steps(1, 6),)),
    )
}
"""Name -> unit, the shortest first."""


@dataclass(frozen=True)
class Period:
    """A period: its numbers, and how many rows are usual, None if the past does not say."""

    unit: Unit
    start: datetime
    numbers: Numbers
    usual: float | None
    is_over: bool
    is_final: bool
    """Whether the watermark is past its end, so that no more rows are expected."""
    is_future: bool = False

    @property
    def label(self) -> str:
        return self.start.strftime(self.unit.form)

    @property
    def usual_words(self) -> str:
        return self.start.strftime(self.unit.usual)

    @property
    def end(self) -> datetime:
        return self.unit.moved(self.start, 1)

    @property
    def row(self) -> dict[str, Any]:
        """The period as a row of `SCHEMA`."""
        values = (self.start, self.numbers.rows, self.usual, self.answer, self.numbers.late)
        return dict(zip(SCHEMA.names, values, strict=True))

    @property
    def answer(self) -> str:
        """Whether it is complete: a word of the module."""
        if self.verdict:
            return self.verdict
        if not self.is_over:
            return OPEN
        if not self.is_final:
            return AS_USUAL if self.usual is not None else OPEN
        if self.usual == self.numbers.rows == 0:
            return AS_USUAL
        return COMPLETE if self.usual else UNKNOWN

    @property
    def verdict(self) -> str:
        """A word of the module if the number of rows is unusual, else empty."""
        rows = self.numbers.rows
        if self.is_future or not self.usual:
            return ""
        if rows > 2 * self.usual:
            return MANY
        if not self.is_over or 2 * rows >= self.usual:
            return ""
        return FEW if rows else GAP


@dataclass(frozen=True)
class Periods:
    """Hours as periods of a unit."""

    unit: Unit
    hours: Mapping[int, Numbers]
    now: datetime
    watermark: datetime | None = None
    """None if there is none, or if the hours are of publications: time alone ends these."""

    @cached_property
    def _numbers(self) -> dict[datetime, Numbers]:
        numbers = defaultdict[datetime, Numbers](Numbers)
        for hour, of_hour in self.hours.items():
            numbers[self.unit.floor(_time(hour))].add(of_hour)
        return dict(numbers)

    def newest(self, most: int | None = None) -> list[Period]:
        """Return the newest periods, oldest first: up to now, if the data comes so near, else up to the newest data."""
        if not self._numbers:
            return []
        first, last = min(self._numbers), max(self._numbers)
        now = self.unit.floor(_time(_hour(self.now)))
        if last < now <= self.unit.moved(last, self.unit.shown - 1):
            last = now
        starts = dict.fromkeys(self.unit.moved(last, n) for n in range(1 - (most or self.unit.shown), 1))
        return [self._period(start, first) for start in starts if start >= first]

    def _period(self, start: datetime, first: datetime) -> Period:
        rows = next(filter(lambda rows: len(rows) >= _LEAST_PAST, self._past(start, first)), None)
        usual = median(rows) if rows is not None else None
        end = self.unit.moved(start, 1)
        is_final = end <= (self.watermark or self.now)
        return Period(
            self.unit, start, self._numbers.get(start, Numbers()), usual, end <= self.now, is_final, start > self.now
        )

    def _past(self, start: datetime, first: datetime) -> Iterator[list[int]]:
        """Yield the rows of each series of earlier periods that a period may be compared with."""
        for distances in self.unit.past:
            earlier = [time for n in distances if first <= (time := self.unit.moved(start, -n)) < start]
            yield [self._numbers[time].rows if time in self._numbers else 0 for time in earlier]


def _time(hour: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(hours=hour)


def unit_of(hours: Mapping[int, Numbers]) -> str:
    """Return the unit that fits the times of some data: hours of at most three days, months where most have at most
    two days with data, else days."""
    days = {UNITS["day"].floor(_time(hour)) for hour in hours}
    months = {UNITS["month"].floor(day) for day in days}
    if len(hours) > len(days) and len(days) <= 3:
        return "hour"
    return "month" if len(months) > 2 and len(days) <= 2 * len(months) else "day"


def newest_over(periods: Sequence[Period]) -> Period | None:
    """Return the newest period that is over, None if there is none."""
    return next((period for period in reversed(periods) if period.is_over), None)
