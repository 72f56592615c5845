"""A contract report as text for logs: the clauses that failed come first, those that passed are one line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from airflow_provider_odf.contract.report import NOT_ENFORCED, counts, state, worst_first
from airflow_provider_odf.protocol import CheckResult, ContractReport
from airflow_provider_odf.text_table import table
from airflow_provider_odf.wording import counted

_MOST = 60
"""Maximum number of characters of a value in a table."""

_NAMES = ("outcome", "clause", "expected", "found", "rows", "failed", "line")


def lines(report: ContractReport, subject: str) -> Iterator[str]:
    """Yield the lines of a report; ``subject`` is the dataset or the data that was tested."""
    yield f"contract {report.contract} on {subject}: {report.result} ({counts(report)})"
    ordered = worst_first(report.results)
    broken = [r for r in ordered if r.outcome in ("error", "fail")]
    if broken:
        yield ""
        yield from table(_NAMES, [_cells(result) for result in broken])
        for result in broken:
            yield from _samples(result)
    if untested := [r for r in ordered if not r.is_enforced]:
        yield ""
        yield from table(
            (NOT_ENFORCED, "clause", "reason"), [(r.outcome, _plain(r.description), _plain(r.reason)) for r in untested]
        )
    if passed := [r for r in ordered if r.outcome == "pass"]:
        yield ""
        yield f"passed: {counted(len(passed), 'clause')}"


def _cells(result: CheckResult) -> Sequence[str]:
    numbers = (result.rows, result.failed_rows, result.line or None)
    texts = (state(result), _plain(result.description), _cut(result.expected), _cut(found(result)))
    return *texts, *("" if number is None else str(number) for number in numbers)


def found(result: CheckResult) -> str:
    """Return what a test found: what it observed, otherwise the reason of its outcome."""
    return result.observed or result.reason


def _samples(result: CheckResult) -> Iterator[str]:
    """Yield the failing rows that the report has, with their values."""
    if not result.samples:
        return
    names = tuple(dict.fromkeys(name for sample in result.samples for name in sample))
    cells = [[_cut(_text(sample.get(name))) for name in names] for sample in result.samples]
    yield ""
    yield f"failing rows: {_plain(result.description)}"
    yield from (f"  {line}" for line in table(names, cells))


def _text(value: object) -> str:
    return "null" if value is None else str(value)


def _plain(text: str) -> str:
    """Return a text in one line: values of data may have line breaks and control characters."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def _cut(text: str) -> str:
    plain = _plain(text)
    return plain if len(plain) <= _MOST else f"{plain[: _MOST - 1]}…"
