"""The tables that queries read, and what their names mean in a place of a query."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from sqlglot import exp

from airflow_provider_odf.dialect.engine import Engine, Translator
from airflow_provider_odf.dialect.place import Refusal
from airflow_provider_odf.dialect.types import Columns, Scope
from airflow_provider_odf.protocol import DatasetVocabulary

T = TypeVar("T", bound="Tables")


@dataclass(frozen=True)
class TemporalTable:
    """An input whose versions can be read: its name, primary key and system columns, and the columns that order records
    of one event time before their offset does."""

    name: str
    primary_key: tuple[str, ...]
    vocab: DatasetVocabulary
    order: tuple[str, ...] = ()


@dataclass(frozen=True)
class Tables(ABC):
    """Inputs, earlier steps and WITH. Keys of ``tables`` are in lower case.

    ``outer`` is the scope of the expression around a query. In transforms, ``temporal_tables`` has the inputs whose
    versions can be read."""

    engine: Engine
    tables: Mapping[str, tuple[str, Columns]]
    outer: Scope | None = None
    temporal_tables: Mapping[str, TemporalTable] | None = None

    def with_table(self: T, name: str, columns: Columns) -> T:
        """Return the same with one more table, which hides another one of this name."""
        others = self.temporal_tables and {n: t for n, t in self.temporal_tables.items() if n != name.lower()}
        return replace(self, tables={**self.tables, name.lower(): (name, columns)}, temporal_tables=others)

    @property
    def is_transform(self) -> bool:
        return self.temporal_tables is not None

    def table(self, node: exp.Expr) -> tuple[str, Columns]:
        """Return name and columns of the table that a node names.

        :raises Refusal: it does not exist."""
        parts = [part.name for part in node.parts] if isinstance(node, exp.Table | exp.Column) else []
        if len(parts) != 1:
            advice = "quote a name with dots as a whole"
            raise Refusal(node, f"table {'.'.join(parts)} does not exist", advice)
        if parts[0].lower() not in self.tables:
            names = ", ".join(name for name, _ in self.tables.values())
            raise Refusal(node, f"table {parts[0]} does not exist", f"tables: {names}")
        return self.tables[parts[0].lower()]

    def translator(self, scope: Scope) -> Translator:
        return Translator(self.engine, scope, self.subquery)

    @abstractmethod
    def subquery(self, node: exp.Expr, scope: Scope) -> tuple[exp.Query, Columns]:
        """Return the translation of a query inside an expression."""

    @abstractmethod
    def query(self, node: exp.Expr, *, is_named: bool = True) -> tuple[exp.Query, Columns]:
        """Return the query for Spark and its columns. With ``is_named`` every column needs a name that the engines
        share.

        :raises Refusal: there is no exact translation."""
