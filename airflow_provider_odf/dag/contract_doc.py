"""The contract of a dataset in the documentation of its DAG: owner, terms, and each clause with whether it is
enforced."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from airflow_provider_odf.dag.markdown import cell
from airflow_provider_odf.errors import ManifestInvalid

if TYPE_CHECKING:
    from airflow_provider_odf.contract.binding import Location

_MOST = 100
"""Clauses that are listed."""

_LONGEST = 200


def contract_section(location: Location, dataset: str) -> str:
    """Return the section about a contract; of one that is not valid it says so."""
    from airflow_provider_odf.contract.binding import of_dataset
    from airflow_provider_odf.contract.show import terms

    try:
        file = location.load(is_offline=True)
        checks = of_dataset(file, dataset).checks
    except ManifestInvalid as e:
        return f"**Data contract**\n\nThe contract is not valid: {_text(str(e.problems[0]))}"
    about = [f"{label}: {_text(text)}" for label, text in terms(file).items()]
    rows = [(check.description, f"no: {check.reason}" if check.outcome else "yes") for check in checks]
    return "\n".join(["**Data contract**", "", *(f"- {line}" for line in about), "", *_table(rows)])


def _table(rows: list[tuple[str, str]]) -> Iterator[str]:
    yield "| Clause | Enforced |"
    yield "|---|---|"
    for description, enforced in rows[:_MOST]:
        yield f"| {_text(description)} | {_text(enforced)} |"
    if len(rows) > _MOST:
        yield f"| {len(rows) - _MOST} more | |"


def _text(text: str) -> str:
    return cell(text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…")
