"""Random queries whose column lineage is known, because each of their pieces says what it does with columns.

A use is a source column ``table.column``, a subtype of OpenLineage, and whether the result masks the values.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

TABLES = {
    "com.acme.Orders": ("Id", "cust", "price", "näme", "a b"),
    "people": ("id", "Email", "City", "from", "x.y"),
    "T-1": ("k", "v", "xs", "order", "cust"),
}
DIRECT = ["IDENTITY", "TRANSFORMATION", "AGGREGATION"]


class Use(NamedTuple):
    source: str
    way: str
    is_masking: bool = False


Uses = frozenset[Use]
NONE: Uses = frozenset()


def then(uses: Iterable[Use], way: str, *, is_masking: bool = False) -> Uses:
    """Uses of columns in something that is used again: the stronger direct way, or the first indirect one."""

    def last(first: str) -> str:
        if way in DIRECT and first in DIRECT:
            return DIRECT[max(DIRECT.index(first), DIRECT.index(way))]
        return first if way in DIRECT else way

    return frozenset(Use(u.source, last(u.way), u.is_masking or is_masking) for u in uses)


def summed(uses: Uses) -> list[tuple[str, str, bool]]:
    """One entry for each source and indirect way, and one with the strongest direct way; masking if all of them are."""
    groups: dict[tuple[str, str], list[Use]] = {}
    for use in uses:
        groups.setdefault((use.source, "" if use.way in DIRECT else use.way), []).append(use)
    strongest = (
        (source, way or max((u.way for u in of), key=DIRECT.index), all(u.is_masking for u in of))
        for (source, way), of in groups.items()
    )
    return sorted(strongest)


@dataclass(frozen=True)
class Made:
    """A table or a query: its columns with their uses, and the uses that decide about rows."""

    columns: tuple[tuple[str, Uses], ...]
    rows: Uses = NONE

    @property
    def everything(self) -> Uses:
        return NONE.union(*(uses for _, uses in self.columns), self.rows)


class Value(NamedTuple):
    sql: str
    uses: Uses


Scope = list[tuple[str, str, Uses]]
"""Columns in reach: alias of the table, name, uses. No two names are equal but for USING."""


@dataclass
class Queries:
    """A generator of queries for an engine."""

    engine: str
    random: random.Random
    known: dict[str, Made] = field(default_factory=dict)
    """Tables, steps and common table expressions in reach."""
    _number: int = 0

    def steps(self) -> tuple[list[tuple[str, str | None]], Made]:
        """Queries with their aliases, and what the last one makes."""
        self.known = {
            table: Made(tuple((name, frozenset([Use(f"{table}.{name}", "IDENTITY")])) for name in names))
            for table, names in TABLES.items()
        }
        steps: list[tuple[str, str | None]] = []
        for _ in range(self.random.choice((0, 0, 1, 2))):
            sql, made = self.query(1)
            steps.append((sql, name := self.new("Step ")))
            self.known[name] = made
        sql, made = self.query(2)
        if self.engine == "risingwave" and self.random.random() < 0.5:
            sql = f"create materialized view mv as {sql}"
        return [*steps, (sql, None)], made

    def new(self, kind: str) -> str:
        self._number += 1
        return f"{kind}{self._number}"

    def name(self, name: str) -> str:
        """A name in one of its spellings: without quotes, where it needs none and case does not matter."""
        is_plain = name.isascii() and name.isidentifier() and name not in ("from", "order")
        if is_plain and self.random.random() < 0.6:
            return self.random.choice((name, name.lower(), name.upper()))
        mark = "`" if self.engine in ("spark", "flink") else '"'
        return f"{mark}{name}{mark}"

    # Expressions

    def value(self, scope: Scope, depth: int) -> Value:
        """An expression without aggregates."""
        kinds = [self.column, self.column, self.function, self.case, self.choice, self.digest, self.literal]
        if depth:
            kinds += [self.scalar, self.window]
        return self.random.choice(kinds)(scope, depth - 1 if depth else 0)

    def column(self, scope: Scope, _: int = 0) -> Value:
        alias, name, uses = self.random.choice(scope)
        is_alone = sum(other.lower() == name.lower() for _, other, _ in scope) == 1
        if is_alone and (not alias or self.random.random() < 0.5):
            return Value(self.name(name), uses)
        return Value(f"{self.name(alias)}.{self.name(name)}", uses)

    def literal(self, scope: Scope, _: int) -> Value:
        return Value(self.random.choice(("1", "'x'", "NULL", "2.5")), NONE)

    def function(self, scope: Scope, depth: int) -> Value:
        left, right = self.value(scope, depth), self.column(scope)
        form = self.random.choice(
            ("upper({0})", "concat({0}, {1})", "({0} || {1})", "cast({0} AS INT)", "-({0} + {1})", "({0} = {1})")
        )
        uses = left.uses | right.uses if "{1}" in form else left.uses
        return Value(form.format(left.sql, right.sql), then(uses, "TRANSFORMATION"))

    def digest(self, scope: Scope, depth: int) -> Value:
        inner = self.value(scope, depth)
        return Value(f"md5({inner.sql})", then(inner.uses, "TRANSFORMATION", is_masking=True))

    def case(self, scope: Scope, depth: int) -> Value:
        when, first, other = self.column(scope), self.value(scope, depth), self.column(scope)
        direct = then(first.uses | other.uses, "TRANSFORMATION")
        uses = then(when.uses, "CONDITIONAL") | direct
        if self.random.random() < 0.5:
            return Value(f"CASE WHEN {when.sql} > 1 THEN {first.sql} ELSE {other.sql} END", uses)
        compared = self.column(scope)
        sql = f"CASE {when.sql} WHEN {compared.sql} THEN {first.sql} ELSE {other.sql} END"
        return Value(sql, uses | then(compared.uses, "CONDITIONAL"))

    def choice(self, scope: Scope, depth: int) -> Value:
        left, right = self.value(scope, depth), self.column(scope)
        if self.random.random() < 0.5:
            both = left.uses | right.uses
            uses = then(both, "TRANSFORMATION") | then(both, "CONDITIONAL")
            return Value(f"coalesce({left.sql}, {right.sql})", uses)
        uses = then(left.uses, "TRANSFORMATION") | then(left.uses | right.uses, "CONDITIONAL")
        return Value(f"nullif({left.sql}, {right.sql})", uses)

    def scalar(self, scope: Scope, depth: int) -> Value:
        """A query that returns one value: what decides about its rows decides about the value."""
        inner, alias, sql = self.source(0)
        arg = self.column(inner)
        uses = then(arg.uses, "AGGREGATION")
        outer = self.column([item for item in scope if item[0]] or scope)
        compared = self.column(inner)
        sql = f"(SELECT max({arg.sql}) FROM {sql}"
        if self.random.random() < 0.5 and "." in outer.sql:
            return Value(
                f"{sql} WHERE {compared.sql} = {outer.sql})",
                uses | then(compared.uses | outer.uses, "FILTER") | self.known_rows(alias),
            )
        return Value(f"{sql})", uses | self.known_rows(alias))

    def window(self, scope: Scope, depth: int) -> Value:
        value, key, order = self.column(scope), self.column(scope), self.column(scope)
        decides = then(key.uses | order.uses, "WINDOW")
        over = f"OVER (PARTITION BY {key.sql} ORDER BY {order.sql})"
        function, uses = self.random.choice(
            (
                (f"sum({value.sql})", then(value.uses, "AGGREGATION")),
                (f"lag({value.sql})", then(value.uses, "TRANSFORMATION")),
                (f"count({value.sql})", then(value.uses, "AGGREGATION", is_masking=True)),
                ("row_number()", NONE),
            )
        )
        return Value(f"{function} {over}", uses | decides)

    def aggregate(self, scope: Scope) -> Value:
        inner = self.value(scope, 0)
        function, is_masking = self.random.choice(
            (("sum({})", False), ("max({})", False), ("count({})", True), ("count(DISTINCT {})", True))
        )
        return Value(function.format(inner.sql), then(inner.uses, "AGGREGATION", is_masking=is_masking))

    # Relations

    def known_rows(self, name: str) -> Uses:
        return self.known[name].rows

    def source(self, depth: int) -> tuple[Scope, str, str]:
        """A table under a new name: the columns, the name of what it is, and the SQL."""
        table = self.random.choice(list(self.known))
        alias = self.new("s")
        return (
            [(alias, name, uses) for name, uses in self.known[table].columns],
            table,
            f"{self.name(table)} AS {alias}",
        )

    def relation(self, depth: int) -> tuple[Scope, Uses, str]:
        """What FROM has: a table or a query, with the uses that decide about its rows."""
        if depth == 0 or self.random.random() < 0.6:
            scope, table, sql = self.source(depth)
            return scope, self.known_rows(table), sql
        sql, made = self.query(depth - 1)
        alias = self.new("Q ")
        return [(alias, name, uses) for name, uses in made.columns], made.rows, f"({sql}) AS {self.quoted(alias)}"

    def quoted(self, name: str) -> str:
        mark = "`" if self.engine in ("spark", "flink") else '"'
        return f"{mark}{name}{mark}"

    def joined(self, depth: int) -> tuple[Scope, Uses, str]:
        left, rows, sql = self.relation(depth)
        if self.random.random() < 0.5:
            return left, rows, sql
        right, more, joined = self.relation(depth)
        one, two = self.column(left), self.column(right)
        keys = then(one.uses | two.uses, "JOIN")
        shared = {n.lower() for _, n, _ in left} & {n.lower() for _, n, _ in right}
        kinds = ["INNER", "LEFT", "CROSS", *(["USING"] if shared else [])]
        kinds += ["LEFT SEMI", "LEFT ANTI"] if self.engine in ("spark", "datafusion") else []
        kind = self.random.choice(kinds)
        if kind == "CROSS":
            return [*left, *right], rows | more, f"{sql} CROSS JOIN {joined}"
        if kind == "USING":
            return self.using(left, right, self.random.choice(sorted(shared)), rows | more, f"{sql} JOIN {joined}")
        sql = f"{sql} {kind} JOIN {joined} ON {self.one(left, one)} = {self.one(right, two)}"
        is_hidden = kind in ("LEFT SEMI", "LEFT ANTI")
        return left if is_hidden else [*left, *right], rows | more | keys, sql

    def one(self, scope: Scope, value: Value) -> str:
        """A column of one side, with the name of its table, since both sides may have its name."""
        if "." in value.sql.replace('"x.y"', "").replace("`x.y`", ""):
            return value.sql
        alias = scope[0][0]
        return f"{self.quoted(alias)}.{value.sql}"

    def using(self, left: Scope, right: Scope, name: str, rows: Uses, sql: str) -> tuple[Scope, Uses, str]:
        pair = [item for item in (*left, *right) if item[1].lower() == name]
        both: Uses = NONE.union(*(uses for _, _, uses in pair))
        scope = [item for item in (*left, *right) if item[1].lower() != name]
        return [*scope, ("", pair[0][1], both)], rows | then(both, "JOIN"), f"{sql} USING ({self.name(pair[0][1])})"

    # Queries

    def query(self, depth: int) -> tuple[str, Made]:
        form = self.random.random()
        if depth and form < 0.15:
            return self.with_table(depth)
        if depth and form < 0.35:
            return self.set_operation(depth)
        return self.select(depth)

    def with_table(self, depth: int) -> tuple[str, Made]:
        inner, made = self.query(depth - 1)
        name = self.new("Cte ")
        outer = dict(self.known)
        self.known[name] = made
        sql, result = self.select(depth - 1)
        self.known = outer
        return f"WITH {self.quoted(name)} AS ({inner}) {sql}", result

    def set_operation(self, depth: int) -> tuple[str, Made]:
        width = self.random.randint(1, 3)
        (left, one), (right, two) = self.select(0, width), self.select(0, width)
        kind = self.random.choice(("UNION ALL", "UNION", "EXCEPT", "INTERSECT"))
        rows = one.rows | two.rows
        columns = one.columns
        if kind.startswith("UNION"):
            pairs = zip(one.columns, two.columns, strict=True)
            columns = tuple((name, uses | others) for (name, uses), (_, others) in pairs)
        else:
            rows |= then(NONE.union(*(uses for _, uses in two.columns)), "FILTER")
        if kind != "UNION ALL":
            rows |= then(NONE.union(*(uses for _, uses in columns)), "GROUP_BY")
        return f"({left}) {kind} ({right})", Made(columns, rows)

    def select(self, depth: int, width: int | None = None) -> tuple[str, Made]:
        scope, rows, source = self.joined(depth)
        condition, filtered = self.where(scope, depth)
        rows |= filtered
        width = width or self.random.randint(1, 4)
        if self.random.random() < 0.3:
            items, clauses, more = self.grouped(scope, width)
        else:
            items = [self.value(scope, depth) for _ in range(width)]
            clauses, more = self.ordered(scope)
        names = [self.new("Out ") for _ in items]
        columns = tuple((name, item.uses) for name, item in zip(names, items, strict=True))
        listed = ", ".join(f"{item.sql} AS {self.quoted(name)}" for name, item in zip(names, items, strict=True))
        distinct = ""
        if not clauses and self.random.random() < 0.15:
            distinct = "DISTINCT "
            more = then(NONE.union(*(uses for _, uses in columns)), "GROUP_BY")
        return f"SELECT {distinct}{listed} FROM {source}{condition}{clauses}", Made(columns, rows | more)

    def where(self, scope: Scope, depth: int) -> tuple[str, Uses]:
        form = self.random.choice(("", "", "value", "in", "exists", "scalar"))
        column = self.column(scope)
        if form in ("", "value"):
            return (f" WHERE {column.sql} > 1", then(column.uses, "FILTER")) if form else ("", NONE)
        if form == "scalar":
            value = self.scalar(scope, 0)
            return f" WHERE {column.sql} = {value.sql}", then(column.uses | value.uses, "FILTER")
        is_not = self.random.choice(("", "NOT "))
        if form == "in":
            inner, made = self.select(0, 1)
            return f" WHERE {column.sql} {is_not}IN ({inner})", then(column.uses | made.everything, "FILTER")
        inner_scope, table, sql = self.source(0)
        key = self.column(inner_scope)
        uses = then(key.uses | self.known_rows(table), "FILTER")
        if (alias := scope[0][0]) and (outer := [item for item in scope if item[0] == alias]):
            _, name, of = self.random.choice(outer)
            other = f"{self.quoted(alias)}.{self.name(name)}"
            return f" WHERE {is_not}EXISTS (SELECT 1 FROM {sql} WHERE {key.sql} = {other})", uses | then(of, "FILTER")
        return f" WHERE {is_not}EXISTS (SELECT 1 FROM {sql} WHERE {key.sql} = 1)", uses

    def grouped(self, scope: Scope, width: int) -> tuple[list[Value], str, Uses]:
        key = self.column(scope)
        items = [self.random.choice((key, self.aggregate(scope))) for _ in range(width)]
        rows = then(key.uses, "GROUP_BY")
        having = self.aggregate(scope) if self.random.random() < 0.4 else None
        clause = f" GROUP BY {key.sql}"
        if having is not None:
            return items, f"{clause} HAVING {having.sql} > 0", rows | then(having.uses, "FILTER")
        return items, clause, rows

    def ordered(self, scope: Scope) -> tuple[str, Uses]:
        if self.random.random() < 0.8:
            return "", NONE
        key = self.column(scope)
        return f" ORDER BY {key.sql} DESC LIMIT 3", then(key.uses, "SORT")


def query(engine: str, seed: int) -> tuple[Sequence[tuple[str, str | None]], Made]:
    """Steps of a random query: SQL and alias, and what the last one makes."""
    return Queries(engine, random.Random(f"{engine} {seed}")).steps()
