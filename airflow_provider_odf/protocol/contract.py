"""A compiled data contract and its report. ODF leaves contracts to the coordinator."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

JsonObject: TypeAlias = dict[str, Any]


@dataclass(frozen=True)
class Check:
    """One compiled clause of a contract. ``key`` is unique in the contract and stable between runs.

    ``kind`` is field_present, field_type, required, unique, primary_key, additional_fields, enum, pattern, min_length,
    max_length, minimum, maximum, exclusive_minimum or exclusive_maximum. The kinds ``unsupported`` and
    ``informational`` are reported without a test. ``arguments`` depend on the kind: ``{"type": "BIGINT"}``,
    ``{"values": [...]}``, ``{"pattern": "..."}``, ``{"limit": 5}``.
    """

    key: str
    kind: str
    description: str
    column: str | None = None
    columns: tuple[str, ...] = ()
    arguments: JsonObject = field(default_factory=dict)
    severity: str = "error"


@dataclass(frozen=True)
class Contract:
    """A compiled data contract.

    ``digest`` is the SHA-256 of the contract file. It shows whether a report belongs to this version of the file.
    """

    id: str
    model: str
    digest: str
    checks: tuple[Check, ...]
    version: str = ""
    title: str = ""


@dataclass(frozen=True)
class CheckResult:
    """Result of one clause.

    ``outcome`` is pass, fail, error, unsupported or informational. ``failed_rows`` is the number of failing rows, if
    the clause tests rows. ``offsets`` has offsets of failing rows, not always of all.
    """

    key: str
    outcome: str
    description: str
    column: str | None = None
    severity: str = "error"
    expected: str = ""
    actual: str = ""
    failed_rows: int | None = None
    offsets: tuple[int, ...] = ()


@dataclass(frozen=True)
class ContractReport:
    """Report of a contract on a candidate. ``result`` is the worst of error > failed > warning > passed.

    Values of ``sensitive_columns`` must not be shown with the report.
    """

    contract: str
    digest: str
    model: str
    results: tuple[CheckResult, ...]
    tested_rows: int = 0
    sensitive_columns: tuple[str, ...] = ()

    @property
    def result(self) -> str:
        outcomes = {(r.outcome, r.severity) for r in self.results}
        if any(outcome == "error" for outcome, _ in outcomes):
            return "error"
        if ("fail", "error") in outcomes:
            return "failed"
        return "warning" if any(outcome == "fail" for outcome, _ in outcomes) else "passed"
