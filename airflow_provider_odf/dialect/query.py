"""Translate the structure of queries: WITH, SELECT, FROM, joins, set operations, grouping, ordering."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import cast

from sqlglot import exp

from airflow_provider_odf.dialect.clauses import add_order, group, refuse_others
from airflow_provider_odf.dialect.engine import Engine, Translation, chain
from airflow_provider_odf.dialect.expressions import condition
from airflow_provider_odf.dialect.place import Refused
from airflow_provider_odf.dialect.scope import Columns, Scope
from airflow_provider_odf.dialect.typed import Typed
from airflow_provider_odf.dialect.types import INTERVAL, NULL, UNKNOWN, Type, common

_SELECT = {
    "with_", "expressions", "from_", "joins", "where", "group", "having", "order", "limit", "offset", "distinct",
}  # fmt: skip
_SET_OPERATION = {"with_", "this", "expression", "distinct", "order", "limit", "offset"}
_DERIVE = "join versions and make time windows in a derivative dataset"
_JOIN_KINDS = {"", "INNER", "OUTER", "CROSS"}
_JOIN_SIDES = {"", "LEFT", "RIGHT", "FULL"}


@dataclass(frozen=True)
class Queries:
    """Translates queries over tables: inputs, earlier steps and WITH."""

    engine: Engine
    tables: Mapping[str, tuple[str, Columns]]

    @classmethod
    def over(cls, engine: Engine, tables: Mapping[str, Columns]) -> Queries:
        return cls(engine, {name.lower(): (name, columns) for name, columns in tables.items()})

    def query(self, node: exp.Expr, parent: Scope | None = None, *, is_named: bool = True) -> tuple[exp.Query, Columns]:
        """Return the query for Spark and its columns. With ``is_named`` every column needs a name that the engines
        share.

        :raises Refused: there is no exact translation."""
        query: exp.Query
        if isinstance(node, exp.Subquery):
            return self._parentheses(node, parent, is_named)
        queries, with_ = self._with(node, parent)
        if isinstance(node, exp.Select):
            query, columns = queries._select(node, parent, is_named)
        elif isinstance(node, exp.SetOperation):
            query, columns = queries._set_operation(node, parent, is_named)
        else:
            raise Refused(node.parent and node, "only queries (SELECT, WITH, UNION and the like) are translated")
        if with_:
            query.set("with_", with_)
        return query, columns

    def _parentheses(self, node: exp.Subquery, parent: Scope | None, is_named: bool) -> tuple[exp.Query, Columns]:
        refuse_others(node, {"this"})
        query, columns = self.query(node.this, parent, is_named=is_named)
        return exp.Subquery(this=query), columns

    def _with(self, node: exp.Expr, parent: Scope | None) -> tuple[Queries, exp.With | None]:
        with_ = node.args.get("with_")
        if with_ is None:
            return self, None
        refuse_others(with_, {"expressions"})
        queries, translated = self, []
        for cte in with_.expressions:
            refuse_others(cte, {"this", "alias"})
            name = _plain_alias(cte.args["alias"])
            query, columns = queries.query(cte.this, parent)
            translated.append(exp.CTE(this=query, alias=exp.TableAlias(this=_quoted(name))))
            queries = replace(queries, tables={**queries.tables, name.lower(): (name, columns)})
        return queries, exp.With(expressions=translated)

    def _set_operation(self, node: exp.SetOperation, parent: Scope | None, is_named: bool) -> tuple[exp.Query, Columns]:
        first, operators = chain(node, exp.SetOperation)
        query: exp.Query
        query, columns = self.query(first, parent, is_named=is_named)
        for operator in operators:
            refuse_others(operator, _SET_OPERATION if operator is node else _SET_OPERATION - {"with_"})
            right, others = self.query(operator.expression, parent, is_named=False)
            columns = _side_by_side(operator, columns, others)
            kind = cast("type[exp.SetOperation]", type(operator))
            query = kind(this=query, expression=right, distinct=operator.args.get("distinct"))
            translation = Translation(self.engine, Scope({"": columns}, parent), self._nested)
            add_order(translation, operator, query)
        return query, columns

    def _select(self, node: exp.Select, parent: Scope | None, is_named: bool) -> tuple[exp.Select, Columns]:
        refuse_others(node, _SELECT)
        select = exp.Select()
        scope = self._from(node, select, parent)
        translation = Translation(self.engine, scope, self._nested)
        columns = _projection(translation, node, select, is_named)
        if node.args.get("distinct"):
            refuse_others(node.args["distinct"], set())
            select.set("distinct", exp.Distinct())
        for key, clause in (("where", exp.Where), ("having", exp.Having)):
            if node.args.get(key):
                visible = translation if key == "where" else _with_outputs(translation, columns)
                select.set(key, clause(this=condition(visible, node.args[key].this).sql))
        if node.args.get("group"):
            select.set("group", group(_with_outputs(translation, columns), node.args["group"]))
        add_order(_with_outputs(translation, columns), node, select)
        return select, columns

    def _nested(self, node: exp.Expr, scope: Scope) -> tuple[exp.Query, Columns]:
        return self.query(node, scope, is_named=False)

    def _from(self, node: exp.Select, select: exp.Select, parent: Scope | None) -> Scope:
        if node.args.get("from_") is None:
            return Scope({}, parent)
        source, name, columns = self._source(node.args["from_"].this)
        select.set("from_", exp.From(this=source))
        scope = Scope({name: columns}, parent)
        for join in node.args.get("joins") or ():
            translated, scope = self._join(join, scope)
            select.append("joins", translated)
        return scope

    def _source(self, node: exp.Expr) -> tuple[exp.Expr, str, Columns]:
        """Return a table or query in FROM for Spark, its name or alias, and its columns."""
        if isinstance(node, exp.Subquery):
            refuse_others(node, {"this", "alias"})
            query, columns = self.query(node.this)
            name = _plain_alias(node.args["alias"]) if node.args.get("alias") else ""
            return exp.Subquery(this=query, alias=_table_alias(name)), name, columns
        if not isinstance(node, exp.Table) or not isinstance(node.this, exp.Identifier):
            raise Refused(node, "FROM is translated with tables and queries only", _DERIVE)
        if node.args.get("version"):
            raise Refused(node, "FOR SYSTEM_TIME AS OF needs a history, which preprocess does not have", _DERIVE)
        if node.args.get("db"):
            name = ".".join(part.name for part in node.parts)
            raise Refused(node, f"table {name} does not exist", "quote a name with dots as a whole")
        refuse_others(node, {"this", "alias"})
        spelling, columns = self._table(node)
        name = _plain_alias(node.args["alias"]) if node.args.get("alias") else spelling
        alias = _table_alias(name) if node.args.get("alias") else None
        return exp.Table(this=_quoted(spelling), alias=alias), name, columns

    def _table(self, node: exp.Table) -> tuple[str, Columns]:
        table = self.tables.get(node.name.lower())
        if table is None:
            names = ", ".join(name for name, _ in self.tables.values())
            raise Refused(node, f"table {node.name} does not exist", f"tables: {names}")
        return table

    def _join(self, node: exp.Join, scope: Scope) -> tuple[exp.Join, Scope]:
        refuse_others(node, {"this", "side", "kind", "on", "using"})
        side, kind = (node.side or "").upper(), (node.kind or "").upper()
        if side not in _JOIN_SIDES or kind not in _JOIN_KINDS:
            raise Refused(node, f"{side} {kind} JOIN is not translated".strip())
        source, name, columns = self._source(node.this)
        if scope.tables.keys() & {name}:
            raise Refused(node, f"two tables are named {name}", "give one an alias")
        both = Scope({**scope.tables, name: columns}, scope.parent)
        join = exp.Join(this=source, side=side or None, kind=kind or None)
        if node.args.get("on"):
            join.set("on", condition(Translation(self.engine, both, self._nested), node.args["on"]).sql)
        if node.args.get("using"):
            raise Refused(node, "JOIN … USING is not translated", "write ON a.x = b.x")
        return join, both


def _projection(t: Translation, node: exp.Select, select: exp.Select, is_named: bool) -> Columns:
    known: list[tuple[str, Type]] = []
    others: Type | None = None
    for item in node.expressions:
        if isinstance(item, exp.Star) or (isinstance(item, exp.Column) and isinstance(item.this, exp.Star)):
            columns = _star(t, item)
            others = columns.others if columns.others is not None else others
            select.append("expressions", item.copy())
            known += columns.known
            continue
        value, name = _item(t, item, is_named)
        select.append(
            "expressions", exp.alias_(value.sql, name, quoted=True) if isinstance(item, exp.Alias) else value.sql
        )
        known.append((name, value.type))
    if is_named:
        _refuse_repeated(node, [name for name, _ in known])
    return Columns(tuple(known), others)


def _item(t: Translation, item: exp.Expr, is_named: bool) -> tuple[Typed, str]:
    value = t.expression(item.unalias())
    if value.type == INTERVAL:
        raise Refused(item, "an interval cannot be a column", "add it to a time")
    if isinstance(item, (exp.Alias, exp.Column)) or not is_named:
        return value, item.alias_or_name
    raise Refused(item, "this column has no name", "name it: … AS name; engines would choose different names")


def _star(t: Translation, item: exp.Expr) -> Columns:
    star = item.this if isinstance(item, exp.Column) else item
    refuse_others(star, set())
    tables = list(t.scope.tables.values())
    if isinstance(item, exp.Column):
        table = t.scope.tables.get(next((n for n in t.scope.tables if n.lower() == item.table.lower()), ""))
        if table is None:
            raise Refused(item, f"table {item.table} does not exist")
        tables = [table]
    others = [c.others for c in tables if c.others is not None]
    return Columns(
        tuple(c for table in tables for c in table.known),
        others[0] if len(set(others)) == 1 else (UNKNOWN if others else None),
    )


def _refuse_repeated(node: exp.Expr, names: Iterable[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name.lower() in seen:
            raise Refused(node, f"two columns are named {name}", "name one differently; case does not count")
        seen.add(name.lower())


def _with_outputs(t: Translation, columns: Columns) -> Translation:
    """Return a translation for GROUP BY, HAVING and ORDER BY, which also see output names of SELECT. Columns of tables
    hide these."""
    outputs = Columns(tuple((name, type_) for name, type_ in columns.known if t.scope.type_of(name) is None))
    return t.within(Scope({**t.scope.tables, "": outputs}, t.scope.parent)) if outputs.known else t


def _side_by_side(node: exp.Expr, left: Columns, right: Columns) -> Columns:
    """Return the columns of a set operation. Whole numbers are widened; other types must be equal."""
    if left.others is not None or right.others is not None:
        return Columns(tuple((name, UNKNOWN) for name, _ in left.known), left.others)
    if len(left.known) != len(right.known):
        raise Refused(node, f"the queries have {len(left.known)} and {len(right.known)} columns")
    merged = []
    for (name, type_), (_, other) in zip(left.known, right.known, strict=True):
        shared = common(type_, other)
        is_same = NULL in (type_, other) or type_.ddl == other.ddl or (type_.is_integer and other.is_integer)
        if shared is None or (shared.is_known and not is_same):
            raise Refused(node, f"column {name} is {type_} on one side and {other} on the other", "cast one of them")
        merged.append((name, shared))
    return Columns(tuple(merged))


def _plain_alias(alias: exp.Expr) -> str:
    refuse_others(alias, {"this"})
    return alias.name


def _table_alias(name: str) -> exp.TableAlias | None:
    return exp.TableAlias(this=_quoted(name)) if name else None


def _quoted(name: str) -> exp.Identifier:
    return exp.to_identifier(name, quoted=True)
