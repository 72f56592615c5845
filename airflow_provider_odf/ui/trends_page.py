"""How the newest publications and runs of a dataset compare: charts, and the same numbers as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from fastapi import Depends, Query, Request
from fastapi.responses import HTMLResponse

from airflow_provider_odf.chain.trends import newest_points
from airflow_provider_odf.cycle import rejected
from airflow_provider_odf.ui.airflow_api import Run, newest_runs
from airflow_provider_odf.ui.dataset_pages import SubjectOf
from airflow_provider_odf.ui.trend_charts import Clauses, block_charts, run_chart

if TYPE_CHECKING:
    from airflow_provider_odf.protocol import ContractReport

SIZES = (20, 50, 100, 200)
"""Numbers of blocks and runs that a reader may choose."""


async def _runs(request: Request, dag_id: str, last: Annotated[int, Query()] = 50) -> list[Run]:
    return await newest_runs(request, dag_id, _size(last))


def trends(
    subject: SubjectOf, runs: Annotated[list[Run], Depends(_runs)], last: Annotated[int, Query()] = 50
) -> HTMLResponse:
    """Return charts of the newest blocks of data and runs."""
    points = newest_points(subject.positions.published, _size(last), subject.history.state.vocab.operation_type_column)
    clauses = [_clauses(rejected.load_report(subject.dataset, point.block_hash)) for point in points]
    charts = [*block_charts(points, clauses), run_chart(runs)]
    rows = list(zip(points, clauses, strict=True))
    return subject.render("trends.html", "/trends", charts=charts, rows=rows, runs=runs, last=_size(last), sizes=SIZES)


def _size(last: int) -> int:
    """Return the nearest number that may be chosen."""
    return min(SIZES, key=lambda size: abs(size - last))


def _clauses(report: ContractReport | None) -> Clauses | None:
    if report is None:
        return None
    enforced = [result for result in report.results if result.is_enforced]
    return Clauses(sum(result.outcome == "pass" for result in enforced), len(enforced))
