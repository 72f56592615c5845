"""A compiled data contract and its report. ODF leaves contracts to the coordinator."""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass
from typing import Any, TypeAlias

from airflow_provider_odf.protocol.data import DatasetVocabulary, HistorySlice, MergeStrategy

JsonObject: TypeAlias = dict[str, Any]

FAILED_CLAUSES = "failed_clauses"
"""Column of failing rows with the pointers of the clauses that they fail."""

SERVICE_LEVEL = "service_level_"
"""Beginning of the kinds of checks of service levels."""


@dataclass(frozen=True)
class Check:
    """One compiled clause of a contract.

    ``path`` is the JSON pointer of the clause in the contract: unique, and stable between runs and machines. ``line``
    is where the clause is written, counted from 1. ``field`` is the dotted path of a column or nested field
    (``lines[].sku``, ``names{value}``). ``columns`` are the paths of a key. ``kind`` is a kind of the engine
    (`clauses.KINDS`), and ``arguments`` depend on it: ``{"type": "long"}``, ``{"values": [...]}``,
    ``{"limit": 5}``.

    With an ``outcome`` (error, unsupported or informational), the clause is reported without a test, and ``reason``
    says why.
    """

    path: str
    kind: str
    description: str
    field: str | None = None
    columns: tuple[str, ...] = ()
    arguments: JsonObject = dataclasses.field(default_factory=dict)
    severity: str = "error"
    model: str = ""
    line: int = 0
    is_sensitive: bool = False
    outcome: str = ""
    reason: str = ""

    @property
    def targets(self) -> tuple[str, ...]:
        """The columns that a reference leads to: ``orders.order_id``."""
        targets = self.arguments.get("targets") or [self.arguments.get("target", "")]
        return tuple(map(str, targets))


@dataclass(frozen=True)
class RelatedDataset:
    """The history of another dataset that references name by its model, in lower case.

    ``merge`` is None for a derivative. Values of ``sensitive_columns`` must not be in messages.
    """

    model: str
    vocab: DatasetVocabulary
    history: tuple[HistorySlice, ...]
    merge: MergeStrategy | None = None
    schema: str | None = None
    sensitive_columns: tuple[str, ...] = ()


@dataclass(frozen=True)
class Contract:
    """A compiled data contract.

    ``digest`` is the SHA-256 of the contract file. It shows whether a report belongs to this version of the file.
    ``model`` is the model of a dataset, empty if ``checks`` are of several models. ``related`` are set for a request.
    ``sensitive_columns`` are columns whose values reports do not show, beside those of sensitive checks; ``*`` are all.
    """

    id: str
    model: str
    digest: str
    checks: tuple[Check, ...]
    version: str = ""
    title: str = ""
    specification: str = ""
    related: tuple[RelatedDataset, ...] = ()
    sensitive_columns: tuple[str, ...] = ()

    def named_models(self) -> set[str]:
        """Return the models that references, and perhaps queries, name, in lower case."""
        checks = [check for check in self.checks if not check.outcome]
        targets = {target.partition(".")[0].lower() for check in checks for target in check.targets if target}
        queries = "\n".join(str(check.arguments.get("query", "")) for check in checks)
        words = re.findall(r"(?:\bfrom|\bjoin|,)\s*`?([\w.-]+)", queries, re.IGNORECASE)
        return targets | {word.lower() for word in words}


@dataclass(frozen=True)
class CheckResult:
    """Result of one clause; its first fields are those of the `Check`.

    ``outcome`` is pass, fail, error, unsupported or informational, and ``reason`` says why. ``observed`` is what the
    data has: a type, a number, values of failing rows. ``rows`` is the number of tested rows and ``failed_rows`` the
    number of failing ones, if the clause tests rows. ``offsets`` has offsets of failing rows, not always of all.
    ``samples`` has some failing rows: the key and the tested columns, with sensitive values masked.
    """

    path: str
    kind: str
    outcome: str
    description: str
    field: str | None = None
    severity: str = "error"
    model: str = ""
    line: int = 0
    reason: str = ""
    expected: str = ""
    observed: str = ""
    rows: int | None = None
    failed_rows: int | None = None
    offsets: tuple[int, ...] = ()
    samples: tuple[JsonObject, ...] = ()

    @property
    def is_enforced(self) -> bool:
        """Whether the clause was tested, or would have been without an error."""
        return self.outcome not in ("unsupported", "informational")

    @property
    def is_warning(self) -> bool:
        """Whether the clause is broken, but blocks no publication: it fails with severity warning, or is a service
        level of that severity. A rule that cannot be evaluated blocks with any severity."""
        can_warn = self.outcome == "fail" or (self.outcome == "error" and self.kind.startswith(SERVICE_LEVEL))
        return can_warn and self.severity != "error"


@dataclass(frozen=True)
class ContractReport:
    """Report of a contract.

    Values of ``sensitive_columns`` must not be shown with the report.
    """

    contract: str
    digest: str
    model: str
    results: tuple[CheckResult, ...]
    tested_rows: int = 0
    sensitive_columns: tuple[str, ...] = ()
    specification: str = ""

    @property
    def broken(self) -> tuple[CheckResult, ...]:
        """The results that block a publication."""
        return tuple(r for r in self.results if r.outcome in ("error", "fail") and not r.is_warning)

    @property
    def result(self) -> str:
        """The worst of error > failed > warning > passed."""
        if broken := {result.outcome for result in self.broken}:
            return "error" if "error" in broken else "failed"
        return "warning" if any(result.is_warning for result in self.results) else "passed"


@dataclass(frozen=True)
class Source:
    """Data of a model outside of datasets: files, or a table of a database.

    ``format`` is csv, json, ndjson, parquet, or another format of a Spark reader. ``options`` are options of the
    reader; for ``jdbc`` they include credentials. ``install`` is the Maven artifact that Spark needs to read them.
    ``problem`` says why the data cannot be read.
    """

    model: str
    format: str = ""
    paths: tuple[str, ...] = ()
    options: JsonObject = dataclasses.field(default_factory=dict)
    install: str = ""
    problem: str = ""
