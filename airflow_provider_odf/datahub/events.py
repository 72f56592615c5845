"""Results of a contract test as run events of DataHub's assertions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from datahub.metadata import schema_classes as dh

from airflow_provider_odf.contract.report import query_of
from airflow_provider_odf.protocol import Check, CheckResult, ContractReport

_Error = dh.AssertionResultErrorTypeClass
_Result = dh.AssertionResultTypeClass

_RESULTS = {"pass": _Result.SUCCESS, "fail": _Result.FAILURE, "error": _Result.ERROR}
"""Outcome -> result. Clauses that are not enforced are INIT: not evaluated."""

_OVER_HISTORY = frozenset(
    ("primary_key", "unique", "references", "service_level_freshness", "service_level_retention")
)  # fmt: skip
"""Kinds of clauses that are tested over all rows, even if others are tested on the new ones only."""

_OF_VALUES = frozenset(("null_values", "present_values", "missing_values", "invalid_values", "violations"))
"""Metrics of single values. Other metrics and all queries are about all rows."""


@dataclass(frozen=True)
class Batch:
    """Rows that a contract was tested on.

    ``id`` is the hash of the candidate's newest block, and ``query`` selects the rows. ``offsets`` are the first and
    the last new record if only these were tested.
    """

    id: str | None = None
    query: str | None = None
    offsets: tuple[int, int] | None = None
    properties: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Run:
    """A run of a contract test. ``id`` is its run id in OpenLineage; ``time`` is in milliseconds since 1970; ``url`` is
    a page with the whole report; ``context`` are further facts about the run."""

    id: str
    time: int
    batch: Batch = Batch()
    url: str | None = None
    context: Mapping[str, str] = field(default_factory=dict)


def run_event(
    urn: str, dataset: str, check: Check, result: CheckResult, report: ContractReport, run: Run
) -> dh.AssertionRunEventClass:
    """Return the aspect ``assertionRunEvent`` of the assertion ``urn`` on a dataset, given by its URN."""
    return dh.AssertionRunEventClass(
        timestampMillis=run.time,
        runId=run.id,
        asserteeUrn=dataset,
        status=dh.AssertionRunStatusClass.COMPLETE,
        assertionUrn=urn,
        result=_result(check, result, report, run.url),
        runtimeContext=dict(run.context) or None,
        batchSpec=_batch_spec(check, run.batch),
        partitionSpec=_partition(check, run.batch),
    )


def _result(check: Check, result: CheckResult, report: ContractReport, url: str | None) -> dh.AssertionResultClass:
    rows = result.rows if result.rows is not None else report.tested_rows
    is_null_check = result.kind == "required" or check.arguments.get("metric") in ("null_values", "missing_values")
    is_metric = result.failed_rows is None or "metric" in check.arguments
    return dh.AssertionResultClass(
        type=_RESULTS.get(result.outcome, _Result.INIT),
        rowCount=rows if result.is_enforced else None,
        missingCount=result.failed_rows if is_null_check else None,
        unexpectedCount=None if is_null_check else result.failed_rows,
        actualAggValue=_number(result.observed) if is_metric else None,
        nativeResults=_native_results(result),
        externalUrl=url,
        error=_error(check, result) if result.outcome == "error" else None,
    )


def _native_results(result: CheckResult) -> dict[str, str]:
    values = {
        "outcome": result.outcome,
        "reason": result.reason,
        "expected": result.expected,
        "observed": str(result.observed),
        "severity": result.severity,
        "failedRows": "" if result.failed_rows is None else str(result.failed_rows),
    }
    return {name: value for name, value in values.items() if value}


def _error(check: Check, result: CheckResult) -> dh.AssertionResultErrorClass:
    return dh.AssertionResultErrorClass(type=_error_type(check, result), properties={"message": result.reason})


def _error_type(check: Check, result: CheckResult) -> str:
    """Return the type of an error: an error that the compiler found is in the clause itself."""
    if check.outcome == "error":
        return str(_Error.INVALID_PARAMETERS)
    if result.rows == 0:
        return str(_Error.INSUFFICIENT_DATA)
    if query_of(check):
        return str(_Error.SOURCE_QUERY_FAILED)
    return str(_Error.UNKNOWN_ERROR)


def _number(observed: object) -> float | None:
    """Return an observed value if it is one number."""
    if isinstance(observed, int | float) and not isinstance(observed, bool):
        return float(observed)
    text = str(observed).strip()
    return float(text) if re.fullmatch(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?", text) else None


def _batch_spec(check: Check, batch: Batch) -> dh.BatchSpecClass | None:
    query = query_of(check) or batch.query
    if batch.id is None and query is None:
        return None
    return dh.BatchSpecClass(customProperties=dict(batch.properties), nativeBatchId=batch.id, query=query)


def _partition(check: Check, batch: Batch) -> dh.PartitionSpecClass:
    kinds = dh.PartitionTypeClass
    if batch.offsets is None or _is_over_history(check):
        return dh.PartitionSpecClass(partition="FULL_TABLE_SNAPSHOT", type=kinds.FULL_TABLE)
    first, last = batch.offsets
    return dh.PartitionSpecClass(partition=f"offset {first}..{last}", type=kinds.PARTITION)


def _is_over_history(check: Check) -> bool:
    if check.kind.startswith("quality_"):
        return check.arguments.get("metric") not in _OF_VALUES
    return check.kind in _OVER_HISTORY
