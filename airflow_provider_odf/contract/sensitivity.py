"""Which columns of a dataset are sensitive: its contract marks them, or they are made of sensitive columns."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from airflow_provider_odf.contract.load import ContractFile
    from airflow_provider_odf.contract.model import Field, Model


MASKED = "***"
"""What is shown in place of a value of a sensitive column."""


def masked(row: Mapping[str, Any], sensitive: Collection[str]) -> dict[str, Any]:
    """Return a row with the values of sensitive columns masked; nulls stay.

    :param sensitive: names of columns in lower case.

    >>> masked({"id": 1, "Mail": "a@b.org", "phone": None}, {"mail", "phone"})
    {'id': 1, 'Mail': '***', 'phone': None}
    """
    if not sensitive:
        return dict(row)
    return {n: MASKED if value is not None and n.lower() in sensitive else value for n, value in row.items()}


EVERY_COLUMN = "*"
"""Stands for all columns of a dataset whose columns are not known yet."""

UNNAMED = "classification=sensitive"
"""Label of a column that is sensitive, of which nothing more is known."""


@dataclass(frozen=True)
class Sensitivity:
    """Labels of sensitive columns, by name in lower case: ``pii=true``, ``classification=secret``. ``public`` are the
    columns of which the contract says that they are not sensitive, in lower case."""

    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    public: tuple[str, ...] = ()

    def of(self, column: str) -> tuple[str, ...]:
        """Return the labels of a column; none if it is not sensitive."""
        name = column.lower()
        return self.labels.get(name) or (() if name in self.public else self.labels.get(EVERY_COLUMN, ()))

    def among(self, columns: Iterable[str]) -> frozenset[str]:
        """Return the sensitive ones of some columns, in lower case."""
        return frozenset(name.lower() for name in columns if self.of(name))

    def with_inherited(self, labels: Mapping[str, Collection[str]]) -> Sensitivity:
        """Return it with the labels that columns inherit, unless the contract says that they are not sensitive."""
        inherited = {name: of for name, of in labels.items() if name not in self.public and of}
        every = {name: tuple(sorted({*self.labels.get(name, ()), *of})) for name, of in inherited.items()}
        return replace(self, labels={**self.labels, **every})


def of_model(model: Model) -> Sensitivity:
    """Return what a model says. A column with a sensitive field inside is sensitive as a whole."""
    labels = {column.name.lower(): tuple(sorted(_labels(column))) for column in model.fields if column.is_sensitive}
    public = (column for column in model.fields if column.is_marked_public and not column.is_sensitive)
    return Sensitivity(labels, tuple(column.name.lower() for column in public))


def _labels(column: Field) -> set[str]:
    own = {"pii=true"} if column.value("pii") else set()
    if column.is_classified_sensitive:
        own.add(f"classification={str(column.value('classification')).lower()}")
    return own.union(*(_labels(child) for _, child in column.children))


def marked(file: ContractFile, model_name: str, sensitivity: Sensitivity) -> ContractFile:
    """Return the contract with all sensitive columns of a model marked, so that each of its clauses knows them."""
    models = (_marked(model, sensitivity) if model.name == model_name else model for model in file.contract.models)
    return replace(file, contract=replace(file.contract, models=tuple(models)))


def _marked(model: Model, sensitivity: Sensitivity) -> Model:
    from airflow_provider_odf.contract.model import Clause

    def mark(column: Field) -> Field:
        if column.is_sensitive or not sensitivity.of(column.name):
            return column
        pii = Clause("pii", True, f"{column.path}/pii", column.place)
        return replace(column, clauses=(*(c for c in column.clauses if c.name != "pii"), pii))

    return replace(model, fields=tuple(map(mark, model.fields)))
