"""Translate FROM and joins, and find the rows of joins on event time that the watermark has decided."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from airflow_provider_odf.dialect import interval_join, versions, windows
from airflow_provider_odf.dialect.engine import refuse_others
from airflow_provider_odf.dialect.expressions import condition
from airflow_provider_odf.dialect.place import Refusal
from airflow_provider_odf.dialect.spark import Value
from airflow_provider_odf.dialect.types import Columns, Scope
from airflow_provider_odf.dialect.watermark import has_passed

if TYPE_CHECKING:
    from airflow_provider_odf.dialect.tables import Tables

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
    bounds = interval_join.bounds(conditions, left.scope, right.name, right.columns)
    if bounds is None:
        return replace(left, scope=both.delayed(None))
    if (node.side or "").upper() in ("RIGHT", "FULL"):
        raise Refusal(node, f"{node.side} JOIN on intervals of event time is not supported", "use LEFT JOIN")
    wait = has_passed(Value(bounds.time.copy(), bounds.type), bounds.wait)
    return replace(left, scope=both.delayed(bounds.delay), waits=(*left.waits, wait))


def _temporal_join(queries: Tables, node: exp.Join, left: From, side: str) -> tuple[exp.Join, From]:
    if side not in ("", "LEFT") or (node.kind or "").upper() not in ("", "INNER", "OUTER"):
        kinds = " ".join(part for part in (side, node.kind, "JOIN") if part)
        raise Refusal(node, f"{kinds} with FOR SYSTEM_TIME AS OF is not supported", "use JOIN or LEFT JOIN")
    table = node.this
    refuse_others(table, {"this", "alias", "version"})
    versioned = versions.of(queries, table)
    alias = alias_of(table) or table.name
    right = Relation(exp.Subquery(this=versioned.sql, alias=table_alias(alias)), alias, versioned.columns.delayed(None))
    both = _with(left.scope, node, right)
    time = versions.time(queries.translator(left.scope), table)
    on = _parts(node.args.get("on"))
    versions.require_key(node, on, versioned, left.scope, alias)
    conditions = [condition(queries.translator(both), part) for part in on]
    conditions += versioned.valid_at(time, alias)
    join = exp.Join(this=right.sql, side=side or None, on=exp.and_(*conditions, copy=False, wrap=True))
    wait = has_passed(time, time.type.delay or 0)
    return join, From(both, (*left.waits, wait), hides=True)


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
