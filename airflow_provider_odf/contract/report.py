"""A contract report for readers and programs: its JSON, its exit code, its text for logs, its JUnit XML for build
servers, and the folder with its failing rows.

``docs/contract-report.schema.json`` is the schema of the JSON. In the text, errors and failed clauses come first, and
clauses that passed are one line. In JUnit XML a clause is a test case, of the class of its model. A failing clause of
severity warning is skipped with its reason, and so is one that is not enforced: neither breaks a build, and both are
visible.
"""

from __future__ import annotations

import re
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.protocol import FAILED_CLAUSES, Check, CheckResult, ContractReport
from airflow_provider_odf.wording import counted, table

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


_KEYS = ("path", "line", "kind", "model", "field", "description", "severity")


def clause(of: Check | CheckResult) -> dict[str, Any]:
    """Return what documents say of a clause, tested or not."""
    return {key: getattr(of, key) for key in _KEYS} | {"model": of.model or None}


def _check(result: CheckResult) -> dict[str, Any]:
    return {
        **clause(result),
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


_LONGEST_VALUE = 60
"""Maximum number of characters of a value in a table."""

_LONGEST_CLAUSE = 100
"""Maximum number of characters of a clause in a table: a query has no limit."""

_LONGEST_REASON = 500
"""Maximum number of characters of the reason why a clause could not be evaluated."""

_NAMES = ("outcome", "clause", "expected", "found", "rows", "failed", "line")


def lines(report: ContractReport, subject: str) -> Iterator[str]:
    """Yield the lines of a report; ``subject`` is the dataset or the data that was tested."""
    yield f"contract {report.contract} on {subject}: {report.result} ({counts(report)})"
    ordered = worst_first(report.results)
    if errors := [r for r in ordered if r.outcome == "error"]:
        yield ""
        yield from table(("outcome", "clause", "line", "reason"), [*_error_rows(errors)])
    if failed := [r for r in ordered if r.outcome == "fail"]:
        yield ""
        yield from table(_NAMES, [_cells(result) for result in failed])
        for result in failed:
            yield from _samples(result)
    if untested := [r for r in ordered if not r.is_enforced]:
        yield ""
        rows = [(r.outcome, _clause(r), _plain(r.reason)) for r in untested]
        yield from table((NOT_ENFORCED, "clause", "reason"), rows)
    if passed := [r for r in ordered if r.outcome == "pass"]:
        yield ""
        yield f"passed: {counted(len(passed), 'clause')}"


def _error_rows(errors: Iterable[CheckResult]) -> Iterator[Sequence[str]]:
    """Yield one row for all clauses of a model with the same reason: unreadable data is one problem, not one of each
    clause."""
    groups: dict[tuple[str, str, str], list[CheckResult]] = {}
    for error in errors:
        groups.setdefault((state(error), error.model, error.reason or error.observed), []).append(error)
    for (outcome, model, reason), (first, *others) in groups.items():
        more = f", and {counted(len(others), 'other clause')} of {model or 'the contract'}" if others else ""
        yield outcome, _clause(first) + more, str(first.line or ""), _cut(reason, _LONGEST_REASON)


def _cells(result: CheckResult) -> Sequence[str]:
    numbers = (result.rows, result.failed_rows, result.line or None)
    texts = (state(result), _clause(result), _cut(result.expected), _cut(result.observed or result.reason))
    return *texts, *("" if number is None else str(number) for number in numbers)


def _clause(result: CheckResult) -> str:
    return _cut(result.description, _LONGEST_CLAUSE)


def _samples(result: CheckResult) -> Iterator[str]:
    """Yield the failing rows that the report has, with their values."""
    if not result.samples:
        return
    names = tuple(dict.fromkeys(name for sample in result.samples for name in sample))
    cells = [[_cut(_shown(sample.get(name))) for name in names] for sample in result.samples]
    yield ""
    yield f"failing rows: {_clause(result)}"
    yield from (f"  {line}" for line in table(names, cells))


def _plain(text: str) -> str:
    """Return a text in one line: values of data may have line breaks and control characters."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def _cut(text: str, limit: int = _LONGEST_VALUE) -> str:
    plain = _plain(text)
    return plain if len(plain) <= limit else f"{plain[: limit - 1]}…"


_ELEMENTS = {
    "fail": "failure",
    "error": "error",
    **dict.fromkeys(("warning", "unsupported", "informational"), "skipped"),
}
_INVALID = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML cannot represent."""


def as_junit(report: ContractReport, file: str = "") -> str:
    """Return a report as an XML document; ``file`` is the path of the contract."""
    number = Counter(_ELEMENTS.get(state(result)) for result in report.results)
    totals = {
        "tests": str(len(report.results)),
        "failures": str(number["failure"]),
        "errors": str(number["error"]),
        "skipped": str(number["skipped"]),
    }
    root = ET.Element("testsuites", {"name": _clean(report.contract), **totals})
    suite = ET.SubElement(root, "testsuite", {"name": _clean(report.contract), **totals})
    for result in report.results:
        _case(suite, result, report, file)
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _case(suite: ET.Element, result: CheckResult, report: ContractReport, file: str) -> None:
    place = {"file": file, "line": str(result.line)} if file and result.line else {}
    model = result.model or report.model or "contract"
    name = {"classname": f"{report.contract}.{model}", "name": f"{result.description} ({result.path})"}
    case = ET.SubElement(suite, "testcase", {key: _clean(text) for key, text in name.items()} | place)
    if (element := _ELEMENTS.get(state(result))) is not None:
        prefix = f"{NOT_ENFORCED}: " if not result.is_enforced else "warning: " if result.is_warning else ""
        message = _clean(f"{prefix}{result.reason or result.observed}")
        ending = ET.SubElement(case, element, {"message": message, "type": result.kind})
        ending.text = _clean(_details(result)) or None


def _details(result: CheckResult) -> str:
    """Return what was expected and found, and some failing rows."""
    if not result.is_enforced:
        return ""
    lines = [f"{name}: {text}" for name, text in (("expected", result.expected), ("found", result.observed)) if text]
    if result.failed_rows is not None:
        of = f" of {result.rows}" if result.rows is not None else ""
        lines.append(f"failing: {counted(result.failed_rows, 'row')}{of}")
    lines += [", ".join(f"{name}={_shown(value)}" for name, value in sample.items()) for sample in result.samples]
    return "\n".join(lines)


def _shown(value: object) -> str:
    return "null" if value is None else str(value)


def _clean(text: str) -> str:
    return _INVALID.sub("\ufffd", text)


def remove_earlier(folder: Path, models: Iterable[str]) -> None:
    """Remove the failing rows of earlier tests: a test that passes would leave them as if they were its own.

    :raises InvalidInput: the folder is a file, or it has other data in the place of failing rows. Nothing is removed.
    """
    if folder.exists() and not folder.is_dir():
        raise InvalidInput(f"--failed-rows {folder} is not a folder: choose a folder")
    earlier = [path for path in (folder / model for model in models) if path.exists()]
    for path in earlier:
        if not path.is_dir() or not all(map(_has_failing_rows, path.iterdir())):
            message = f"--failed-rows {folder}: {path} has other data than failing rows: choose another folder"
            raise InvalidInput(message)
    for path in earlier:
        shutil.rmtree(path)


def _has_failing_rows(file: Path) -> bool:
    import pyarrow as pa
    import pyarrow.parquet as pq

    if file.suffix == ".crc" or file.name == "_SUCCESS":
        return True
    try:
        return FAILED_CLAUSES in pq.read_schema(file).names
    except (OSError, pa.ArrowException):
        return False
