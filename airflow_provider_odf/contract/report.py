"""A contract report for readers and programs: its JSON, its exit code, and the order and words of its outcomes.

``docs/contract-report.schema.json`` is the schema of the JSON.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from airflow_provider_odf.protocol import Check, CheckResult, ContractReport
from airflow_provider_odf.wording import counted

EXIT_CODES = {"passed": 0, "warning": 0, "failed": 1, "error": 3}
"""Result of a report -> exit code of ``odf contract test``."""

NOT_ENFORCED = "not enforced"

_ORDER = ("error", "fail", "warning", "unsupported", "informational", "pass")


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


def query_of(check: Check) -> str | None:
    """Return the SQL that a contract has for a clause, if it has some."""
    query = check.arguments.get("query")
    return str(query) if query else None


def state(result: CheckResult) -> str:
    """Return the outcome of a clause in one word for readers: ``warning`` if it is broken without blocking."""
    return "warning" if result.is_warning else result.outcome


def worst_first(results: Iterable[CheckResult]) -> list[CheckResult]:
    """Return results in the order error, fail, warning, unsupported, informational, pass."""
    return sorted(results, key=lambda result: _ORDER.index(state(result)))


def counts(report: ContractReport) -> str:
    """Return how many clauses have each outcome.

    >>> counts(ContractReport("c", "d", "m", ()))
    'no clauses'
    """
    number = Counter(state(result) for result in report.results)
    return ", ".join(_counted(number)) or "no clauses"


def _counted(number: Counter[str]) -> Iterator[str]:
    for name, word in (("error", "error"), ("fail", "failed"), ("warning", "warning"), ("pass", "passed")):
        if number[name]:
            yield counted(number[name], word) if name in ("error", "warning") else f"{number[name]} {word}"
    if untested := number["unsupported"] + number["informational"]:
        yield f"{untested} {NOT_ENFORCED}"
