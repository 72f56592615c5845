"""Temporal tables of Flink: the versions of each key, from the records of an input.

A record that adds a row (+A, +C) begins a version at its event time. The next record of the key that adds or retracts
a row (-R) ends it. Of records with one event time, the last one counts: of a root by offset, of a derivative by its
columns, because its offsets depend on how its inputs arrived. Of a derivative, the view has only the current rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from airflow_provider_odf.dialect.engine import Translator
from airflow_provider_odf.dialect.place import Refusal
from airflow_provider_odf.dialect.spark import Output, Value
from airflow_provider_odf.dialect.types import Columns, Scope
from airflow_provider_odf.merge_strategies import CORRECT_FROM, PRESENT

if TYPE_CHECKING:
    from airflow_provider_odf.dialect.tables import Tables, TemporalTable

RECORDS = "odf:records:"
"""Prefix of the views with all records of inputs."""
_UNTIL = "odf:until"
_CHANGES_THE_TABLE = "it must be an input of the transform, in temporalTables with its primaryKey"


@dataclass(frozen=True)
class Versions:
    """A query for all versions of a temporal table, and the columns of the table."""

    table: TemporalTable
    columns: Columns

    @property
    def sql(self) -> exp.Query:
        offset, op, _, event_time = map(_quote, self.table.vocab.columns)
        keys = ", ".join(map(_quote, self.table.primary_key))
        order = ", ".join((event_time, *map(_quote, self.table.order), offset))
        until = f"lead({event_time}) OVER (PARTITION BY {keys} ORDER BY {order}) AS {_quote(_UNTIL)}"
        records = exp.select("*", until, dialect=Output).from_(_quote(RECORDS + self.table.name), dialect=Output)
        numbered = records.where(f"{op} <> {CORRECT_FROM}", dialect=Output)
        return exp.select("*").from_(numbered.subquery()).where(f"{op} IN {PRESENT}", dialect=Output)

    def valid_at(self, time: Value, alias: str) -> list[exp.Expr]:
        """Return the conditions that a version, in the table ``alias``, is valid at a time."""
        begin = exp.column(self.table.vocab.event_time_column, alias, quoted=True)
        until = exp.column(_UNTIL, alias, quoted=True)
        is_last = exp.Is(this=until, expression=exp.Null())
        return [
            exp.LTE(this=begin, expression=time.sql.copy()),
            exp.Paren(this=exp.Or(this=is_last, expression=exp.LT(this=time.sql.copy(), expression=until.copy()))),
        ]


def of(queries: Tables, node: exp.Table) -> Versions:
    """Return the versions of the table in ``table FOR SYSTEM_TIME AS OF …``.

    :raises Refusal: the table has no versions."""
    name, columns = queries.table(node)
    table = (queries.temporal_tables or {}).get(name.lower())
    if table is None:
        raise Refusal(node, f"{name} has no versions for FOR SYSTEM_TIME AS OF", _CHANGES_THE_TABLE)
    return Versions(table, columns)


def time(t: Translator, node: exp.Table) -> Value:
    """Return the time in FOR SYSTEM_TIME AS OF, a column of the left side."""
    version = node.args["version"]
    if version.args.get("kind") != "AS OF" or not isinstance(version.expression, exp.Column):
        raise Refusal(node, "FOR SYSTEM_TIME AS OF needs an event time column of the left side")
    value = t.expression(version.expression)
    if not value.type.is_time:
        raise Refusal(version.expression, f"FOR SYSTEM_TIME AS OF needs a DATE or TIMESTAMP, not {value.type}")
    return value


def require_key(node: exp.Expr, on: Sequence[exp.Expr], versions: Versions, left: Scope, alias: str) -> None:
    """:raises Refusal: ON does not compare every column of the primary key with the left side."""
    sides = [(c.this, c.expression) for c in on if isinstance(c, exp.EQ)]
    pairs = [pair for a, b in sides for pair in ((a.unnest(), b.unnest()), (b.unnest(), a.unnest()))]

    def is_of_table(column: exp.Expr) -> bool:
        if not isinstance(column, exp.Column):
            return False
        return column.table.lower() == alias.lower() if column.table else left.type_of(column.name) is None

    for key in versions.table.primary_key:
        others = [o for column, o in pairs if is_of_table(column) and column.name.lower() == key.lower()]
        if not any(not any(map(is_of_table, other.find_all(exp.Column))) for other in others):
            name = versions.table.name
            raise Refusal(node, f"ON must compare {key}, of the primary key of {name}, with the left side by =")


def _quote(name: str) -> str:
    return exp.to_identifier(name, quoted=True).sql("spark")
