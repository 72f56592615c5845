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
