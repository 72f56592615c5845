"""Columns that a query sees, with their types. Names ignore case, as in Spark by default."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from airflow_provider_odf import protocol
from airflow_provider_odf.dialect.types import UNKNOWN, Type, column_type

EVERY_COLUMN = "*"
"""Name of a declared column that means all columns not listed, such as the strings of a CSV without schema."""


@dataclass(frozen=True)
class Columns:
    """Columns of a table: those with known names, and the type of all others (None: there are no others)."""

    known: tuple[tuple[str, Type], ...] = ()
    others: Type | None = None

    @classmethod
    def declared(cls, columns: Iterable[protocol.Column] | None) -> Columns:
        if columns is None:
            return cls(others=UNKNOWN)
        types = [(c.name, column_type(c.type)) for c in columns]
        others = [type_ for name, type_ in types if name == EVERY_COLUMN]
        return cls(tuple(item for item in types if item[0] != EVERY_COLUMN), others[0] if others else None)

    def type_of(self, name: str) -> Type | None:
        """Return the type of a column, or None if the table cannot have it."""
        return next((type_ for known, type_ in self.known if known.lower() == name.lower()), self.others)


@dataclass(frozen=True)
class Scope:
    """The tables of a FROM clause by name, and the scope of the outer query."""

    tables: Mapping[str, Columns] = field(default_factory=dict)
    parent: Scope | None = None

    def table(self, name: str) -> Columns | None:
        """Return the columns of a table of this scope or an outer one."""
        for known, columns in self.tables.items():
            if known.lower() == name.lower():
                return columns
        return self.parent.table(name) if self.parent else None

    def type_of(self, name: str) -> Type | None:
        """Return the type of a column without table name, or None if no table can have it."""
        sure = [t for columns in self.tables.values() for n, t in columns.known if n.lower() == name.lower()]
        possible = sure or [c.others for c in self.tables.values() if c.others is not None]
        if possible:
            return possible[0] if len(set(possible)) == 1 else UNKNOWN
        return self.parent.type_of(name) if self.parent else None

    @property
    def names(self) -> list[str]:
        """Names of the known columns, for messages."""
        return [name for columns in self.tables.values() for name, _ in columns.known]
