"""A data contract as it is tested, and what the test found. ODF leaves contracts to the coordinator."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

JsonObject: TypeAlias = dict[str, Any]


@dataclass(frozen=True)
class Check:
    """One clause of a contract, compiled. ``key`` is unique in the contract and stable between runs.

    ``kind``: field_present, field_type, required, unique, primary_key, enum, pattern, min_length, max_length, minimum,
    maximum, exclusive_minimum, exclusive_maximum; or ``unsupported`` and ``informational``, which are reported as they
    are. ``arguments`` depend on the kind: ``{"type": "BIGINT"}``, ``{"values": [...]}``, ``{"pattern": "..."}``,
    ``{"limit": 5}``.
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
    """A compiled data contract. ``digest`` is the SHA-256 of the contract file: it tells whether a report is of this
    text."""

    id: str
    model: str
    digest: str
    checks: tuple[Check, ...]
    version: str = ""
    title: str = ""


@dataclass(frozen=True)
class CheckResult:
    """``outcome`` is pass, fail, error, unsupported or informational; ``failed_rows`` counts rows where that has a
    meaning; ``offsets`` are those of failed rows, not necessarily of all."""

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
    """What came of a contract on a candidate. ``result`` is the worst of error > failed > warning > passed.

    Values of ``sensitive_columns`` must not be shown beside the report."""

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
