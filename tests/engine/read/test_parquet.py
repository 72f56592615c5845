"""ReadStep::Parquet."""

from __future__ import annotations

import datetime as dt
import io
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytestmark = pytest.mark.spark
UTC = dt.UTC
LABEL = "https://example.com/data"


def parquet(*, int96: bool = False, **columns: Any) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(pa.table(columns), buffer, use_deprecated_int96_timestamps=int96)
    return buffer.getvalue()


def test_types_without_a_schema(read) -> None:
    data = parquet(
        u8=pa.array([1], pa.uint8()),
        u32=pa.array([2**32 - 1], pa.uint32()),
        u64=pa.array([2**64 - 1], pa.uint64()),
        naive=pa.array([1577934245000], pa.timestamp("ms")),
        ns=pa.array([1577934245123456789], pa.timestamp("ns")),
        before=pa.array([-1], pa.timestamp("ns", "UTC")),
        d=pa.array([Decimal("1.50")]),
        s=["x"],
        struct=[{"a": [1]}],
    )
    table = read("Parquet", data).frame.toArrow()
    assert table.to_pylist() == [
        {
            "u8": 1,
            "u32": 2**32 - 1,
            "u64": Decimal(2**64 - 1),
            "naive": dt.datetime(2020, 1, 2, 3, 4, 5, tzinfo=UTC),
            "ns": dt.datetime(2020, 1, 2, 3, 4, 5, 123456, tzinfo=UTC),
            "before": dt.datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
            "d": Decimal("1.50"),
            "s": "x",
            "struct": {"a": [1]},
        }
    ]
    assert table.schema.field("u32").type == pa.int64()
    assert table.schema.field("naive").type == pa.timestamp("us", "UTC")


def test_times_of_96_bits(read) -> None:
    times = pa.array([1577934245123456789, -1, None], pa.timestamp("ns"))
    expected = [
        dt.datetime(2020, 1, 2, 3, 4, 5, 123456, tzinfo=UTC),
        dt.datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
        None,
    ]
    data = parquet(int96=True, t=times, u=pa.array([1, 2, 3], pa.timestamp("us", "UTC")), s=[{"t": 1}] * 3)
    assert read("Parquet", data).frame.toArrow().column("t").to_pylist() == expected
    assert read("Parquet", data, ["t TIMESTAMP"]).frame.toArrow().column("t").to_pylist() == expected


def test_half_floats_are_refused(refusal_of) -> None:
    half = pa.array([1.5], pa.float32()).cast(pa.float16())
    message = f"{LABEL}: column h: FLOAT16 cannot be read: write the file with FLOAT"
    assert refusal_of("Parquet", parquet(a=[1], h=half)) == message
    assert refusal_of("Parquet", parquet(a=[1], h=half), ["a INT"]) == message


_MILLIS = ": a number must be whole milliseconds since 1970, in the years 1 to 9999"


@pytest.mark.parametrize(
    ("column", "kind", "advice"),
    [
        (pa.array([1], pa.time32("ms")), "a TIME of milliseconds", "one of microseconds"),
        (pa.array([1], pa.time64("ns")), "a TIME of nanoseconds", "one of microseconds"),
        (pa.array([[1]], pa.list_(pa.timestamp("ns"))), "a nested TIMESTAMP of nanoseconds", "one of microseconds"),
        (pa.array([Decimal(1)], pa.decimal256(60, 2)), "a DECIMAL of 60 digits", "38 at most"),
    ],
)
def test_types_that_spark_cannot_read(refusal_of, column: pa.Array, kind: str, advice: str) -> None:
    path = "c.list.element" if pa.types.is_list(column.type) else "c"
    message = f"{LABEL}: column {path}: {kind} cannot be read: write the file with {advice}"
    assert refusal_of("Parquet", parquet(a=[1], c=column)) == message


def test_names_that_spark_cannot_read(refusal_of) -> None:
    message = f"{LABEL}: the columns a and A differ only by case: write the file with other names"
    assert refusal_of("Parquet", parquet(a=[1], A=[1])) == message
    assert refusal_of("Parquet", parquet(**{"": [1]})) == (
        f"{LABEL}: a column has no name: write the file with a name for each column"
    )


def test_types_of_arrow(read) -> None:
    data = parquet(
        **{"a.b": pa.array([1_000], pa.timestamp("ns", "UTC"))},
        time=pa.array([1], pa.time64("us")),
        date=pa.array([1], pa.date32()),
        binary=pa.array([b"ab"], pa.binary(2)),
        dictionary=pa.array(["x"]).dictionary_encode(),
        large=pa.array(["x"], pa.large_string()),
        decimal=pa.array([Decimal("1.50")], pa.decimal128(38, 2)),
        list=[[1, None]],
        map=pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int8())),
    )
    assert read("Parquet", data).frame.toArrow().to_pylist() == [
        {
            "a.b": dt.datetime(1970, 1, 1, 0, 0, 0, 1, tzinfo=UTC),
            "time": dt.time(0, 0, 0, 1),
            "date": dt.date(1970, 1, 2),
            "binary": b"ab",
            "dictionary": "x",
            "large": "x",
            "decimal": Decimal("1.50"),
            "list": [1, None],
            "map": [("k", 1)],
        }
    ]


def test_a_damaged_page(refusal_of) -> None:
    data = parquet(a=[1], b=["x"])
    message = refusal_of("Parquet", data[:40] + bytes(40) + data[80:], ["a BIGINT", "b STRING"])
    assert message.startswith("https://example.com/data: the Parquet file is damaged: ")


@pytest.mark.parametrize(
    ("column", "value"),
    [("double DECIMAL(8,2)", "1.239"), ("decimal DECIMAL(8,2)", "1.239"), ("large FLOAT", "1.0E60")],
)
def test_numbers_that_do_not_fit(read, refusal_of, column: str, value: str) -> None:
    data = parquet(double=[1.239, 0.1], decimal=[Decimal("1.239"), Decimal("1.200")], large=[1e60, 0.1])
    name, kind = column.split(" ")
    assert refusal_of("Parquet", data, [column]) == f"{LABEL}: row 1, column {name}: '{value}' is not a {kind}"


def test_the_number_after_the_last_integer_is_refused(refusal_of) -> None:
    message = f"{LABEL}: row 1, column last: '9.223372036854776E18' is not a BIGINT"
    assert refusal_of("Parquet", parquet(last=[2.0**63]), ["last BIGINT"]) == message


def test_digits_of_numbers(read) -> None:
    data = parquet(single=pa.array([0.1], pa.float32()), whole=[2.0**62], large=[2**60], nested=[{"a": 1}])
    columns = ["single DECIMAL(20,15)", "whole DECIMAL(20,0)", "large DOUBLE", "nested VARCHAR(9)"]
    assert [tuple(row) for row in read("Parquet", data, columns).frame.collect()] == [
        (Decimal("0.100000000000000"), Decimal(2**62), 2.0**60, '{"a":1}')
    ]


def test_numbers_that_fit(read) -> None:
    data = parquet(double=[0.1], single=pa.array([0.1], pa.float32()), decimal=[Decimal("1.200")], inf=[float("inf")])
    columns = ["double DECIMAL(8,2)", "single DECIMAL(8,2)", "decimal DECIMAL(8,2)", "inf FLOAT"]
    assert [tuple(row) for row in read("Parquet", data, columns).frame.collect()] == [
        (Decimal("0.10"), Decimal("0.10"), Decimal("1.20"), float("inf"))
    ]


def test_a_schema_coerces_picks_and_orders_columns(read) -> None:
    data = parquet(id=[1, 2], day=["2020-01-02", None], ms=[1577934245000, 0], extra=[0, 0])
    result = read("Parquet", data, ["MS TIMESTAMP", "day DATE", "id STRING NOT NULL"])
    assert result.frame.toArrow().to_pylist()[0] == {
        "MS": dt.datetime(2020, 1, 2, 3, 4, 5, tzinfo=UTC),
        "day": dt.date(2020, 1, 2),
        "id": "1",
    }
    assert result.notices == (f"{LABEL}: ignored columns that are not in the schema: extra",)
    assert [f.nullable for f in result.frame.schema] == [True, True, False]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (["s INT"], "row 2, column s: 'x' is not an INT"),
        (["f BIGINT"], "row 2, column f: '14.5' is not a BIGINT"),
        (["i TINYINT"], "row 2, column i: '128' is not a TINYINT"),
        (["n INT NOT NULL"], "row 2, column n: null, but the schema declares NOT NULL"),
        (["nope INT", "s STRING"], "no column nope in the file, which has s, f, i, n"),
    ],
)
def test_refused(refusal_of, columns: list[str], message: str) -> None:
    data = parquet(s=["1", "x"], f=[1.0, 14.5], i=[1, 128], n=[1, None])
    assert refusal_of("Parquet", data, columns) == f"{LABEL}: {message}"


@pytest.mark.parametrize(
    ("values", "column", "expected"),
    [
        ([[1.0, None]], "v ARRAY<INT>", [1, None]),
        ([[["1"]]], "v ARRAY<ARRAY<DECIMAL(4,2)>>", [[Decimal("1.00")]]),
        ([{"a": 1, "b": "2026-05-01"}], "v STRUCT<B: DATE, a: STRING>", {"B": dt.date(2026, 5, 1), "a": "1"}),
        ([[{"a": 1}]], "v ARRAY<STRUCT<a: INT NOT NULL>>", [{"a": 1}]),
        (pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int8())), "v MAP<STRING, BIGINT>", [("k", 1)]),
        ([{"a": [1, None], "b": None}], "v STRING", '{"a":[1,null],"b":null}'),
        ([b"ab"], "v STRING", "ab"),
        (["ab"], "v BINARY", b"ab"),
        ([1577934245000.0], "v TIMESTAMP", dt.datetime(2020, 1, 2, 3, 4, 5, tzinfo=UTC)),
        (pa.array([1], pa.date32()), "v TIMESTAMP", dt.datetime(1970, 1, 2, tzinfo=UTC)),
        (pa.array([86_400_001], pa.timestamp("ms")), "v DATE", dt.date(1970, 1, 2)),
        (pa.array([[1577934245000]], pa.list_(pa.timestamp("ms"))), "v ARRAY<TIMESTAMP>",
         [dt.datetime(2020, 1, 2, 3, 4, 5, tzinfo=UTC)]),
    ],
)  # fmt: skip
def test_values_become_other_types(read, values: Any, column: str, expected: object) -> None:
    assert read("Parquet", parquet(v=values), [column]).frame.toArrow().to_pylist() == [{"v": expected}]


@pytest.mark.parametrize(
    ("values", "column", "message"),
    [
        ([["1", "x"]], "v ARRAY<INT>", "row 1, column v[]: 'x' is not an INT"),
        ([[1.5]], "v ARRAY<INT>", "row 1, column v[]: '1.5' is not an INT"),
        ([{"a": {"b": 300}}], "v STRUCT<a: STRUCT<b: TINYINT>>", "row 1, column v.a.b: '300' is not a TINYINT"),
        ([{"a": None}], "v STRUCT<a: BIGINT NOT NULL>", "row 1, column v.a: null, but the schema declares NOT NULL"),
        ([[{"a": 1}]], "v ARRAY<STRUCT<b: INT>>", "column v[] has no field b in the file, only a"),
        ([1.5], "v TIMESTAMP", "row 1, column v: '1.5' is not a TIMESTAMP" + _MILLIS),
        ([1, 1_700_000_000_000_000], "v TIMESTAMP", "row 2, column v: '1700000000000000' is not a TIMESTAMP" + _MILLIS),
        ([b"\xff"], "v STRING", "row 1, column v: '\ufffd' is not a STRING"),
        ([1], "v ARRAY<INT>", "column v is BIGINT in the file, which cannot be read as ARRAY<INT>"),
        (["[1]"], "v ARRAY<INT>", "column v is STRING in the file, which cannot be read as ARRAY<INT>"),
        ([2], "v BOOLEAN", "column v is BIGINT in the file, which cannot be read as BOOLEAN"),
        ([True], "v INT", "column v is BOOLEAN in the file, which cannot be read as INT"),
        ([1], "v DATE", "column v is BIGINT in the file, which cannot be read as DATE"),
        ([[1]], "v ARRAY<DATE>", "column v[] is BIGINT in the file, which cannot be read as DATE"),
    ],
)
def test_values_that_do_not_become_other_types(refusal_of, values: Any, column: str, message: str) -> None:
    assert refusal_of("Parquet", parquet(v=values), [column]) == f"{LABEL}: {message}"


def test_fields_beyond_the_schema_are_told(read) -> None:
    data = parquet(v=[[{"a": 1, "b": 2}]], w=[1])
    assert read("Parquet", data, ["v ARRAY<STRUCT<A: INT>>"]).notices == (
        f"{LABEL}: ignored columns that are not in the schema: w, v[].b",
    )


def test_no_parquet(refusal_of) -> None:
    assert refusal_of("Parquet", "a,b\n").startswith(f"{LABEL}: not a Parquet file: ")


def test_other_kinds_are_refused(refusal_of) -> None:
    assert refusal_of("Avro", "{}").startswith("read: Avro is not a kind of read step: use one of Csv, ")
