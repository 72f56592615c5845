"""Charts of the newest blocks and runs of a dataset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from airflow_provider_odf.merge_strategies import OPERATION_NAMES
from airflow_provider_odf.ui.charts import BYTES, SECONDS, Chart, Series
from airflow_provider_odf.ui.pages import operation_style

if TYPE_CHECKING:
    from airflow_provider_odf.chain.trends import Point
    from airflow_provider_odf.ui.airflow_api import Run


@dataclass(frozen=True)
class Clauses:
    """Numbers of the clauses of a contract that passed, and that were enforced."""

    passed: int
    enforced: int


def block_charts(points: Sequence[Point], clauses: Sequence[Clauses | None]) -> list[Chart]:
    """Return the charts of blocks of data, oldest first."""
    labels = tuple(f"{point.published.to_datetime():%Y-%m-%d %H:%M}" for point in points)
    return [
        records_chart("records", labels, [point.counts for point in points]),
        Chart(
            "size",
            "Size of the data",
            "Bytes of the file that each block added, from old to new.",
            labels,
            (Series("size", "calm", tuple(point.size for point in points)),),
            BYTES,
        ),
        Chart(
            "lag",
            "Watermark lag",
            "Time from the watermark to the publication of the block, from old to new.",
            labels,
            (Series("lag", "stale", tuple(point.lag for point in points)),),
            SECONDS,
            is_line=True,
        ),
        _contract_chart(labels, clauses),
    ]


def records_chart(key: str, labels: tuple[str, ...], counts: Sequence[Mapping[str, int] | None]) -> Chart:
    """Return the chart of records by operation."""
    return Chart(
        key,
        "Records by operation",
        "Records that each block added (+A), retracted (-R) and corrected (-C, +C), stacked, from old to new.",
        labels,
        tuple(
            Series(name, operation_style(name), tuple(None if c is None else c.get(name, 0) for c in counts))
            for name in OPERATION_NAMES
        ),
    )


def _contract_chart(labels: tuple[str, ...], clauses: Sequence[Clauses | None]) -> Chart:
    passed = tuple(None if c is None else c.passed for c in clauses)
    failed = tuple(None if c is None else c.enforced - c.passed for c in clauses)
    return Chart(
        "contract",
        "Clauses of the contract",
        "Clauses that passed, and that did not but let the data be published, stacked, from old to new.",
        labels,
        (Series("passed", "passed", passed), Series("did not pass", "failed", failed)),
    )


def run_chart(runs: Sequence[Run]) -> Chart:
    """Return the chart of the times that runs of the DAG took, oldest first."""
    labels = tuple(f"{run.start[:16].replace('T', ' ')}" if run.start else run.run_id for run in runs)
    states = (("success", "run-success"), ("failed", "run-failed"), ("other", "calm"))
    return Chart(
        "runs",
        "Time of DAG runs",
        "Time from the start to the end of each run, by its state, from old to new.",
        labels,
        tuple(
            Series(name, style, tuple(run.seconds if _state(run) == name else None for run in runs))
            for name, style in states
        ),
        SECONDS,
    )


def _state(run: Run) -> str:
    return run.state if run.state in ("success", "failed") else "other"
