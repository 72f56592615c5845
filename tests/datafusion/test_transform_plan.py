"""Plans of transforms: several tables, the columns that count, and what is not determined by the rows."""

from __future__ import annotations

import pyarrow as pa
import pytest

from airflow_provider_odf.datafusion.plan import plan_transform
from airflow_provider_odf.datafusion.query_text import QueryProblem
from airflow_provider_odf.protocol import SqlQueryStep

_SYSTEM = [("offset", pa.int64()), ("op", pa.int32()), ("system_time", pa.timestamp("ms", "UTC"))]
_TABLES = {
    "covid19.canada": pa.schema([*_SYSTEM, ("day", pa.date32()), ("id", pa.int64())]),
    "cities": pa.schema([*_SYSTEM, ("id", pa.int64()), ("Name", pa.string())]),
}


def _steps(*queries: str) -> tuple[SqlQueryStep, ...]:
    return tuple(SqlQueryStep(q, f"q{n}" if n < len(queries) else None) for n, q in enumerate(queries, 1))


@pytest.mark.parametrize(
    ("queries", "is_row_wise", "used"),
    [
        (['select id + 1 as n from "covid19.canada" where op = 0'], True, ({"op", "id"}, set())),
        (['select id from "covid19.canada" union all select id from cities'], True, ({"id"}, {"id"})),
        (['select * from "covid19.canada"', "select id from q1"], True, ({"id"}, set())),
        (['select * from "covid19.canada"'], True, ({"offset", "op", "system_time", "day", "id"}, set())),
        (
            ['select day, "Name" from "covid19.canada" a join cities b using (id)'],
            False,
            ({"day", "id"}, {"id", "Name"}),
        ),
        (["select count(*) as n from cities"], False, (set(), set())),
        (["select id from cities where id in (select offset from cities)"], False, (set(), {"id", "offset"})),
    ],
)  # fmt: skip
def test_a_plan_says_which_columns_count(
    queries: list[str], is_row_wise: bool, used: tuple[set[str], set[str]]
) -> None:
    planned = plan_transform(_steps(*queries), _TABLES)
    assert planned.is_row_wise is is_row_wise
    assert tuple(map(set, planned.used.values())) == used


def test_system_columns_have_the_types_of_the_reference() -> None:
    planned = plan_transform(_steps('select offset, op, system_time, day from "covid19.canada"'), _TABLES)
    assert planned.output.types == [pa.int64(), pa.int32(), pa.timestamp("ms", "UTC"), pa.date32()]


@pytest.mark.parametrize(
    ("queries", "message"),
    [
        (["select id, now() as at from cities"], "query 1, 1:12: now has another value in each run (use"),
        (["select id from cities", "select id from q1 where\n random() > 0.5"], "query 2, 2:2: random has another"),
        (["select current_date as d from cities"], "query 1, 1:8: current_date has another value in each run"),
        (["select id from cities limit 2"], "query 1, 1:23: LIMIT without ORDER BY takes any rows (add ORDER BY with"),
        (["select id from nope"], "query 1, 1:16: table 'nope' not found"),
    ],
)  # fmt: skip
def test_refusals(queries: list[str], message: str) -> None:
    with pytest.raises(QueryProblem) as refused:
        plan_transform(_steps(*queries), _TABLES)
    assert str(refused.value).startswith(message)


_TIES = "has ties: rows with equal values in it can have any order (add columns to"
_PLAIN = {"covid": _TABLES["covid19.canada"], "cities": _TABLES["cities"]}
_KEYS = {"covid": [("offset",)], "cities": [("offset",), ("id",)]}


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ('select id from cities order by "Name" limit 2', f"query 1, 1:39: the ORDER BY before LIMIT {_TIES} O"),
        ("select id, day\nfrom covid order by id offset 3", f"query 1, 2:24: the ORDER BY before OFFSET {_TIES}"),
        (
            'select id, row_number() over (partition by id % 2 order by "Name") as n from cities',
            f"query 1, 1:12: the order of row_number {_TIES} its ORDER BY until no two rows are equal in it)",
        ),
        ('select lag(id) over (order by "Name") as n from cities', f"query 1, 1:8: the order of lag {_TIES} its"),
        (
            "select sum(id) over (order by day rows between 1 preceding and current row) as n from covid",
            f"query 1, 1:8: the order of sum {_TIES} its",
        ),
        (
            "select id, row_number() over (order by id) as n from (select id from cities union all select 1)",
            "query 1, 1:12: the order of row_number has ties",
        ),
        (
            "select a.id from cities a join covid b on a.id = b.id order by b.day limit 1",
            "query 1, 1:70: the ORDER BY before LIMIT has ties",
        ),
        (
            "select day, array_agg(id) as ids from covid group by day",
            "query 1, 1:13: array_agg depends on the order of the rows, which is not defined (order them: array_agg(",
        ),
        (
            "select first_value(id order by day) as id from covid group by op",
            "query 1, 1:8: first_value depends on the order of the rows",
        ),
        ("select distinct on (op) op, id from covid order by op, id", "query 1, 1:8: DISTINCT ON takes any of several"),
        (
            "select id from cities where id = (select id from cities order by id limit 1)",
            "query 1, 1:69: a subquery in an expression cannot have LIMIT, windows or aggregates that depend on",
        ),
    ],
)  # fmt: skip
def test_orders_with_ties_are_refused(query: str, message: str) -> None:
    with pytest.raises(QueryProblem) as refused:
        plan_transform(_steps(query), _PLAIN, _KEYS)
    assert str(refused.value).startswith(message)


@pytest.mark.parametrize(
    "query",
    [
        'select "Name", id from cities order by "Name", id limit 2',
        'select * from (select "Name" as n, id as k from cities) t order by n, k limit 2',
        'select "Name" from cities order by "Name" limit 2',
        "select distinct day from covid order by day limit 2",
        "select day, count(*) as n from covid group by day order by n, day limit 2",
        "select day, row_number() over (order by day, offset) as n from covid",
        "select day, rank() over (order by day) as n, sum(id) over (partition by op order by day) as s from covid",
        "select day, sum(id) over (partition by op) as s from covid",
        "select a.id, row_number() over (order by a.id, b.offset) as n from cities a join covid b on a.id = b.id",
        "select id, lag(id) over (order by id) as n from (select id from cities where id > 1 order by id desc) t",
        "select day, array_agg(id order by id) as a, string_agg(id, ',' order by offset) as t from covid group by day",
        "with t as (select id, count(*) as n from covid group by id) "
        "select id from (select *, row_number() over (partition by n order by id) as p from t) where p = 1",
        "select id from cities where id in (select id from covid) order by id limit 3",
    ],
)
def test_orders_without_ties_are_accepted(query: str) -> None:
    plan_transform(_steps(query), _PLAIN, _KEYS)


def test_texts_are_no_problem() -> None:
    query = "select id, 'now()' as now from cities"
    assert plan_transform(_steps(query), _TABLES).output.names == ["id", "now"]
