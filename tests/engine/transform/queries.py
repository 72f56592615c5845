"""Random queries over two inputs, in SQL that Spark and DuckDB read alike.

The inputs are ``readings`` (event_time, sensor, v), which grow, and ``people`` (event_time, id, name), which also
change and vanish. Each query has the columns event_time, k (a number), s (a text) and further numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random


@dataclass(frozen=True)
class Query:
    """A query and the names of its columns of numbers besides k."""

    sql: str
    numbers: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        return ("event_time", "k", "s", *self.numbers)


def random_query(r: Random, depth: int = 2) -> Query:
    """Return a random query of up to ``depth`` nested operations."""
    if depth == 0:
        return r.choice([_READINGS, _PEOPLE])
    operation = r.choice([_filter, _project, _group, _group, _distinct, _window, _window, _union, _join, _join, _set,
                          _semi, _top, _scalar, _with])  # fmt: skip
    return operation(r, depth - 1)


_READINGS = Query("SELECT event_time, v AS k, sensor AS s FROM readings")
_PEOPLE = Query("SELECT event_time, id AS k, name AS s FROM people")


_AGGREGATES = (
    "count(*)", "count(v)", "count(DISTINCT v)", "count(*) FILTER (WHERE v > 1)", "count_if(v > 2)", "sum(v)",
    "sum(v) FILTER (WHERE v < 4)", "sum(CAST(v AS DECIMAL(10, 2)) / 3)", "avg(CAST(v AS DECIMAL(10, 2)))", "min(v)",
    "max(s)", "min(v > 1)", "max(CAST(s AS BINARY))", "min(CAST(v AS DECIMAL(10, 2)))", "max(CAST(t AS DATE))",
    "min(CAST(v AS DOUBLE) * -0.0D)", "max(CASE WHEN v > 3 THEN double('NaN') ELSE v END)", "max(array(v, 1))",
    "min(named_struct('a b', v, 'x.y', s))", "max(struct(v AS `it`, struct(s AS `a``b`) AS `col`))", "bool_or(v > 0)",
    "some(v > 3)", "bit_xor(v)", "max(DISTINCT v)", "max_by(s, struct(v, s, t))", "sort_array(collect_list(v))",
    "sort_array(collect_set(s))", "percentile(v, 0.5)", "approx_count_distinct(v)",
)  # fmt: skip
_NAMES = (
    "col",
    "key",
    "value",
    "pos",
    "`count(1)`",
    "`a b`",
    "`a.b`",
    "`odd``name`",
    "`Größe`",
    "N",
    "`odf`",
    "record",
)
_GROUPS = (
    "s",
    "v % 2",
    "upper(s)",
    "date_trunc('day', t)",
    "struct(v % 2, s)",
    "CAST(v AS DECIMAL(4, 1))",
    "v IS NULL",
)
_VALUES = (
    "v + 1", "concat(s, '!')", "explode(array(v, 1))", "explode(sequence(0, coalesce(v, 0) % 3))", "sha2(s, 256)",
    "date_format(t, 'yyyy-MM-dd')", "named_struct('a b', v, 'c', s)", "posexplode(array(s))", "md5(s)", "v IN (1, 3)",
    "from_json(concat('{\"a\": ', v, '}'), 'a INT').a", "hash(s, v)", "s COLLATE UTF8_LCASE = 'A'",
)  # fmt: skip


def random_spark_query(r: Random) -> str:
    """Return a random query with functions, types and names of columns that only Spark has."""
    readings = "SELECT event_time AS t, v, sensor AS s FROM readings"
    people = "SELECT event_time AS t, id AS v, name AS s FROM people"
    joined = "SELECT r.event_time AS t, p.id AS v, p.name AS s FROM readings r JOIN people p ON p.id = r.v"
    rows = r.choice([readings, people, people, joined, f"{readings} UNION ALL {people}"])
    names = r.sample(_NAMES, 3)
    if r.random() < 0.3:
        return f"SELECT t AS event_time, {r.choice(_VALUES)}, v AS {names[0]} FROM ({rows})"
    shown = ", ".join(f"{sql} AS {name}" for sql, name in zip(r.sample(_AGGREGATES, 2), names, strict=False))
    if r.random() < 0.2:
        return f"SELECT max(t) AS event_time, {shown} FROM ({rows}) HAVING count(*) > 0"
    group = r.choice(_GROUPS)
    having = r.choice(["", "", " HAVING count(*) > 1"])
    return f"SELECT max(t) AS event_time, {group} AS {names[2]}, {shown} FROM ({rows}) GROUP BY {group}{having}"


def _below(r: Random, depth: int) -> Query:
    return random_query(r, r.randrange(depth + 1))


def _filter(r: Random, depth: int) -> Query:
    q = _below(r, depth)
    condition = r.choice(["k > 2", "k <= 4 OR s IS NULL", "s <> 'b'", "k % 2 = 0", "s IN ('a', 'c')", "k IS NULL"])
    return Query(f"SELECT * FROM ({q.sql}) q WHERE {condition}", q.numbers)


def _project(r: Random, depth: int) -> Query:
    q = _below(r, depth)
    k = r.choice(["k + 1", "k", "k * k", "CAST(coalesce(k, 0) AS BIGINT)", "-k"])
    s = r.choice(["upper(s)", "s", "coalesce(s, 'none')", "s || '!'"])
    return Query(f"SELECT event_time, {k} AS k, {s} AS s FROM ({q.sql}) q")


def _group(r: Random, depth: int) -> Query:
    q = _below(r, depth)
    keys, k, s = r.choice([
        ("s", "count(*)", "s"),
        ("k, s", "k", "s"),
        ("k", "k", "max(s)"),
        ("s", "sum(k)", "s"),
        ("k % 3", "k % 3", "min(s)"),
        ("date_trunc('day', event_time), s", "count(DISTINCT k)", "s"),
        ("upper(s)", "min(k)", "upper(s)"),
    ])  # fmt: skip
    having = r.choice(["", "", " HAVING count(*) > 1"])
    time = "date_trunc('day', event_time)" if "date_trunc" in keys else "max(event_time)"
    sql = f"SELECT {time} AS event_time, {k} AS k, {s} AS s, count(k) AS n FROM ({q.sql}) q GROUP BY {keys}{having}"
    return Query(sql, ("n",))


def _distinct(r: Random, depth: int) -> Query:
    q = _below(r, depth)
    return Query(f"SELECT DISTINCT event_time, k, s FROM ({q.sql}) q")


def _window(r: Random, depth: int) -> Query:
    q = _below(r, depth)
    by = r.choice(["PARTITION BY s ", "PARTITION BY k ", "PARTITION BY k % 2, s ", ""])
    every = ", ".join(f"{c} NULLS FIRST" for c in q.columns)
    value = r.choice([
        f"row_number() OVER ({by}ORDER BY {every})",
        f"sum(k) OVER ({by}ORDER BY {every} ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)",
        f"count(*) OVER ({by}ORDER BY event_time)",
        f"rank() OVER ({by}ORDER BY k DESC NULLS LAST)",
        f"max(k) OVER ({by.strip()})",
    ])  # fmt: skip
    sql = f"SELECT event_time, k, s, {value} AS w FROM ({q.sql}) q"
    if r.random() < 0.4:
        return Query(f"SELECT event_time, k, s, w FROM ({sql}) ranked WHERE w <= 3", ("w",))
    return Query(sql, ("w",))


def _union(r: Random, depth: int) -> Query:
    left, right = (f"SELECT event_time, k, s FROM ({_below(r, depth).sql}) u" for _ in "ab")
    return Query(f"{left} UNION{r.choice([' ALL', ''])} {right}")


def _set(r: Random, depth: int) -> Query:
    left, right = (f"SELECT event_time, k, s FROM ({_below(r, depth).sql}) u" for _ in "ab")
    return Query(f"({left}) {r.choice(['EXCEPT', 'INTERSECT'])} ({right})")


def _join(r: Random, depth: int) -> Query:
    left, right = _below(r, depth), _below(r, depth)
    kind = r.choice(["JOIN", "LEFT JOIN", "LEFT JOIN"])
    on = r.choice(["a.k = b.k", "a.s = b.s", "a.k = b.k AND a.s <> b.s", "a.k + 1 = b.k", "a.k = b.k AND a.s = b.s"])
    s = r.choice(["a.s", "b.s", "a.s || coalesce(b.s, '-')"])
    sql = f"SELECT a.event_time, a.k, {s} AS s, b.k AS bk FROM ({left.sql}) a {kind} ({right.sql}) b ON {on}"
    return Query(sql, ("bk",))


def _semi(r: Random, depth: int) -> Query:
    left, right = _below(r, depth), _below(r, depth)
    condition = r.choice([
        f"a.k IN (SELECT b.k FROM ({right.sql}) b)",
        f"EXISTS (SELECT * FROM ({right.sql}) b WHERE b.k = a.k)",
        f"NOT EXISTS (SELECT 1 FROM ({right.sql}) b WHERE b.s = a.s)",
    ])  # fmt: skip
    return Query(f"SELECT a.event_time, a.k, a.s FROM ({left.sql}) a WHERE {condition}")


def _top(r: Random, depth: int) -> Query:
    q = _below(r, depth)
    every = ", ".join(f"{c} NULLS FIRST" for c in q.columns)
    return Query(f"SELECT event_time, k, s FROM (SELECT * FROM ({q.sql}) q ORDER BY {every} LIMIT 4) t")


def _scalar(r: Random, depth: int) -> Query:
    q = _below(r, depth)
    return Query(f"SELECT event_time, k, s FROM ({q.sql}) q WHERE k >= (SELECT max(id) - 3 FROM people)")


def _with(r: Random, depth: int) -> Query:
    q = _below(r, depth)
    return Query(
        f"WITH c AS ({q.sql}) SELECT a.event_time, a.k, b.s FROM c a JOIN c b ON a.{(on := r.choice('ks'))} = b.{on}"
    )
