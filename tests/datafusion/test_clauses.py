"""Clauses over columns of every type, row by row and at once, beside DataFusion alone on the same rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import datafusion
import pyarrow as pa
import pytest

from airflow_provider_odf.datafusion.query_text import QueryProblem
from airflow_provider_odf.datafusion.run import Job
from tests.datafusion.conftest import ROWS

CLAUSES = (
    "select id, {c} from input order by {c} nulls first, id",
    "select id, {c} from input order by {c} desc nulls last, id limit 2 offset 1",
    "select {c}, count(*) as n from input group by {c} order by n, {c}",
    "select distinct {c} from input order by {c}",
    "select min({c}) as a, max({c}) as b, count(distinct {c}) as n from input",
    "select first_value({c} order by n) as a, array_agg({c} order by n) as b from input",
    "select id, lag({c}) over (order by n) as a, dense_rank() over (order by {c}) as r from input order by id",
    "select id, case when id > 1 then {c} end as a, coalesce({c}, {c}) as b, nullif({c}, {c}) as d from input",
    "select id, {c} from input where {c} is not null",
    "select a.id, b.{c} as x from input a left join input b on a.{c} = b.{c} order by a.id",
    "select id from input where {c} in (select {c} from input where id < 3) order by id",
    "select make_array({c}, {c}) as a, named_struct('p', {c}, 'q', id) as s from input",
    "select unnest(make_array({c}, null)) as a, id from input",
    "select concat({c}, '-') as a, md5(cast({c} as varchar)) as b from input",
    "select median({c}) as a from input",
    "select date_trunc('hour', {c}) as a, date_part('epoch', {c}) as b, {c} + interval '1 month' as d from input",
    "select round({c}, 1) as a, floor({c}) as b, power({c}, 2) as d from input",
    "select try_cast({c} as int) as a, try_cast({c} as date) as b from input",
    "select arrow_cast({c}, 'Utf8View') as a, arrow_cast({c}, 'LargeUtf8') as b from input",
    "select arrow_cast({c}, 'Dictionary(Int32, Utf8)') as a from input",
    "select arrow_cast({c}, 'Timestamp(Nanosecond, None)') as a from input",
)


def alone(query: str) -> pa.Table | None:
    settings = datafusion.SessionConfig({"datafusion.sql_parser.enable_ident_normalization": "false"})
    context = datafusion.SessionContext(settings.with_target_partitions(1))
    context.register_record_batches("input", [ROWS.to_batches()])
    try:
        return context.sql(query).to_arrow_table()
    except Exception:
        return None


def values(column: pa.ChunkedArray) -> str:
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.timestamp("ms", column.type.tz), safe=False).cast(pa.int64())
    if pa.types.is_date64(column.type):
        column = column.cast(pa.date32())
    return repr(column.to_pylist())


def rows(table: pa.Table) -> list[Any]:
    return [table.column_names, *map(values, table.columns)]


@pytest.mark.parametrize("column", ROWS.column_names)
def test_clauses_are_those_of_datafusion(job: Callable[..., Job], column: str) -> None:
    compared = 0
    for query in (clause.format(c=column) for clause in CLAUSES):
        try:
            planned = job(query)
        except QueryProblem:
            assert alone(query) is None, query
            continue
        try:
            table = planned.on_tables({"input": ROWS})
        except Exception:
            assert alone(query) is None, query
            continue
        batches = list(planned.at_once(ROWS.to_batches()))
        expected = alone(query)
        assert expected is not None
        compared += 1
        assert rows(table) == rows(expected), query
        assert rows(pa.Table.from_batches(batches, planned.output)) == rows(expected), query
    assert compared >= 8
