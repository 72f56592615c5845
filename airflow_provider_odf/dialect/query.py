"""Translate the structure of queries: WITH, SELECT, FROM, joins, set operations, grouping, ordering."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import cast

from sqlglot import exp

from airflow_provider_odf.dialect.clauses import add_order, place_or_expression
from airflow_provider_odf.dialect.engine import Engine, Translator, chain, refuse_others
from airflow_provider_odf.dialect.expressions import condition
from airflow_provider_odf.dialect.place import Refusal
from airflow_provider_odf.dialect.types import INTERVAL, NULL, UNKNOWN, Columns, Scope, Type, common

_SELECT = {
    "with_", "expressions", "from_", "joins", "where", "group", "having", "order", "limit", "offset", "distinct",
}  # fmt: skip
_SET_OPERATION = {"with_", "this", "expression", "distinct", "order", "limit", "offset"}
_NO_HISTORY = "remove temporal joins and time windows"
_JOIN_KINDS = {"", "INNER", "OUTER", "CROSS"}
_JOIN_SIDES = {"", "LEFT", "RIGHT", "FULL"}


@dataclass(frozen=True)
class Queries:
    """Translates queries over tables: inputs, earlier steps and WITH. Keys of ``tables`` are in lower case.

    ``outer`` is the scope of the expression around a query."""

    engine: Engine
    tables: Mapping[str, tuple[str, Columns]]
    outer: Scope | None = None

    @classmethod
    def over(cls, engine: Engine, tables: Mapping[str, Columns]) -> Queries:
        return cls(engine, {name.lower(): (name, columns) for name, columns in tables.items()})

    def with_table(self, name: str, columns: Columns) -> Queries:
        """Return queries that can also read a table, which hides another one of this name."""
        return replace(self, tables={**self.tables, name.lower(): (name, columns)})

    def query(self, node: exp.Expr, *, is_named: bool = True) -> tuple[exp.Query, Columns]:
        """Return the query for Spark and its columns. With ``is_named`` every column needs a name that the engines
        share.

        :raises Refusal: there is no exact translation."""
        query: exp.Query
        if isinstance(node, exp.Subquery):
            refuse_others(node, {"this"})
            query, columns = self.query(node.this, is_named=is_named)
            return exp.Subquery(this=query), columns
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
            name = _alias(cte)
            query, columns = queries.query(cte.this)
            translated.append(exp.CTE(this=query, alias=_table_alias(name)))
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
            add_order(self._translator(Scope({"": columns}, self.outer)), operator, query)
        return query, columns

    def _select(self, node: exp.Select, is_named: bool) -> tuple[exp.Select, Columns]:
        refuse_others(node, _SELECT)
        select = exp.Select()
        t = self._translator(self._from(node, select))
        columns = _projection(t, node, select, is_named)
        t_outputs = _with_outputs(t, columns)
        if node.args.get("distinct"):
            refuse_others(node.args["distinct"], set())
            select.set("distinct", exp.Distinct())
        for key, clause, visible in (("where", exp.Where, t), ("having", exp.Having, t_outputs)):
            if node.args.get(key):
                select.set(key, clause(this=condition(visible, node.args[key].this)))
        if group := node.args.get("group"):
            refuse_others(group, {"expressions"})
            select.set("group", exp.Group(expressions=[place_or_expression(t_outputs, g) for g in group.expressions]))
        add_order(t_outputs, node, select)
        return select, columns

    def _translator(self, scope: Scope) -> Translator:
        return Translator(self.engine, scope, self._subquery)

    def _subquery(self, node: exp.Expr, scope: Scope) -> tuple[exp.Query, Columns]:
        return replace(self, outer=scope).query(node, is_named=False)

    def _from(self, node: exp.Select, select: exp.Select) -> Scope:
        if node.args.get("from_") is None:
            return Scope(outer=self.outer)
        source, name, columns = self._source(node.args["from_"].this)
        select.set("from_", exp.From(this=source))
        scope = Scope({name: columns}, self.outer)
        for join in node.args.get("joins") or ():
            translated, scope = self._join(join, scope)
            select.append("joins", translated)
        return scope

    def _source(self, node: exp.Expr) -> tuple[exp.Expr, str, Columns]:
        """Return a table or query in FROM for Spark, its name or alias, and its columns."""
        alias = _alias(node)
        if isinstance(node, exp.Subquery):
            refuse_others(node, {"this", "alias"})
            query, columns = replace(self, outer=None).query(node.this)
            return exp.Subquery(this=query, alias=_table_alias(alias)), alias, columns
        if not isinstance(node, exp.Table) or not isinstance(node.this, exp.Identifier):
            raise Refusal(node, "FROM supports only tables and queries", _NO_HISTORY)
        if node.args.get("version"):
            raise Refusal(
                node, "FOR SYSTEM_TIME AS OF cannot be used in preprocess, which reads only new data", _NO_HISTORY
            )
        if node.args.get("db"):
            name = ".".join(part.name for part in node.parts)
            raise Refusal(node, f"table {name} does not exist", "quote a name with dots as a whole")
        refuse_others(node, {"this", "alias"})
        if node.name.lower() not in self.tables:
            names = ", ".join(name for name, _ in self.tables.values())
            raise Refusal(node, f"table {node.name} does not exist", f"tables: {names}")
        name, columns = self.tables[node.name.lower()]
        return exp.Table(this=_quoted(name), alias=_table_alias(alias)), alias or name, columns

    def _join(self, node: exp.Join, scope: Scope) -> tuple[exp.Join, Scope]:
        refuse_others(node, {"this", "side", "kind", "on", "using"})
        side, kind = (node.side or "").upper(), (node.kind or "").upper()
        if side not in _JOIN_SIDES or kind not in _JOIN_KINDS:
            raise Refusal(node, f"{side} {kind} JOIN is not supported".strip())
        if node.args.get("using"):
            raise Refusal(node, "JOIN … USING is not supported", "write ON a.x = b.x")
        source, name, columns = self._source(node.this)
        if name in scope.tables:
            raise Refusal(node, f"two tables are named {name}", "give one an alias")
        both = replace(scope, tables={**scope.tables, name: columns})
        join = exp.Join(this=source, side=side or None, kind=kind or None)
        if node.args.get("on"):
            join.set("on", condition(self._translator(both), node.args["on"]))
        return join, both


def _projection(t: Translator, node: exp.Select, select: exp.Select, is_named: bool) -> Columns:
    items: list[tuple[str, Type]] = []
    others: Type | None = None
    for item in node.expressions:
        if isinstance(item, exp.Star) or (isinstance(item, exp.Column) and isinstance(item.this, exp.Star)):
            columns = _star(t, item)
            others = columns.others if columns.others is not None else others
            select.append("expressions", item.copy())
            items += columns.items
        else:
            form, name, type_ = _item(t, item, is_named)
            select.append("expressions", form)
            items.append((name, type_))
    if is_named:
        _refuse_repeated(node, [name for name, _ in items])
    return Columns(tuple(items), others)


def _item(t: Translator, item: exp.Expr, is_named: bool) -> tuple[exp.Expr, str, Type]:
    value, name = t.expression(item.unalias()), item.alias_or_name
    if value.type == INTERVAL:
        raise Refusal(item, "an interval cannot be a column", "add it to a time")
    if is_named and not isinstance(item, (exp.Alias, exp.Column)):
        raise Refusal(item, "this column has no name", "name it: … AS name; engines would choose different names")
    return exp.alias_(value.sql, name, quoted=True) if isinstance(item, exp.Alias) else value.sql, name, value.type


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


def _refuse_repeated(node: exp.Expr, names: list[str]) -> None:
    lower: set[str] = set()
    for name in names:
        if name.lower() in lower:
            raise Refusal(node, f"two columns are named {name}", "rename one: names are case-insensitive")
        lower.add(name.lower())


def _with_outputs(t: Translator, columns: Columns) -> Translator:
    """Return a translator for GROUP BY, HAVING and ORDER BY, which also see output names of SELECT. Columns of tables
    hide these."""
    outputs = Columns(tuple((name, type_) for name, type_ in columns.items if t.scope.type_of(name) is None))
    return replace(t, scope=replace(t.scope, tables={**t.scope.tables, "": outputs})) if outputs.items else t


def _side_by_side(node: exp.Expr, left: Columns, right: Columns) -> Columns:
    """Return the columns of a set operation. Whole numbers are widened; other types must be equal."""
    if left.others is not None or right.others is not None:
        return Columns(tuple((name, UNKNOWN) for name, _ in left.items), left.others)
    if len(left.items) != len(right.items):
        raise Refusal(
            node, f"the queries have {len(left.items)} and {len(right.items)} columns, but need the same number"
        )
    merged = []
    for (name, type_), (_, other) in zip(left.items, right.items, strict=True):
        is_same = NULL in (type_, other) or type_.ddl == other.ddl or (type_.is_integer and other.is_integer)
        shared = common(type_, other)
        if shared is None or (shared.is_known and not is_same):
            raise Refusal(node, f"column {name} is {type_} on one side and {other} on the other", "cast one of them")
        merged.append((name, shared))
    return Columns(tuple(merged))


def _alias(node: exp.Expr) -> str:
    alias = node.args.get("alias")
    if alias is None:
        return ""
    refuse_others(alias, {"this"})
    return str(alias.name)


def _table_alias(name: str) -> exp.TableAlias | None:
    return exp.TableAlias(this=_quoted(name)) if name else None


def _quoted(name: str) -> exp.Identifier:
    return exp.to_identifier(name, quoted=True)
