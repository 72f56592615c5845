"""What came of a contract, for people: one line, or a table with every clause."""

from __future__ import annotations

from collections import Counter
from io import StringIO

from airflow_provider_odf.protocol import CheckResult, ContractReport
from airflow_provider_odf.wording import counted

_ORDER = ("error", "fail", "warning", "pass", "unsupported", "informational")
_WORDS = {"error": "could not be tested", "fail": "failed", "warning": "failed as warnings", "pass": "passed"}
_STYLES = {"error": "bold red", "fail": "red", "warning": "yellow", "pass": "green"}


def summary(report: ContractReport) -> str:
    """One line: the result, how many clauses came out how, and the rows tested.

    >>> summary(ContractReport("orders", "", "orders", (CheckResult("k", "pass", "x"),), 3))
    'contract orders passed on 3 rows: 1 passed'
    """
    outcomes = Counter(map(outcome, report.results))
    counts = [f"{outcomes[name]} {_WORDS.get(name, name)}" for name in _ORDER if outcomes[name]]
    verdict = {"error": "could not be evaluated", "warning": "passed with warnings"}.get(report.result, report.result)
    rows = counted(report.tested_rows, "row")
    return f"contract {report.contract} {verdict} on {rows}: {', '.join(counts) or 'it has no clauses'}"


def outcome(result: CheckResult) -> str:
    """The outcome as shown: a failure that does not count as an error is a warning."""
    return "warning" if result.outcome == "fail" and result.severity != "error" else result.outcome


def failures(report: ContractReport) -> tuple[str, ...]:
    """One line for each clause that failed or could not be tested, the worst first: what it says and what was found."""
    worst = sorted(
        (r for r in report.results if r.outcome in ("error", "fail")), key=lambda r: _ORDER.index(outcome(r))
    )
    return tuple(f"{r.key}: {r.description}: {r.actual}" for r in worst)


def text(report: ContractReport, *, width: int = 120, is_colored: bool = False) -> str:
    """A table of all clauses, in the contract's order, and the summary."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("outcome", "clause", "expected", "found"):
        table.add_column(column, overflow="fold")
    for result in report.results:
        shown = outcome(result)
        table.add_row(
            Text(shown, _STYLES.get(shown, "dim")),
            Text(result.key),
            Text(result.expected or result.description),
            Text(result.actual),
        )
    stream = StringIO()
    console = Console(
        file=stream, width=width, force_terminal=is_colored, color_system="standard" if is_colored else None
    )
    console.print(table)
    lines = [line.rstrip() for line in stream.getvalue().splitlines()]
    return "\n".join([*lines, "", summary(report)])
