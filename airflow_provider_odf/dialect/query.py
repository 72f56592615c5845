"""Translate the structure of queries: WITH, SELECT, FROM, joins, set operations, grouping, ordering."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import cast

from sqlglot import exp

from airflow_provider_odf.dialect import from_clause, ordering, windows
from airflow_provider_odf.dialect.engine import Engine, Tables, Translator, chain, refuse_others
from airflow_provider_odf.dialect.expressions import condition
from airflow_provider_odf.dialect.ordering import add_order, place_or_expression
from airflow_provider_odf.dialect.parsing import Refusal
from airflow_provider_odf.dialect.types import INTERVAL, NULL, UNKNOWN, Columns, Scope, Type, common

_SELECT = {
    "with_", "expressions", "from_", "joins", "where", "group", "having", "order", "limit", "offset", "distinct",
}  # fmt: skip
_SET_OPERATION = {"with_", "this", "expression", "distinct", "order", "limit", "offset"}
_OUTPUTS = "odf:outputs"
"""Name of the columns of SELECT in a scope."""


@dataclass(frozen=True)
class Queries(Tables):
    """Translates queries over tables."""

    @classmethod
    def over(cls, engine: Engine, tables: Mapping[str, Columns]) -> Queries:
        return cls(engine, {name.lower(): (name, columns) for name, columns in tables.items()})

    def query(self, node: exp.Expr, *, is_named: bool = True) -> tuple[exp.Query, Columns]:
        """Return the query for Spark and its columns. With ``is_named`` every column needs a name that the engines
        share.

        :raises Refusal: there is no exact translation."""
        query: exp.Query
        if isinstance(node, exp.Subquery):
            refuse_others(node, {"this"})
            query, columns = self.query(node.this, is_named=is_named)
            return exp.Subquery(this=query), columns
        if node.meta.get(windows.EMIT_ON_CLOSE) and not (self.is_transform and isinstance(node, exp.Select)):
            raise Refusal(node, "EMIT ON WINDOW CLOSE is supported only with a SELECT in transforms")
        queries, with_ = self._with(node)
        if isinstance(node, exp.Select):
            query, columns = queries._select(node, is_named)
        elif isinstance(node, exp.SetOperation):
            query, columns = queries._set_operation(node, is_named)
        else:
            raise Refusal(node.parent and node, "only queries (SELECT, WITH, UNION and the like) are supported")
        if with_:
            query.set("with_", with_)
        return query, columns

    def _with(self, node: exp.Expr) -> tuple[Queries, exp.With | None]:
        with_ = node.args.get("with_")
        if with_ is None:
            return self, None
        refuse_others(with_, {"expressions"})
        queries, translated = self, []
        for cte in with_.expressions:
            refuse_others(cte, {"this", "alias"})
            name = from_clause.alias_of(cte)
            query, columns = queries.query(cte.this)
            translated.append(exp.CTE(this=query, alias=from_clause.table_alias(name)))
            queries = queries.with_table(name, columns)
        return queries, exp.With(expressions=translated)

    def _set_operation(self, node: exp.SetOperation, is_named: bool) -> tuple[exp.Query, Columns]:
        first, operators = chain(node, exp.SetOperation)
        query: exp.Query
        query, columns = self.query(first, is_named=is_named)
        for operator in operators:
            refuse_others(operator, _SET_OPERATION if operator is node else _SET_OPERATION - {"with_"})
            right, others = self.query(operator.expression, is_named=False)
            columns = _side_by_side(operator, columns, others)
            kind = cast("type[exp.SetOperation]", type(operator))
            query = kind(this=query, expression=right, distinct=operator.args.get("distinct"))
            t = self.translator(Scope({"": columns}, self.outer))
            add_order(t, operator, query, columns if self.is_transform else None)
        return query, columns

    def _select(self, node: exp.Select, is_named: bool) -> tuple[exp.Select, Columns]:
        refuse_others(node, _SELECT)
        select = exp.Select()
        from_ = from_clause.translate(self, node, select)
        t = self.translator(from_.scope)
        if self.is_transform:
            t = replace(t, ties=ordering.of_rows(t, node))
        columns = _projection(t, node, select, is_named, has_hidden=from_.hides)
        t_outputs = _with_outputs(t, columns)
        if node.args.get("distinct"):
            refuse_others(node.args["distinct"], set())
            select.set("distinct", exp.Distinct())
        for key, clause, visible in (("where", exp.Where, t), ("having", exp.Having, t_outputs)):
            if node.args.get(key):
                select.set(key, clause(this=condition(visible, node.args[key].this)))
        if from_.waits:
            select.where(*from_.waits, copy=False)
        if group := node.args.get("group"):
            refuse_others(group, {"expressions"})
            select.set("group", exp.Group(expressions=[place_or_expression(t_outputs, g) for g in group.expressions]))
        add_order(t_outputs, node, select, columns if self.is_transform else None)
        return self._when_closed(t, node, select, columns)

    def _when_closed(
        self, t: Translator, node: exp.Select, select: exp.Select, columns: Columns
    ) -> tuple[exp.Select, Columns]:
        """Return a SELECT that waits for its windows in GROUP BY, and its columns after GROUP BY and DISTINCT."""
        if node.args.get("distinct") or node.args.get("group"):
            columns = windows.without_event_times(node, columns)
        window = windows.of_groups(node) if self.engine.has_event_times else None
        return (windows.closed(t, window, select, columns) if window else select), columns

    def subquery(self, node: exp.Expr, scope: Scope) -> tuple[exp.Query, Columns]:
        return replace(self, outer=scope).query(node, is_named=False)


def _projection(
    t: Translator, node: exp.Select, select: exp.Select, is_named: bool, *, has_hidden: bool = False
) -> Columns:
    """Translate the columns of SELECT. With ``has_hidden``, * is written out, since tables have other columns."""
    items: list[tuple[str, Type]] = []
    others: Type | None = None
    for item in node.expressions:
        if isinstance(item, exp.Star) or (isinstance(item, exp.Column) and isinstance(item.this, exp.Star)):
            columns = _star(t, item)
            others = columns.others if columns.others is not None else others
            for form in _written_out(t, item) if has_hidden else [item.copy()]:
                select.append("expressions", form)
            items += columns.items
        else:
            form, name, type_ = _item(t, item, is_named)
            select.append("expressions", form)
            items.append((name, type_))
    lower = [name.lower() for name, _ in items]
    repeated = next((name for n, (name, _) in enumerate(items) if lower[n] in lower[:n]), None)
    if is_named and repeated is not None:
        raise Refusal(node, f"two columns are named {repeated}", "rename one: names are case-insensitive")
    return Columns(tuple(items), others)


def _written_out(t: Translator, star: exp.Expr) -> list[exp.Expr]:
    table = star.table.lower() if isinstance(star, exp.Column) else ""
    tables = [(name, columns) for name, columns in t.scope.tables.items() if not table or name.lower() == table]
    return [exp.column(column, name or None, quoted=True) for name, columns in tables for column, _ in columns.items]


def _item(t: Translator, item: exp.Expr, is_named: bool) -> tuple[exp.Expr, str, Type]:
    value, name = t.expression(item.unalias()), item.alias_or_name
    if value.type == INTERVAL:
        raise Refusal(item, "an interval cannot be a column", "add it to a time")
    if value.type == windows.WINDOW:
        raise Refusal(item, "a window cannot be a column", "use its start or end, such as TUMBLE_START")
    if is_named and not isinstance(item, (exp.Alias, exp.Column)):
        raise Refusal(item, "this column has no name", "name it: … AS name; engines would choose different names")
    form = exp.alias_(value.sql, name, quoted=True) if isinstance(item, exp.Alias) else value.sql
    return form, name, windows.column_type(item.unalias(), value.type)


def _star(t: Translator, item: exp.Expr) -> Columns:
    refuse_others(item.this if isinstance(item, exp.Column) else item, set())
    tables = list(t.scope.tables.values())
    if isinstance(item, exp.Column):
        tables = [columns for name, columns in t.scope.tables.items() if name.lower() == item.table.lower()][:1]
        if not tables:
            raise Refusal(item, f"table {item.table} does not exist")
    others = {table.others for table in tables if table.others is not None}
    items = tuple(item for table in tables for item in table.items)
    return Columns(items, others.pop() if len(others) == 1 else (UNKNOWN if others else None))


def _with_outputs(t: Translator, columns: Columns) -> Translator:
    """Return a translator for GROUP BY, HAVING and ORDER BY, which also see output names of SELECT. Columns of tables
    hide these."""
    outputs = Columns(tuple((name, type_) for name, type_ in columns.items if t.scope.type_of(name) is None))
    return replace(t, scope=replace(t.scope, tables={**t.scope.tables, _OUTPUTS: outputs})) if outputs.items else t


def _side_by_side(node: exp.Expr, left: Columns, right: Columns) -> Columns:
    """Return the columns of a set operation. Whole numbers are widened; other types must be equal."""
    left = left.delayed(_delay(node, left, right))
    if left.others is not None or right.others is not None:
        return Columns(tuple((name, UNKNOWN) for name, _ in left.items), left.others)
    if len(left.items) != len(right.items):
        counts = f"{len(left.items)} and {len(right.items)}"
        raise Refusal(node, f"the queries have {counts} columns, but need the same number")
    merged = []
    for (name, type_), (_, other) in zip(left.items, right.items, strict=True):
        is_same = NULL in (type_, other) or type_.ddl == other.ddl or (type_.is_integer and other.is_integer)
        shared = common(type_, other)
        if shared is None or (shared.is_known and not is_same):
            raise Refusal(node, f"column {name} is {type_} on one side and {other} on the other", "cast one of them")
        merged.append((name, shared))
    return Columns(tuple(merged))


def _delay(node: exp.Expr, left: Columns, right: Columns) -> int | None:
    """Return the delay of event times in the result of a set operation, or None if they become ordinary times."""
    pairs = [(a.delay, b.delay) for (_, a), (_, b) in zip(left.items, right.items, strict=False)]
    delays = [delay for pair in pairs for delay in pair if delay is not None]
    is_union_all = isinstance(node, exp.Union) and not node.args.get("distinct")
    is_same = all((a is None) == (b is None) for a, b in pairs)
    return max(delays) if delays and is_union_all and is_same else None
