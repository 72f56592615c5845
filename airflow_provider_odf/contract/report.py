"""A contract report as JSON and as a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from airflow_provider_odf.protocol import CheckResult, ContractReport

_ORDER = ("error", "fail", "unsupported", "informational", "pass")


def document(report: ContractReport) -> dict[str, Any]:
    """Return the report as a JSON document."""
    return {
        "contract": report.contract,
        "specification": report.specification,
        "result": report.result,
        "checks": [_check(result) for result in report.results],
    }


def _check(result: CheckResult) -> dict[str, Any]:
    return {
        "path": result.path,
        "line": result.line,
        "kind": result.kind,
        "model": result.model or None,
        "field": result.field,
        "description": result.description,
        "severity": result.severity,
        "outcome": result.outcome,
        "reason": result.reason,
        "observed": result.observed,
        "expected": result.expected,
        "rows": result.rows,
        "failedRows": result.failed_rows,
        "samples": list(result.samples),
    }


COLUMNS = ("outcome", "line", "model", "field", "clause", "reason", "expected")


def rows(report: ContractReport) -> Iterator[dict[str, Any]]:
    """Yield a table with the clauses that did not pass, errors and failures first."""
    results = sorted(report.results, key=lambda result: _ORDER.index(result.outcome))
    for result in results:
        if result.outcome != "pass":
            yield {
                "outcome": outcome(result),
                "line": result.line,
                "model": result.model,
                "field": result.field,
                "clause": result.description,
                "reason": result.reason,
                "expected": result.expected,
            }


def outcome(result: CheckResult) -> str:
    """Return the outcome in the words of a table."""
    if not result.is_enforced:
        return f"not enforced ({result.outcome})"
    return result.outcome if result.severity == "error" or result.outcome != "fail" else result.severity


def summary(report: ContractReport) -> str:
    """Return the numbers of outcomes in one line."""
    counts = Counter(result.outcome for result in report.results)
    numbers = ", ".join(f"{counts[name]} {name}" for name in reversed(_ORDER) if counts[name])
    return f"contract {report.contract}: {report.result} ({numbers})"


EXIT_CODES = {"passed": 0, "warning": 0, "failed": 1, "error": 3}
"""Result of a report -> exit code of ``odf contract test``."""
