"""Contract report as OpenLineage facets.

The assertions of the dataset have the clauses with a result: pass, fail, and error as not passed. The facet of the test
run has all clauses, those that are not enforced as ``skip``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from airflow_provider_odf.contract.report import query_of
from airflow_provider_odf.protocol import CheckResult, Contract, ContractReport

if TYPE_CHECKING:
    from openlineage.client.facet_v2 import data_quality_assertions_dataset as assertions_dataset
    from openlineage.client.facet_v2 import data_quality_metrics_input_dataset as metrics_dataset
    from openlineage.client.facet_v2 import test_run as test_run_facet

_STATUS = {"pass": "pass", "fail": "fail", "error": "fail"}
_NAMES = {"required": "not_null", "field_present": "column_exists", "field_type": "column_type"}
"""Names that other producers use for these kinds of tests."""


def assertions(report: ContractReport, contract: Contract) -> assertions_dataset.DataQualityAssertionsDatasetFacet:
    """Return the enforced clauses, with expected and actual values."""
    from openlineage.client.facet_v2 import data_quality_assertions_dataset as facet

    queries = _queries(contract)
    return facet.DataQualityAssertionsDatasetFacet(
        assertions=[
            facet.Assertion(
                assertion=_kind(result),
                success=result.outcome == "pass",
                column=result.field,
                name=result.path,
                **_common(result, report, queries),
            )
            for result in report.results
            if result.is_enforced
        ]
    )


def metrics(report: ContractReport) -> metrics_dataset.DataQualityMetricsInputDatasetFacet:
    """Return the number of tested rows, and the nulls of columns that must not have any."""
    from openlineage.client.facet_v2 import data_quality_metrics_input_dataset as facet

    nulls = {
        r.field: facet.ColumnMetrics(nullCount=r.failed_rows)
        for r in report.results
        if r.field and r.failed_rows is not None and r.kind == "required"
    }
    return facet.DataQualityMetricsInputDatasetFacet(columnMetrics=nulls, rowCount=report.tested_rows)


def test_run(report: ContractReport, contract: Contract) -> test_run_facet.TestRunFacet:
    """Return every clause; ``params`` has the outcome in the contract's terms."""
    from openlineage.client.facet_v2 import test_run as facet

    queries = _queries(contract)
    return facet.TestRunFacet(
        tests=[
            facet.TestExecution(
                name=result.path,
                status=_STATUS.get(result.outcome, "skip"),
                type=_kind(result),
                **_common(result, report, queries),
            )
            for result in report.results
        ]
    )


def _queries(contract: Contract) -> dict[str, str]:
    return {check.path: query for check in contract.checks if (query := query_of(check)) is not None}


def _common(result: CheckResult, report: ContractReport, queries: Mapping[str, str]) -> dict[str, Any]:
    """Return the properties that an assertion shares with a test."""
    query = queries.get(result.path)
    return {
        "severity": "error" if result.severity == "error" else "warn",
        "description": result.description,
        "expected": result.expected or None,
        "actual": result.observed or result.reason or None,
        "content": query,
        "contentType": "sql" if query else None,
        "params": _params(result, report),
    }


def _params(result: CheckResult, report: ContractReport) -> dict[str, Any]:
    params = {
        "outcome": result.outcome,
        "reason": result.reason or None,
        "contract": report.contract,
        "contractDigest": report.digest,
        "model": result.model or report.model or None,
        "field": result.field,
        "line": result.line or None,
        "rows": result.rows,
        "failedRows": result.failed_rows,
    }
    return {name: value for name, value in params.items() if value is not None}


def _kind(result: CheckResult) -> str:
    """Return the kind of clause, by the name of other producers if there is one."""
    return _NAMES.get(result.kind, result.kind)
