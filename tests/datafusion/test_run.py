"""Results of queries, their types, and how rows reach DataFusion."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from airflow_provider_odf.errors import InternalError, InvalidQuery
from tests.datafusion.conftest import ROWS, UTC


def times(*milliseconds: int) -> list[dt.datetime | None]:
    """Times of the three rows that have one."""
    return [*(dt.datetime(1970, 1, 1, tzinfo=UTC) + dt.timedelta(milliseconds=ms) for ms in milliseconds), None]


TIME = pa.timestamp("us", "UTC")
NULL = None


@pytest.mark.parametrize(
    ("expression", "type_", "values"),
    [
        ("t + interval '3 hours 15'", TIME, times(10_815_000, 10_814_999, 1_600_010_815_123)),
        ("t + interval '-1 day'", TIME, times(-86_400_000, -86_400_001, 1_599_913_600_123)),
        ("cast('12.34' as decimal)", pa.decimal128(38, 10), [Decimal("12.3400000000")] * 4),
        ("f / 3", pa.float32(), [0.03333333507180214, -0.0, 0.5, NULL]),
        ("f / f", pa.float32(), [1.0, "nan", 1.0, NULL]),
        ("n / cast(2 as int)", pa.int32(), [3, -3, 1, NULL]),
        ("n / 2", pa.int64(), [3, -3, 1, NULL]),
        ("cast(t as timestamp(0))", TIME, times(0, 0, 1_600_000_000_000)),
        ("case when id = 2 then d else 0.0 end", pa.float64(), [0.0, -0.0, 0.0, 0.0]),
        ("lower(s)", pa.string(), ["i\u0307stanbul", "straße", "a,b", NULL]),
        ("upper(s)", pa.string(), ["İSTANBUL", "STRASSE", "A,B", NULL]),
        ("m / 3", pa.decimal128(16, 6), [Decimal("0.500000"), Decimal("-0.850000"), Decimal("0.003333"), NULL]),
        ("try_cast(s as bigint)", pa.int64(), [NULL] * 4),
        ("cast(d as varchar)", pa.string(), ["0.1", "-0.0", "1.5", NULL]),
        ("cast(t as varchar)", pa.string(),
         ["1970-01-01T00:00:00Z", "1969-12-31T23:59:59.999Z", "2020-09-13T12:26:40.123Z", NULL]),
        ("cast(t as bigint)", pa.int64(), [0, -1, 1_600_000_000_123, NULL]),
        ("to_timestamp_millis(cast(t as bigint))", TIME, times(0, -1, 1_600_000_000_123)),
        ("l[1]", pa.int64(), [1, NULL, NULL, NULL]),
        ("\"Name\" || '${env:HOME}'", pa.string(), ["x${env:HOME}", "y${env:HOME}", "z${env:HOME}", NULL]),
        ("arrow_cast(id, 'UInt8')", pa.int16(), [1, 2, 3, NULL]),
        ("arrow_cast(s, 'Utf8View')", pa.string(), ["İstanbul", "straße", "a,b", NULL]),
        ("arrow_cast(s, 'Dictionary(Int32, LargeUtf8)')", pa.string(), ["İstanbul", "straße", "a,b", NULL]),
        ("arrow_cast(f, 'Float16')", pa.float32(), [0.0999755859375, -0.0, 1.5, NULL]),
        ("make_array(s)", pa.list_(pa.string()), [["İstanbul"], ["straße"], ["a,b"], [NULL]]),
        ("named_struct('x', id, 't', t)", pa.struct([("x", pa.int64()), ("t", TIME)]),
         [{"x": x, "t": t} for x, t in zip([1, 2, 3, NULL], times(0, -1, 1_600_000_000_123), strict=True)]),
        # Cut towards 1970, as the reference cuts it.
        ("to_timestamp_nanos(-1500000 + id * 0)", TIME, times(-1, -1, -1)),
    ],
)  # fmt: skip
def test_values_and_types(run: Callable[..., pa.Table], expression: str, type_: pa.DataType, values: list[Any]) -> None:
    column = run(f"select {expression} as x from input")["x"]
    assert column.type == type_
    shown = [str(v) if isinstance(v, float) and (v != v or v == 0) else v for v in column.to_pylist()]
    assert shown == [str(v) if isinstance(v, float) and v == 0 else v for v in values]


@pytest.mark.parametrize(
    ("queries", "rows"),
    [
        (["select avg(n) as a, round(stddev(n), 6) as s, array_agg(n order by n) as l from input"],
         [{"a": 0.6666666666666666, "s": 7.094599, "l": [-7, 2, 7, None]}]),
        (["select unnest(l) as x, id from input"],
         [{"x": 1, "id": 1}, {"x": 2, "id": 1}, {"x": None, "id": 3}, {"x": 3, "id": 3}]),
        (["select id, b.n from input as a join input as b using (id) order by id"],
         [{"id": 1, "n": 7}, {"id": 2, "n": -7}, {"id": 3, "n": 2}]),
        (["select id from input qualify row_number() over (order by n desc nulls last) = 1"], [{"id": 1}]),
        (["values (1, 'a'), (2, 'b')"], [{"column1": 1, "column2": "a"}, {"column1": 2, "column2": "b"}]),
        (["with input as (select 7 as x) select * from input"], [{"x": 7}]),
        (["select id from input where id < 3 union all select n from input where n > 0"],
         [{"id": 1}, {"id": 2}, {"id": 7}, {"id": 2}]),
        (["select id, row_number() over () as r from input"],
         [{"id": i, "r": r} for r, i in enumerate([1, 2, 3, None], 1)]),
        (["select max(id) as id from input", 'select id * 10 as x, s from "step 1" join input using (id)'],
         [{"x": 30, "s": "a,b"}]),
    ],
)  # fmt: skip
def test_rows(run: Callable[..., pa.Table], queries: list[str], rows: list[dict[str, Any]]) -> None:
    assert run(*queries).to_pylist() == rows


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("cast(s as bigint)", "preprocess: Cannot cast string 'İstanbul' to value of Int64 type"),
        ("n / 0", "preprocess: Divide by zero error"),
        ("arrow_cast(18446744073709551615, 'UInt64')", "preprocess: column x: Integer value 18446744073709551615"),
    ],
)  # fmt: skip
def test_values_that_cannot_be_are_errors(run: Callable[..., pa.Table], expression: str, message: str) -> None:
    with pytest.raises(InvalidQuery) as refused:
        run(f"select {expression} as x from input")
    assert str(refused.value).startswith(message)


def test_without_rows(job: Callable[..., Any]) -> None:
    assert job("select id from input").on_tables({"input": ROWS.slice(0, 0)}).num_rows == 0
    assert job("select count(*) as c from input").on_tables({"input": ROWS.slice(0, 0)}).to_pylist() == [{"c": 0}]


def from_spark(table: pa.Table) -> list[pa.RecordBatch]:
    """Batches as Spark hands them to Python: times in microseconds, elements of lists called so."""
    element = pa.list_(pa.field("element", pa.int64()))
    types = {"t": pa.timestamp("us", "UTC"), "l": element}
    schema = pa.schema([pa.field(f.name, types.get(f.name, f.type)) for f in table.schema])
    return table.cast(schema).to_batches(max_chunksize=1)


def test_part_by_part_and_at_once_give_the_same(job: Callable[..., Any], tmp_path: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr("airflow_provider_odf.datafusion.run.PART_ROWS", 2)
    row_wise = job("select id, t, l, cast(t as varchar) as x from input where n <> 2 or n is null")
    wanted = row_wise.on_tables({"input": ROWS})
    assert wanted["x"].to_pylist() == ["1970-01-01T00:00:00Z", "1969-12-31T23:59:59.999Z", None]
    parts = list(row_wise.by_part(iter(from_spark(ROWS))))
    assert [batch.num_rows for batch in parts] == [2, 1]
    assert pa.Table.from_batches(parts) == wanted
    job = replace(job("select id, t from input order by id desc nulls last"), scratch=str(tmp_path))
    assert pa.Table.from_batches(job.at_once(iter(from_spark(ROWS)))) == job.on_tables({"input": ROWS})
    assert list(tmp_path.iterdir()) == []


def test_more_than_fits_into_memory_is_spilled(job: Callable[..., Any], tmp_path: Any) -> None:
    numbers = pa.table({"id": pa.array(range(400_000), pa.int64())})
    query = "select id, repeat('x', 50) || id as s from input order by s desc"
    small = replace(job(query, columns=numbers.schema), memory=16 * 1024 * 1024, scratch=str(tmp_path))
    rows = pa.Table.from_batches(small.at_once(iter(numbers.to_batches(max_chunksize=10_000))))
    assert rows.num_rows == 400_000
    assert rows["id"][0].as_py() == 99_999
    distinct = job("select count(distinct repeat('x', 50) || id) as c from input", columns=numbers.schema)
    with pytest.raises(InternalError, match="Resources exhausted"):
        list(replace(distinct, memory=1024, scratch=str(tmp_path)).at_once(iter(numbers.to_batches())))
    assert list(tmp_path.iterdir()) == []


def test_a_worker_with_another_version(job: Callable[..., Any]) -> None:
    with pytest.raises(InvalidQuery, match=r"planned with datafusion 1\.2\.3, and this Spark worker has"):
        list(replace(job("select id from input"), version="1.2.3").by_part(iter([])))


def test_there_is_no_empty_batch_after_which_spark_would_read_nothing(job):
    union = job("select id from input where id < 0 union all select id from input")
    assert all(batch.num_rows for batch in union.on_tables({"input": ROWS}).to_batches())
    assert union.on_tables({"input": ROWS}).num_rows == ROWS.num_rows
