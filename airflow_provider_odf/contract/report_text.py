"""A contract report as text for logs: errors and failed clauses come first, clauses that passed are one line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from airflow_provider_odf.contract.report import NOT_ENFORCED, counts, state, worst_first
from airflow_provider_odf.protocol import CheckResult, ContractReport
from airflow_provider_odf.text_table import table
from airflow_provider_odf.wording import counted

_MOST = 60
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
        yield from table(
            (NOT_ENFORCED, "clause", "reason"),
            [(r.outcome, _clause(r), _plain(r.reason)) for r in untested],
        )
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
        yield (
            outcome,
            _clause(first) + more,
            str(first.line or ""),
            _cut(reason, _LONGEST_REASON),
        )


def _cells(result: CheckResult) -> Sequence[str]:
    numbers = (result.rows, result.failed_rows, result.line or None)
    texts = (
        state(result),
        _clause(result),
        _cut(result.expected),
        _cut(result.observed or result.reason),
    )
    return *texts, *("" if number is None else str(number) for number in numbers)


def _clause(result: CheckResult) -> str:
    return _cut(result.description, _LONGEST_CLAUSE)


def _samples(result: CheckResult) -> Iterator[str]:
    """Yield the failing rows that the report has, with their values."""
    if not result.samples:
        return
    names = tuple(dict.fromkeys(name for sample in result.samples for name in sample))
    cells = [[_cut(_text(sample.get(name))) for name in names] for sample in result.samples]
    yield ""
    yield f"failing rows: {_clause(result)}"
    yield from (f"  {line}" for line in table(names, cells))


def _text(value: object) -> str:
    return "null" if value is None else str(value)


def _plain(text: str) -> str:
    """Return a text in one line: values of data may have line breaks and control characters."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def _cut(text: str, most: int = _MOST) -> str:
    plain = _plain(text)
    return plain if len(plain) <= most else f"{plain[: most - 1]}…"
