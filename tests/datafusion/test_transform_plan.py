"""Plans of transforms: several tables, the columns that count, and what is not determined by the rows."""

from __future__ import annotations

import pyarrow as pa
import pytest

from airflow_provider_odf.datafusion.plan import plan_transform
from airflow_provider_odf.datafusion.query_problem import QueryProblem
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


def test_texts_and_ordered_limits_are_no_problem() -> None:
    query = "select id, 'now()' as now from cities order by id desc, \"Name\" limit 2"
    assert plan_transform(_steps(query), _TABLES).output.names == ["id", "now"]
