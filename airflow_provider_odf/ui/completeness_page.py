"""Is a period complete: records by hour, day or month, beside what is usual, with gaps and late records.

The numbers of all hours of a history are kept with the other caches of pages, so that a page reads new slices only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, takewhile
from typing import TYPE_CHECKING, Annotated, Literal

from fastapi import Query
from fastapi.responses import HTMLResponse
from pydantic import BaseModel

from airflow_provider_odf.chain import cache_file
from airflow_provider_odf.contract.service_levels import FREQUENCY
from airflow_provider_odf.errors import ChainCorrupted, StorageError
from airflow_provider_odf.merge_strategies import OPERATION_NAMES
from airflow_provider_odf.reading.completeness import UNITS, Period, Totals, newest_over
from airflow_provider_odf.ui.chain_cache import PageCache
from airflow_provider_odf.ui.charts import Chart, Series
from airflow_provider_odf.ui.pages import OPERATION_STYLES
from airflow_provider_odf.ui.subject import Subject, SubjectOf

if TYPE_CHECKING:
    from airflow_provider_odf.protocol import CheckResult

_CLAUSES = ("row_count", FREQUENCY)
"""Kinds of clauses about how much comes, and how often."""

_TOTALS = PageCache[Totals]("completeness", 1, Totals)


def read_totals(subject: Subject, most: int | None = None) -> Totals | None:
    """Return the totals at the head, from their file and the blocks after it.

    :param most: None is returned if more new blocks than this must be read.
    :raises ChainCorrupted: a block or a slice is missing or damaged.
    """
    folder, head = subject.pages_folder, subject.history.state.head
    totals = _TOTALS.read(folder) or Totals()
    if totals.head == head:
        return totals
    if totals.head not in subject.positions.hashes:
        totals = Totals()
    known = totals.head
    blocks = takewhile(lambda entry: entry[0] != known, subject.dataset.walk(head))
    new = list(blocks if most is None else islice(blocks, most + 1))
    if most is not None and len(new) > most:
        return None
    positions = subject.positions
    totals.extend(
        subject.dataset, subject.history.state, new[::-1], lambda block: positions.since(block.sequence_number)
    )
    if cache_file.make_folder(subject.store.work_area, folder):
        _TOTALS.write(folder, totals)
    return totals


class CompletenessQuery(BaseModel):
    """Parameters of the page: the time that counts, and the unit; by default the one that fits."""

    of: Literal["event", "publication"] = "event"
    unit: Literal["", "hour", "day", "month"] = ""


def completeness(subject: SubjectOf, query: Annotated[CompletenessQuery, Query()]) -> HTMLResponse:
    """Return records by period as a chart and a table, with what is usual."""
    totals, is_event = read_totals(subject) or Totals(), query.of == "event"
    periods = totals.periods(query.unit, is_publication=not is_event)

    def path_of(period: Period) -> str:
        start, end = (f"{time:%Y-%m-%dT%H:%M:%SZ}" for time in (period.start, period.end))
        if is_event:
            return subject.path(f"/data?view=history&event_since={start}&event_until={end}")
        return subject.path(f"/data?view=history&since={start}&until={end}")

    return subject.render(
        "completeness.html",
        "/completeness",
        query=query,
        unit=periods[-1].unit.name if periods else query.unit,
        units=list(UNITS),
        periods=periods,
        newest=newest_over(periods),
        newest_rows=next((period for period in reversed(periods) if period.numbers.rows), None),
        watermark=totals.watermark,
        chart=_chart(periods, tuple(map(path_of, periods)), query.of),
        path_of=path_of,
        untimed=totals.untimed,
        clauses=list(_clauses(subject)),
    )


def _chart(periods: Sequence[Period], links: tuple[str, ...], of: str) -> Chart:
    series = (
        Series(name, OPERATION_STYLES[name], tuple(period.numbers.operations[code] for period in periods))
        for code, name in enumerate(OPERATION_NAMES)
    )
    usual = Series("usual", "usual", tuple(period.usual for period in periods))
    about = f"Records by {'event time' if of == 'event' else 'time of publication'}, stacked, from old to new."
    labels = tuple(period.label for period in periods)
    return Chart("periods", "Records", about, labels, tuple(series), links=links, level=usual)


def _clauses(subject: Subject) -> Iterator[CheckResult]:
    """Yield the results of the newest contract test about how many rows come, and how often."""
    for result in subject.newest_report[1].results if subject.newest_report is not None else ():
        if result.kind in _CLAUSES:
            yield result


def totals_if_near(subject: Subject, most: int) -> Totals | None:
    """Return the totals; None if more new blocks than ``most`` must be read for them, or if one cannot be read: the
    page about completeness says which."""
    try:
        return read_totals(subject, most)
    except (ChainCorrupted, StorageError):
        return None
