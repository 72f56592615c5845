"""A contract report as a page: what failed comes first, with failing rows; then what is not enforced, then the rest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from airflow_provider_odf.contract.report import counts, state, worst_first
from airflow_provider_odf.wording import counted

if TYPE_CHECKING:
    from airflow_provider_odf.cycle.rejected import Record
    from airflow_provider_odf.protocol import CheckResult, ContractReport

_VERDICTS = {
    "passed": "All enforced clauses passed.",
    "warning": "Clauses of severity warning failed. They do not block publication.",
    "failed": "Clauses failed. The new data was not published.",
    "error": "Some clauses could not be evaluated. The new data was neither published nor rejected: correct the errors "
    "below, then run the dataset again.",
}

_STYLE = """
:root { color-scheme: light dark; --line: #8884; --soft: #8881;
  --fail: #c62828; --error: #8e24aa; --warning: #b26a00; --pass: #2e7d32; --none: #607d8b; }
@media (prefers-color-scheme: dark) { :root { --fail: #ef6a6a; --error: #ce7ae0; --warning: #f0ad4e; --pass: #66bb6a;
  --none: #9fb3bd; } }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1.5rem; }
h1 { font-size: 1.4rem; margin: 0 0 .5rem; } h2 { font-size: 1.1rem; margin: 2rem 0 .6rem; }
h3 { font-size: 1rem; margin: 0; display: inline; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; margin: 1rem 0; }
dt { color: var(--none); } dd { margin: 0; overflow-wrap: anywhere; }
code, td.value { font: .88em ui-monospace, monospace; }
.badge { border-radius: .3rem; color: #fff; padding: .1rem .5rem; font-size: .85rem; font-weight: 600; }
.fail, .failed, .held { background: #c62828; } .error { background: #8e24aa; } .warning { background: #b26a00; }
.pass, .passed { background: #2e7d32; } .unsupported, .informational { background: #607d8b; }
.lead { font-size: 1.05rem; }
article { border: 1px solid var(--line); border-left: 4px solid var(--none); border-radius: .4rem; margin: .8rem 0;
  padding: .8rem 1rem; }
article.is-fail { border-left-color: var(--fail); } article.is-error { border-left-color: var(--error); }
article.is-warning { border-left-color: var(--warning); }
article dl { margin: .5rem 0 0; }
.scroll { overflow-x: auto; margin-top: .7rem; }
table { border-collapse: collapse; width: 100%; }
th, td { border-bottom: 1px solid var(--line); padding: .3rem .8rem .3rem 0; text-align: left; vertical-align: top; }
th { color: var(--none); font-weight: 500; } .samples { width: auto; background: var(--soft); }
.samples th, .samples td { padding: .25rem .8rem; white-space: pre; } .null { color: var(--none); font-style: italic; }
.number { text-align: right; font-variant-numeric: tabular-nums; }
summary { cursor: pointer; font-size: 1.1rem; font-weight: 600; margin: 2rem 0 .6rem; }
"""


def page(dataset: str, block_hash: str, record: Record) -> str:
    """Return the page of a candidate that was tested or held back, as an HTML document."""
    report = record.report
    title = f"Contract report of {dataset}" if report else f"Input of {dataset}"
    return "".join(
        [
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body>",
            f"<h1>{escape(title)}</h1>",
            *_held(record.held),
            *(_report(report, block_hash, record.records) if report else [_facts({"Block": _code(block_hash)})]),
            "</body></html>",
        ]
    )


def _held(reasons: Sequence[str]) -> Iterator[str]:
    if reasons:
        yield f'<p class="lead">{_badge("held")} The input was held back and not published.</p><ul>'
        yield from (f"<li>{escape(reason)}</li>" for reason in reasons)
        yield "</ul>"


def _report(report: ContractReport, block_hash: str, records: int) -> Iterator[str]:
    verdict = _VERDICTS[report.result]
    yield f'<p class="lead">{_badge(report.result)} {verdict}</p><p>{escape(counts(report))}</p>'
    yield _facts(
        {
            "Contract": escape(report.contract),
            "Specification": escape(report.specification),
            "Model": escape(report.model),
            "Block": _code(block_hash),
            "New records": f"{records:,}",
            "Tested rows": f"{report.tested_rows:,}",
        }
    )
    ordered = worst_first(report.results)
    broken = [r for r in ordered if r.outcome in ("error", "fail")]
    if broken:
        yield "<h2>Did not pass</h2>"
        yield from map(_broken, broken)
    yield from _not_enforced([r for r in ordered if not r.is_enforced])
    yield from _passed([r for r in ordered if r.outcome == "pass"])


def _broken(result: CheckResult) -> str:
    kind = state(result)
    failing = None
    if result.failed_rows is not None:
        of = f" of {result.rows:,}" if result.rows is not None else ""
        failing = f"{counted(result.failed_rows, 'row')}{of}"
    facts = {
        "Reason": escape(result.reason),
        "Expected": escape(result.expected),
        "Found": escape(result.observed),
        "Failing": failing,
        "Clause": _clause(result),
    }
    head = f"{_badge(kind)} <h3>{escape(result.description)}</h3>"
    return f'<article class="is-{kind}">{head}{_facts(facts)}{_samples(result.samples)}</article>'


def _samples(samples: Sequence[Mapping[str, Any]]) -> str:
    """Return failing rows; sensitive values in them are masked already."""
    if not samples:
        return ""
    names = list(dict.fromkeys(name for sample in samples for name in sample))
    rows = ([_value(sample[name]) if name in sample else "<td></td>" for name in names] for sample in samples)
    return f'<div class="scroll">{_table(names, rows, "samples")}</div>'


def _value(value: object) -> str:
    return '<td class="value null">null</td>' if value is None else f'<td class="value">{escape(str(value))}</td>'


def _not_enforced(results: Sequence[CheckResult]) -> Iterator[str]:
    if results:
        yield "<h2>Not enforced</h2><p>These clauses were not tested, and the data may violate them.</p>"
        rows = (
            [
                f"<td>{_badge(r.outcome)}</td>",
                f"<td>{escape(r.description)}</td>",
                f"<td>{escape(r.reason)}</td>",
                f"<td>{_clause(r)}</td>",
            ]
            for r in results
        )
        yield f'<div class="scroll">{_table(("", "Clause", "Reason", "Place"), rows)}</div>'


def _passed(results: Sequence[CheckResult]) -> Iterator[str]:
    if results:
        yield f"<details><summary>Passed: {counted(len(results), 'clause')}</summary>"
        rows = (
            [
                f"<td>{escape(r.description)}</td>",
                f"<td>{escape(r.observed or r.reason)}</td>",
                f'<td class="number">{"" if r.rows is None else f"{r.rows:,}"}</td>',
                f"<td>{_clause(r)}</td>",
            ]
            for r in results
        )
        yield f'<div class="scroll">{_table(("Clause", "Found", "Rows", "Place"), rows)}</div></details>'


def _clause(result: CheckResult) -> str:
    line = f" line {result.line}" if result.line else ""
    return f"{_code(result.path)}{line}"


def _table(names: Iterable[str], rows: Iterable[Iterable[str]], kind: str = "") -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    body = "".join(f"<tr>{''.join(cells)}</tr>" for cells in rows)
    opening = f'<table class="{kind}">' if kind else "<table>"
    return f"{opening}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _facts(facts: Mapping[str, str | None]) -> str:
    """Return a list of names and HTML; empty values are left out."""
    items = "".join(f"<dt>{name}</dt><dd>{value}</dd>" for name, value in facts.items() if value)
    return f"<dl>{items}</dl>"


def _badge(kind: str) -> str:
    words = {"fail": "failed", "pass": "passed", "held": "held back"}
    return f'<span class="badge {kind}">{words.get(kind, kind)}</span>'


def _code(text: str) -> str:
    return f"<code>{escape(text)}</code>"
