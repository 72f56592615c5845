"""Test a contract on files and tables outside of datasets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from pyspark.sql import SparkSession

from airflow_provider_odf.engine.contract.read import Unreadable, read
from airflow_provider_odf.engine.contract.report import report
from airflow_provider_odf.engine.contract.rows import Other, Rows
from airflow_provider_odf.engine.contract.scan import Scan
from airflow_provider_odf.protocol import Check, Contract, ContractReport, Source, SourceTestRequest, SourceTestSuccess

_ROW = "__row"


def execute(spark: SparkSession, request: SourceTestRequest, progress: Callable[[str], None]) -> SourceTestSuccess:
    """Test the requested contract and return the report."""
    progress(f"testing contract {request.contract.id}")
    return SourceTestSuccess(test(spark, request.contract, request.sources))


def test(spark: SparkSession, contract: Contract, sources: Sequence[Source]) -> ContractReport:
    """Return a report with one result for each check of the contract, in order.

    Data that cannot be read are the outcome ``error`` of all clauses of their model.
    """
    models: dict[str, Rows] = {}
    problems: dict[str, str] = {}
    tested = {check.model for check in contract.checks}
    references = (check for check in contract.checks if check.kind == "references")
    needed = tested | {str(check.arguments["target"]).partition(".")[0] for check in references}
    for source in (source for source in sources if source.model in needed):
        checks = [check for check in contract.checks if check.model == source.model]
        try:
            models[source.model] = _rows(spark, source, checks)
        except Unreadable as e:
            problems[source.model] = str(e)
    others = {name.lower(): Other(rows.scan.keyed, rows.types) for name, rows in models.items() if rows.scan}
    rows = {name: replace(rows, others=others) for name, rows in models.items() if name in tested}
    return report(contract, rows, problems)


def _rows(spark: SparkSession, source: Source, checks: Sequence[Check]) -> Rows:
    """Return the rows of a source.

    :raises Unreadable: Spark cannot read it.
    """
    data = read(spark, source, checks)
    frame = data.frame.coalesce(1) if data.is_small else data.frame
    numbered = frame.selectExpr("*", f"monotonically_increasing_id() AS {_ROW}")
    scan = Scan(numbered, numbered, "true", _ROW, data.is_small)
    return Rows(data.frame.schema, scan, data.system, _key(checks), types=data.types, malformed=data.malformed)


def _key(checks: Sequence[Check]) -> tuple[str, ...]:
    """Return the columns that identify a row to a reader: the primary key."""
    keys = (check.columns for check in checks if check.kind == "primary_key")
    return next(keys, ())
