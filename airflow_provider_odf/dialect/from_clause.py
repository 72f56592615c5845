"""Translate FROM and joins: ordinary ones, those that limit the distance of two event times from both sides (interval
joins), and those with the versions of a temporal table.

The watermark decides rows of the last two. A record of a temporal table that adds a row (+A, +C) begins a version at
its event time. The next record of the key that adds or retracts a row (-R) ends it. Of records with one event time, the
last one counts: of a root by offset, of a derivative by its columns, because its offsets depend on how its inputs
arrived. Of a derivative, the view has only the current rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from sqlglot import exp

from airflow_provider_odf.dialect import windows
from airflow_provider_odf.dialect.engine import Translator, refuse_others
from airflow_provider_odf.dialect.expressions import condition
from airflow_provider_odf.dialect.parsing import Refusal
from airflow_provider_odf.dialect.spark import Output, Value, sql
from airflow_provider_odf.dialect.types import Columns, Scope, Type
from airflow_provider_odf.dialect.windows import has_passed, microseconds
from airflow_provider_odf.merge_strategies import CORRECT_FROM, PRESENT

if TYPE_CHECKING:
    from airflow_provider_odf.dialect.engine import Tables, TemporalTable

_MILLISECOND = 1000
"""The unit of event times: the distance by which < differs from <=."""


class _Time(NamedTuple):
    """An event time plus microseconds."""

    column: exp.Column
    type: Type
    is_right: bool
    plus: int


def _bounds(conditions: Sequence[exp.Expr], left: Scope, name: str, right: Columns) -> tuple[Value, int, int] | None:
    """Return the bounds of an interval join with the table ``name``, or None if it is an ordinary join: a time of the
    left side, the microseconds after it at which a row is decided, and those after which its results are complete."""
    lowest: dict[tuple[str, str], int] = {}
    highest: dict[tuple[str, str], int] = {}
    for operator, a, b in (c for part in conditions for c in _comparisons(part)):
        first, second = _time(a, left, name, right), _time(b, left, name, right)
        if first is None or second is None or first.is_right == second.is_right:
            continue
        if not first.is_right:
            first, second, operator = second, first, _MIRRORED[operator]
        # right + a < left + b: the right time is less than b - a after the left one.
        key, distance = (second.column.sql(), first.column.sql()), second.plus - first.plus
        if operator in (exp.LT, exp.LTE, exp.EQ):
            upper = distance - _MILLISECOND * (operator is exp.LT)
            highest[key] = min(upper, highest.get(key, upper))
        if operator in (exp.GT, exp.GTE, exp.EQ):
            lower = distance + _MILLISECOND * (operator is exp.GT)
            lowest[key] = max(lower, lowest.get(key, lower))
        if key in lowest and key in highest:
            before = max(first.type.delay or 0, second.type.delay or 0)
            late = max(highest[key], -lowest[key], 0)
            return Value(second.column.copy(), second.type), before + highest[key], before + late
    return None


_MIRRORED: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.LT: exp.GT, exp.LTE: exp.GTE, exp.EQ: exp.EQ, exp.GTE: exp.LTE, exp.GT: exp.LT
}  # fmt: skip


def _comparisons(node: exp.Expr) -> Iterator[tuple[type[exp.Expr], exp.Expr, exp.Expr]]:
    if isinstance(node, exp.Between) and not node.args.get("symmetric"):
        yield exp.GTE, node.this, node.args["low"]
        yield exp.LTE, node.this, node.args["high"]
    elif type(node) in _MIRRORED:
        yield type(node), node.this, node.expression


def _time(node: exp.Expr, left: Scope, name: str, right: Columns) -> _Time | None:
    """Return an event time of one side, with an interval added or not, or None for other expressions."""
    node, plus = node.unnest(), 0
    if isinstance(node, exp.Add) and isinstance(node.this, exp.Interval):
        node = exp.Add(this=node.expression, expression=node.this)
    if isinstance(node, exp.Add | exp.Sub) and isinstance(node.expression, exp.Interval):
        plus = microseconds(node.expression) * (1 if isinstance(node, exp.Add) else -1)
        node = node.this.unnest()
    if not isinstance(node, exp.Column) or len(node.parts) > 2:
        return None
    is_right = node.table.lower() == name.lower() if node.table else left.type_of(node.name) is None
    columns = right if is_right else left.table(node.table) if node.table else left
    type_ = columns.type_of(node.name) if columns else None
    return None if type_ is None or type_.delay is None else _Time(node, type_, is_right, plus)


RECORDS = "odf:records:"
"""Prefix of the views with all records of inputs."""
_UNTIL = "odf:until"


def _temporal_table(queries: Tables, node: exp.Table) -> tuple[TemporalTable, Columns]:
    """Return the table in ``table FOR SYSTEM_TIME AS OF …``.

    :raises Refusal: it has no versions."""
    name, columns = queries.table(node)
    table = (queries.temporal_tables or {}).get(name.lower())
    if table is None:
        advice = "it must be an input of the transform, in temporalTables with its primaryKey"
        raise Refusal(node, f"{name} has no versions for FOR SYSTEM_TIME AS OF", advice)
    return table, columns.delayed(None)


def _versions(table: TemporalTable) -> exp.Query:
    offset, op, _, event_time = map(_quote, table.vocab.columns)
    keys = ", ".join(map(_quote, table.primary_key))
    order = ", ".join((event_time, *map(_quote, table.order), offset))
    until = f"lead({event_time}) OVER (PARTITION BY {keys} ORDER BY {order}) AS {_quote(_UNTIL)}"
    records = exp.select("*", until, dialect=Output).from_(_quote(RECORDS + table.name), dialect=Output)
    numbered = records.where(f"{op} <> {CORRECT_FROM}", dialect=Output)
    return exp.select("*").from_(numbered.subquery()).where(f"{op} IN {PRESENT}", dialect=Output)


def _as_of(t: Translator, node: exp.Table) -> Value:
    """Return the time in FOR SYSTEM_TIME AS OF, a column of the left side."""
    version = node.args["version"]
    if version.args.get("kind") != "AS OF" or not isinstance(version.expression, exp.Column):
        raise Refusal(node, "FOR SYSTEM_TIME AS OF needs an event time column of the left side")
    value = t.expression(version.expression)
    if not value.type.is_time:
        raise Refusal(version.expression, f"FOR SYSTEM_TIME AS OF needs a DATE or TIMESTAMP, not {value.type}")
    return value


def _require_key(node: exp.Expr, on: Sequence[exp.Expr], table: TemporalTable, left: Scope, alias: str) -> None:
    """:raises Refusal: ON does not compare every column of the primary key with the left side."""
    sides = [(c.this, c.expression) for c in on if isinstance(c, exp.EQ)]
    pairs = [pair for a, b in sides for pair in ((a.unnest(), b.unnest()), (b.unnest(), a.unnest()))]

    def is_of_table(column: exp.Expr) -> bool:
        if not isinstance(column, exp.Column):
            return False
        return column.table.lower() == alias.lower() if column.table else left.type_of(column.name) is None

    for key in table.primary_key:
        others = [o for column, o in pairs if is_of_table(column) and column.name.lower() == key.lower()]
        if not any(not any(map(is_of_table, other.find_all(exp.Column))) for other in others):
            message = f"ON must compare {key}, of the primary key of {table.name}, with the left side by ="
            raise Refusal(node, message)


_JOIN_KINDS = {"", "INNER", "OUTER", "CROSS"}
_JOIN_SIDES = {"", "LEFT", "RIGHT", "FULL"}
_NO_HISTORY = "remove temporal joins and time windows"


@dataclass(frozen=True)
class From:
    """The tables of FROM. Rows are decided when all of ``waits`` hold. ``hides`` says that a table has columns besides
    those in the scope."""

    scope: Scope
    waits: tuple[exp.Expr, ...] = ()
    hides: bool = False


@dataclass(frozen=True)
class Relation:
    """A table or query in FROM for Spark, its name or alias, and its columns."""

    sql: exp.Expr
    name: str
    columns: Columns


def translate(queries: Tables, node: exp.Select, select: exp.Select) -> From:
    """Translate FROM and the joins of a SELECT into ``select``.

    :raises Refusal: there is no exact translation."""
    if node.args.get("from_") is None:
        return From(Scope(outer=queries.outer))
    first = _relation(queries, node.args["from_"].this, is_decided=windows.is_decided(node))
    select.set("from_", exp.From(this=first.sql))
    result = From(Scope({first.name: first.columns}, queries.outer))
    for join in node.args.get("joins") or ():
        translated, result = _join(queries, join, result, _parts(node.args.get("where")))
        select.append("joins", translated)
    return result


def _relation(queries: Tables, node: exp.Expr, *, is_decided: bool = False) -> Relation:
    alias = alias_of(node)
    if isinstance(node, exp.Subquery):
        refuse_others(node, {"this", "alias"})
        query, columns = replace(queries, outer=None).query(node.this)
        return Relation(exp.Subquery(this=query, alias=table_alias(alias)), alias, columns)
    if isinstance(node, exp.Table) and isinstance(node.this, exp.Anonymous) and queries.is_transform:
        query, columns = windows.table(queries, node.this, is_decided=is_decided)
        return Relation(exp.Subquery(this=query, alias=table_alias(alias)), alias, columns)
    if not isinstance(node, exp.Table) or not isinstance(node.this, exp.Identifier):
        raise Refusal(node, "FROM supports only tables and queries", "" if queries.is_transform else _NO_HISTORY)
    if node.args.get("version"):
        if queries.is_transform:
            raise Refusal(node, "FOR SYSTEM_TIME AS OF is supported only on the right side of a JOIN")
        message = "FOR SYSTEM_TIME AS OF cannot be used in preprocess, which reads only new data"
        raise Refusal(node, message, _NO_HISTORY)
    refuse_others(node, {"this", "alias", "db"})
    name, columns = queries.table(node)
    return Relation(exp.Table(this=quoted(name), alias=table_alias(alias)), alias or name, columns)


def _join(queries: Tables, node: exp.Join, left: From, where: Sequence[exp.Expr]) -> tuple[exp.Join, From]:
    refuse_others(node, {"this", "side", "kind", "on", "using"})
    side, kind = (node.side or "").upper(), (node.kind or "").upper()
    if side not in _JOIN_SIDES or kind not in _JOIN_KINDS:
        raise Refusal(node, f"{side} {kind} JOIN is not supported".strip())
    if node.args.get("using"):
        raise Refusal(node, "JOIN … USING is not supported", "write ON a.x = b.x")
    if left.waits and side not in ("", "LEFT"):
        raise Refusal(node, f"{side} JOIN after a join on event time is not supported", "put it into the next query")
    if queries.is_transform and isinstance(node.this, exp.Table) and node.this.args.get("version"):
        return _temporal_join(queries, node, left, side)
    right = _relation(queries, node.this)
    both = _with(left.scope, node, right)
    join = exp.Join(this=right.sql, side=side or None, kind=kind or None)
    if node.args.get("on"):
        join.set("on", condition(queries.translator(both), node.args["on"]))
    conditions = [*_parts(node.args.get("on")), *(where if side == "" else ())]
    return join, _interval_join(node, left, right, both, conditions)


def _interval_join(node: exp.Join, left: From, right: Relation, both: Scope, conditions: Sequence[exp.Expr]) -> From:
    """Return FROM with the condition of a join whose ON limits the distance of two event times."""
    bounds = _bounds(conditions, left.scope, right.name, right.columns)
    if bounds is None:
        return replace(left, scope=both.delayed(None))
    if (node.side or "").upper() in ("RIGHT", "FULL"):
        raise Refusal(node, f"{node.side} JOIN on intervals of event time is not supported", "use LEFT JOIN")
    time, wait, delay = bounds
    return replace(left, scope=both.delayed(delay), waits=(*left.waits, has_passed(time, wait)))


def _temporal_join(queries: Tables, node: exp.Join, left: From, side: str) -> tuple[exp.Join, From]:
    if side not in ("", "LEFT") or (node.kind or "").upper() not in ("", "INNER", "OUTER"):
        kinds = " ".join(part for part in (side, node.kind, "JOIN") if part)
        raise Refusal(node, f"{kinds} with FOR SYSTEM_TIME AS OF is not supported", "use JOIN or LEFT JOIN")
    refuse_others(node.this, {"this", "alias", "version"})
    table, columns = _temporal_table(queries, node.this)
    alias = alias_of(node.this) or node.this.name
    right = Relation(exp.Subquery(this=_versions(table), alias=table_alias(alias)), alias, columns)
    both = _with(left.scope, node, right)
    time = _as_of(queries.translator(left.scope), node.this)
    on = _parts(node.args.get("on"))
    _require_key(node, on, table, left.scope, alias)
    begin, until = (exp.column(name, alias, quoted=True) for name in (table.vocab.event_time_column, _UNTIL))
    is_valid = (sql("a <= b", begin, time.sql), sql("(a IS NULL OR b < a)", until, time.sql))
    conditions = [*(condition(queries.translator(both), part) for part in on), *is_valid]
    join = exp.Join(this=right.sql, side=side or None, on=exp.and_(*conditions, copy=False, wrap=True))
    return join, From(both, (*left.waits, has_passed(time, time.type.delay or 0)), hides=True)


def _with(scope: Scope, node: exp.Join, right: Relation) -> Scope:
    if right.name.lower() in (name.lower() for name in scope.tables):
        raise Refusal(node, f"two tables are named {right.name}", "give one an alias")
    return replace(scope, tables={**scope.tables, right.name: right.columns})


def _parts(node: exp.Expr | None) -> list[exp.Expr]:
    """Return the conditions that AND connects."""
    if node is None:
        return []
    node = (node.this if isinstance(node, exp.Where) else node).unnest()
    return [part.unnest() for part in node.flatten()] if isinstance(node, exp.And) else [node]


def alias_of(node: exp.Expr) -> str:
    alias = node.args.get("alias")
    if alias is None:
        return ""
    refuse_others(alias, {"this"})
    return str(alias.name)


def table_alias(name: str) -> exp.TableAlias | None:
    return exp.TableAlias(this=quoted(name)) if name else None


def quoted(name: str) -> exp.Identifier:
    return exp.to_identifier(name, quoted=True)


def _quote(name: str) -> str:
    return quoted(name).sql("spark")
