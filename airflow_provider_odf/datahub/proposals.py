"""A contract report as proposals of metadata changes, which DataHub's emitters and files hold: the assertions of a
contract, and the results of its test as their run events.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from datahub.emitter.mcp import MetadataChangeProposalWrapper as Proposal
from datahub.metadata import schema_classes as dh

from airflow_provider_odf.contract.report import query_of
from airflow_provider_odf.datahub import assertions
from airflow_provider_odf.datahub.assertions import Target
from airflow_provider_odf.datahub.schema import assertion_urn, dataset_urn, platform_of, schema_fields, schema_metadata
from airflow_provider_odf.lineage.dataset import Subject
from airflow_provider_odf.protocol import Check, CheckResult, Contract, ContractReport

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
        error=dh.AssertionResultErrorClass(type=_error_type(check, result), properties={"message": result.reason})
        if result.outcome == "error"
        else None,
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


@dataclass(frozen=True)
class Options:
    """Options of an installation. ``instance`` is the name of the platform's instance, empty for none; ``env`` is
    DataHub's environment of datasets."""

    env: str = "PROD"
    instance: str = ""
    raises_incidents: bool = True


@dataclass(frozen=True)
class Assertions:
    """The assertions of a contract on a dataset, with the results of a run."""

    contract: Contract
    report: ContractReport
    subject: Subject
    run: Run
    options: Options = Options()

    @cached_property
    def dataset(self) -> str:
        """The URN of the dataset."""
        return dataset_urn(self.subject.edition_names.primary, self.options.env)

    @cached_property
    def urns(self) -> tuple[str, ...]:
        """The URNs of the clauses, in the order of the contract."""
        return tuple(assertion_urn(self.contract.id, self.dataset, c.path) for c in self.contract.checks)

    def proposals(self, former: Collection[str] = ()) -> Iterator[Proposal]:
        """Yield the proposals. ``former`` are the URNs of the clauses at the last run: those that left the contract are
        removed."""
        target = Target.of(self.dataset, self.subject.alias, self.subject.columns)
        results = {result.path: result for result in self.report.results}
        platform = assertions.platform_instance(self.options.instance)
        for urn, check in zip(self.urns, self.contract.checks, strict=True):
            aspects: Sequence[dh._Aspect] = (
                assertions.info(check, self.contract, target),
                platform,
                assertions.actions(check, raises_incidents=self.options.raises_incidents),
                dh.StatusClass(removed=False),
            )
            yield from Proposal.construct_many(urn, aspects)
            if (result := results.get(check.path)) is not None:
                event = run_event(urn, self.dataset, check, result, self.report, self.run)
                yield Proposal(entityUrn=urn, aspect=event)
        for urn in sorted({*former} - {*self.urns}):
            yield Proposal(entityUrn=urn, aspect=dh.StatusClass(removed=True))

    def _tags(self) -> dict[str, list[str]]:
        """Return the tags of columns: ``pii``, ``classification: secret``."""
        columns = {column.name: self.subject.tags(column.name) for column in self.subject.columns}
        return {
            name: [key if value == "true" else f"{key}: {value}" for key, value in tags]
            for name, tags in columns.items()
            if tags
        }

    def dataset_aspects(self) -> dict[str, Proposal]:
        """Return the proposals about the dataset itself, by the names of their aspects; for a server without them."""
        subject, urn = self.subject, self.dataset
        properties = dh.DatasetPropertiesClass(
            name=subject.alias.rpartition("/")[2],
            qualifiedName=subject.alias,
            description=subject.description,
            customProperties={"odf.store": subject.store, **({"odf.id": subject.id} if subject.id else {})},
        )
        schema = schema_metadata(subject.alias, platform_of(urn), schema_fields(subject.columns, self._tags()))
        aspects = [properties, schema] if subject.columns else [properties]
        return {aspect.ASPECT_NAME: Proposal(entityUrn=urn, aspect=aspect) for aspect in aspects}
