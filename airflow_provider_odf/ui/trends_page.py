"""How the newest publications and runs of a dataset compare: charts, and the same numbers as tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Annotated, NamedTuple

from fastapi import Depends, Query, Request
from fastapi.responses import HTMLResponse

from airflow_provider_odf.chain.slices import count_operations
from airflow_provider_odf.cycle import candidates
from airflow_provider_odf.manifest import model
from airflow_provider_odf.merge_strategies import OPERATION_NAMES
from airflow_provider_odf.ui.airflow_api import Run, newest_runs
from airflow_provider_odf.ui.charts import BYTES, SECONDS, Chart, Series
from airflow_provider_odf.ui.pages import OPERATION_STYLES
from airflow_provider_odf.ui.subject import SubjectOf

if TYPE_CHECKING:
    from airflow_provider_odf.chain.publications import PublishedHistory
    from airflow_provider_odf.instant import Instant
    from airflow_provider_odf.manifest.model import MetadataBlock
    from airflow_provider_odf.protocol import ContractReport

_SIZES = (20, 50, 100, 200)
"""Numbers of blocks and runs that a reader may choose."""
_BLOCKS_PER_POINT = 20
"""Blocks without data that are read for each point at most."""
_RUN_STYLES = {"success": "run-success", "failed": "run-failed", "other": "calm"}
"""State of a run -> its class in the stylesheet."""


@dataclass(frozen=True)
class Point:
    """A block that added data, or that says that there was nothing to add.

    ``counts`` are numbers of records by operation, None if the slice cannot be read. ``size`` is in bytes.
    """

    block_hash: str
    number: int
    published: Instant
    counts: Mapping[str, int] | None
    size: int
    watermark: Instant | None

    @property
    def lag(self) -> float | None:
        """Seconds from the watermark to the publication, None without a watermark."""
        if self.watermark is None:
            return None
        return (self.published.to_datetime() - self.watermark.to_datetime()).total_seconds()


class Clauses(NamedTuple):
    """Numbers of the clauses of a contract that passed, and that were enforced."""

    passed: int
    enforced: int


def _size(last: Annotated[int, Query()] = 50) -> int:
    """Return the nearest number that may be chosen."""
    return min(_SIZES, key=lambda size: abs(size - last))


SizeOf = Annotated[int, Depends(_size)]


async def _runs(request: Request, dag_id: str, last: SizeOf) -> list[Run]:
    """Return the newest runs in the order of their starts, those that wait last."""
    oldest_first = (await newest_runs(request, dag_id, last))[::-1]
    return sorted(oldest_first, key=lambda run: (run.start is None, run.start))


def trends(subject: SubjectOf, runs: Annotated[list[Run], Depends(_runs)], last: SizeOf) -> HTMLResponse:
    """Return charts of the newest blocks of data and runs; of fewer blocks if many others are between them."""
    history, operation_column = subject.positions.published, subject.history.state.vocab.operation_type_column
    blocks = islice(subject.dataset.walk(history.hashes[-1]), last * _BLOCKS_PER_POINT)
    points = list(islice(_points(history, blocks, operation_column), last))[::-1]
    clauses = [_clauses(candidates.load_report(subject.dataset, point.block_hash)) for point in points]
    charts = [*_block_charts(points, clauses), _run_chart(runs)]
    rows = list(zip(points, clauses, strict=True))
    return subject.render("trends.html", "/trends", charts=charts, rows=rows, runs=runs, last=last, sizes=_SIZES)


def _points(
    history: PublishedHistory, blocks: Iterator[tuple[str, MetadataBlock]], operation_column: str
) -> Iterator[Point]:
    for block_hash, block in blocks:
        event = block.event
        if isinstance(event, model.AddData | model.ExecuteTransform):
            new = event.new_data
            counts = {} if new is None else count_operations(history.dataset, new, operation_column)
            yield Point(
                block_hash,
                block.sequence_number,
                history.since(block.sequence_number, block.system_time),
                counts,
                0 if new is None else new.size,
                event.new_watermark,
            )


def _clauses(report: ContractReport | None) -> Clauses | None:
    if report is None:
        return None
    enforced = [result for result in report.results if result.is_enforced]
    return Clauses(sum(result.outcome == "pass" for result in enforced), len(enforced))


def _block_charts(points: Sequence[Point], clauses: Sequence[Clauses | None]) -> Iterator[Chart]:
    labels = tuple(f"{point.published.to_datetime():%Y-%m-%d %H:%M}" for point in points)
    yield records_chart(labels, [point.counts for point in points])
    size = Series("size", "calm", tuple(point.size for point in points))
    about = "Bytes of the file that each block added, from old to new."
    yield Chart("size", "Size of the data", about, labels, (size,), BYTES)
    lag = Series("lag", "stale", tuple(point.lag for point in points))
    about = "Time from the watermark to the publication of the block, from old to new."
    yield Chart("lag", "Watermark lag", about, labels, (lag,), SECONDS, is_line=True)
    passed = Series("passed", "passed", tuple(None if c is None else c.passed for c in clauses))
    failed = Series("did not pass", "failed", tuple(None if c is None else c.enforced - c.passed for c in clauses))
    about = "Clauses that passed, and that did not but let the data be published, stacked, from old to new."
    yield Chart("contract", "Clauses of the contract", about, labels, (passed, failed))


def records_chart(labels: tuple[str, ...], counts: Sequence[Mapping[str, int] | None]) -> Chart:
    """Return the chart of records by operation."""
    about = "Records that each block added (+A), retracted (-R) and corrected (-C, +C), stacked, from old to new."
    series = (
        Series(name, OPERATION_STYLES[name], tuple(None if c is None else c.get(name, 0) for c in counts))
        for name in OPERATION_NAMES
    )
    return Chart("records", "Records by operation", about, labels, tuple(series))


def _run_chart(runs: Sequence[Run]) -> Chart:
    labels = tuple(f"{run.start[:16].replace('T', ' ')}" if run.start else run.run_id for run in runs)
    states = [run.state if run.state in _RUN_STYLES else "other" for run in runs]
    series = (
        Series(name, style, tuple(r.seconds if state == name else None for r, state in zip(runs, states, strict=True)))
        for name, style in _RUN_STYLES.items()
    )
    about = "Time from the start to the end of each run, by its state, from old to new."
    return Chart("runs", "Time of DAG runs", about, labels, tuple(series), SECONDS)
