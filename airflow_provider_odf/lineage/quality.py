"""Contract report as OpenLineage facets.

The assertions of the dataset have the clauses with a result: pass, fail, and error as not passed. The facet of the test
run has all clauses, untested ones as ``skip``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow_provider_odf.protocol import CheckResult, ContractReport

if TYPE_CHECKING:
    from openlineage.client.facet_v2 import data_quality_assertions_dataset as assertions_dataset
    from openlineage.client.facet_v2 import data_quality_metrics_input_dataset as metrics_dataset
    from openlineage.client.facet_v2 import test_run as test_run_facet

_STATUS = {"pass": "pass", "fail": "fail", "error": "fail"}
_NAMES = {"required": "not_null", "field_present": "column_exists", "field_type": "column_type"}
"""Names that other producers use for these kinds of tests."""


def assertions(report: ContractReport) -> assertions_dataset.DataQualityAssertionsDatasetFacet:
    """Return the tested clauses, with expected and actual values."""
    from openlineage.client.facet_v2 import data_quality_assertions_dataset as facet

    return facet.DataQualityAssertionsDatasetFacet(
        assertions=[
            facet.Assertion(
                assertion=_kind(result),
                success=result.outcome == "pass",
                column=result.field,
                severity=_severity(result),
                name=result.path,
                description=result.description,
                expected=result.expected or None,
                actual=result.observed or result.reason or None,
            )
            for result in report.results
            if result.outcome in _STATUS
        ]
    )


def metrics(report: ContractReport) -> metrics_dataset.DataQualityMetricsInputDatasetFacet:
    """Return the number of tested rows, and the nulls of columns that must not have any."""
    from openlineage.client.facet_v2 import data_quality_metrics_input_dataset as facet

    nulls = {
        r.field: facet.ColumnMetrics(nullCount=r.failed_rows)
        for r in report.results
        if r.field and r.failed_rows is not None and _kind(r) == "not_null"
    }
    return facet.DataQualityMetricsInputDatasetFacet(columnMetrics=nulls, rowCount=report.tested_rows)


def test_run(report: ContractReport) -> test_run_facet.TestRunFacet:
    """Return every clause; ``params`` has the outcome in the contract's terms."""
    from openlineage.client.facet_v2 import test_run as facet

    return facet.TestRunFacet(
        tests=[
            facet.TestExecution(
                name=result.path,
                status=_STATUS.get(result.outcome, "skip"),
                severity=_severity(result),
                type=_kind(result),
                description=result.description,
                expected=result.expected or None,
                actual=result.observed or result.reason or None,
                params={"outcome": result.outcome, "contract": report.contract, "contractDigest": report.digest},
            )
            for result in report.results
        ]
    )


def _kind(result: CheckResult) -> str:
    """Return the kind of clause, by the name of other producers if there is one."""
    return _NAMES.get(result.kind, result.kind)


def _severity(result: CheckResult) -> str:
    return "error" if result.severity == "error" else "warn"
