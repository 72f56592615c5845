"""Test a contract on data outside of datasets: files, tables, and DataFrames of a Spark job."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from pyspark.sql import DataFrame, SparkSession

from airflow_provider_odf.column_rules import RESERVED
from airflow_provider_odf.engine.contract.data import Data, Unreadable
from airflow_provider_odf.engine.contract.fields import find
from airflow_provider_odf.engine.contract.json_types import Shapes
from airflow_provider_odf.engine.contract.read import read
from airflow_provider_odf.engine.contract.report import report
from airflow_provider_odf.engine.contract.rows import ROW, Other, Rows, value_column
from airflow_provider_odf.engine.contract.scan import Scan
from airflow_provider_odf.engine.contract.types import READ_AS, are_same
from airflow_provider_odf.engine.schema import quoted
from airflow_provider_odf.engine.sql import ddl
from airflow_provider_odf.protocol import (
    SERVICE_LEVEL,
    Check,
    Contract,
    ContractReport,
    Source,
    SourceTestRequest,
    SourceTestSuccess,
)


def execute(spark: SparkSession, request: SourceTestRequest, progress: Callable[[str], None]) -> SourceTestSuccess:
    """Test the requested contract and return the report."""
    progress(f"testing contract {request.contract.id}")
    return SourceTestSuccess(test(spark, request.contract, request.sources, request.failed_rows, request.as_of))


def test(
    spark: SparkSession,
    contract: Contract,
    sources: Sequence[Source],
    failed_rows: str | None = None,  # noqa: PT028 - no test of pytest
    as_of: str = "",  # noqa: PT028
) -> ContractReport:
    """Return a report with one result for each check of the contract, in order.

    ``failed_rows`` is a directory for failing rows. ``as_of`` is the time of the test, empty for now. Data that cannot
    be read are the outcome ``error`` of all clauses of their model.
    """
    tested, named = _models(contract), contract.named_models()
    data: dict[str, Data] = {}
    problems: dict[str, str] = {}
    for source in (s for s in sources if s.model in tested or s.model.lower() in named):
        try:
            data[source.model] = read(spark, source, _checks(contract, source.model))
        except Unreadable as e:
            problems[source.model] = str(e)
    return _by_hand(report(contract, _rows(contract, data, as_of), problems, failed_rows))


def test_frames(contract: Contract, frames: Mapping[str, DataFrame], as_of: str = "") -> ContractReport:  # noqa: PT028
    """Return the report of a contract on DataFrames by model, in a Spark job of your own.

    The contract comes from `contract.compile.compile_models`. Models that only references name need a DataFrame too. A
    DataFrame is computed once for all rows, once for each key, once for each query, and again to show failing rows:
    cache an expensive one. ``as_of`` (RFC 3339) is the time that ages are measured at, empty for now.
    """
    rows = _rows(contract, {model: Data(frame) for model, frame in frames.items()}, as_of)
    return _by_hand(report(contract, rows))


def _by_hand(report: ContractReport) -> ContractReport:
    """Return the report of data without a publication that a service level could block: one that cannot be evaluated
    is an error."""
    results = (
        replace(r, severity="error") if r.outcome == "error" and r.kind.startswith(SERVICE_LEVEL) else r
        for r in report.results
    )
    return replace(report, results=tuple(results))


def _rows(contract: Contract, data: Mapping[str, Data], as_of: str) -> dict[str, Rows]:
    """Return the rows of the tested models."""
    tested = _models(contract)
    data = {model: _filled(_without_reserved(those), _checks(contract, model)) for model, those in data.items()}
    others = {model.lower(): Other(those.frame, those.types, those.system) for model, those in data.items()}
    return {
        model: replace(_rows_of(those, _checks(contract, model), others), as_of=as_of)
        for model, those in data.items()
        if model in tested
    }


def _without_reserved(data: Data) -> Data:
    """Return the rows without columns whose names are those of the engine: clauses on them are errors."""
    reserved = [name for name in data.frame.columns if name.lower().startswith(RESERVED)]
    reason = f"column {{}} has the prefix {RESERVED}, which names columns of the engine: rename it"
    broken = {name.lower(): reason.format(name) for name in reserved}
    frame = data.frame.drop(*(name for name in reserved if name not in data.system))
    return replace(data, frame=frame, broken={**data.broken, **broken}) if reserved else data


def _filled(data: Data, checks: Sequence[Check]) -> Data:
    """Return the rows with the declared types of columns and nested fields that have no value but null."""
    shapes, schema = Shapes.of_checks(checks, READ_AS), data.frame.schema
    kinds = {f.name: shapes.filled(f.dataType, f.name) for f in schema}
    if all(are_same(kinds[f.name], f.dataType) for f in schema):
        return data
    columns = (f"CAST({quoted(f.name)} AS {ddl(kinds[f.name])}) AS {quoted(f.name)}" for f in schema)
    return replace(data, frame=data.frame.selectExpr(*columns))


def _rows_of(data: Data, checks: Sequence[Check], others: Mapping[str, Other]) -> Rows:
    frame = data.frame.coalesce(1) if data.is_small else data.frame
    numbered = frame.selectExpr("*", f"monotonically_increasing_id() AS {quoted(ROW)}", *_computed(data))
    scan = Scan(numbered, numbered, "true", quoted(ROW), data.is_small)
    # The primary key identifies a row to a reader.
    key = next((check.columns for check in checks if check.kind == "primary_key"), ())
    return Rows(
        data.frame.schema,
        scan,
        data.system,
        key,
        types=data.types,
        malformed=data.malformed,
        others=others,
        broken=data.broken,
        problem=data.problem,
    )


def _computed(data: Data) -> Iterator[str]:
    """Yield SQL for the columns with what is computed of text: once for all clauses of a field."""
    for path in data.types.types if data.types else ():
        found = find(data.frame.schema, path, data.types)
        if found is not None and found.computed:
            yield f"{found.computed} AS {quoted(value_column(path))}"


def _models(contract: Contract) -> set[str]:
    return {check.model for check in contract.checks}


def _checks(contract: Contract, model: str) -> list[Check]:
    return [check for check in contract.checks if check.model == model]
