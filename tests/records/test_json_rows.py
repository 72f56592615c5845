from __future__ import annotations

import json
from decimal import Decimal

import pyarrow as pa
import pytest

from airflow_provider_odf.records import json_rows


@pytest.mark.parametrize(
    ("type_", "given", "expected"),
    [
        (pa.timestamp("ms", "UTC"), [0, 1500, None], ["1970-01-01T00:00:00Z", "1970-01-01T00:00:01.500Z", None]),
        (pa.timestamp("s", "+02:00"), [0], ["1970-01-01T00:00:00Z"]),
        (pa.timestamp("ns"), [1, -1], ["1970-01-01T00:00:00.000000001", "1969-12-31T23:59:59.999999999"]),
        (pa.timestamp("ms", "UTC"), [2**60], [f"{2**60 * 1000000} ns since 1970"]),
        (pa.date32(), [0, -719162, 2932897], ["1970-01-01", "0001-01-01", "2932897 days since 1970"]),
        (pa.date64(), [86_400_000], ["1970-01-02"]),
        (pa.time32("s"), [3661], ["01:01:01"]),
        (pa.time64("us"), [3_661_000_001], ["01:01:01.000001"]),
        (pa.duration("ms"), [1500, 0, 60_000], ["PT1.5S", "PT0S", "PT60S"]),
        (pa.decimal128(10, 3), [Decimal("1.500"), Decimal("0.000"), None], ["1.500", "0.000", None]),
        (pa.decimal128(5, -2), [Decimal("12300")], ["12300"]),
        (pa.float64(), [1.5, float("nan"), float("inf"), float("-inf")], [1.5, "NaN", "Infinity", "-Infinity"]),
        (pa.float32(), [0.1, 3.4e38, float("nan"), 16777216.0], [0.1, 3.4e38, "NaN", 16777216.0]),
        (pa.binary(), [b"\x00\xff", b"", None], ["AP8=", "", None]),
        (pa.binary(2), [b"ab"], ["YWI="]),
        (pa.uint64(), [2**64 - 1], [2**64 - 1]),
        (pa.bool_(), [True, None], [True, None]),
        (pa.list_(pa.decimal128(3, 1)), [[Decimal("1.0"), None], [], None], [["1.0", None], [], None]),
        (pa.list_(pa.list_(pa.date32())), [[[0], None], [[]]], [[["1970-01-01"], None], [[]]]),
        (pa.list_(pa.int64(), 2), [[1, 2], None, [3, 4]], [[1, 2], None, [3, 4]]),
        (
            pa.struct([("a", pa.date32()), ("b", pa.list_(pa.binary()))]),
            [{"a": 0, "b": [b"x"]}, None, {"a": None, "b": None}],
            [{"a": "1970-01-01", "b": ["eA=="]}, None, {"a": None, "b": None}],
        ),
        (pa.map_(pa.string(), pa.date32()), [[("k", 0)], None, []], [[["k", "1970-01-01"]], None, []]),
        (pa.dictionary(pa.int8(), pa.string()), ["a", None, "a"], ["a", None, "a"]),
        (pa.null(), [None], [None]),
    ],
    ids=str,
)
def test_values(type_, given, expected):
    array = pa.array(given, type_)
    assert json_rows.values(array) == expected
    assert json.loads(json.dumps(json_rows.values(array), allow_nan=False)) == expected


def test_sliced_arrays():
    array = pa.array([[1], [2, 3], None, [4]], pa.list_(pa.int64())).slice(1, 3)
    assert json_rows.values(array) == [[2, 3], None, [4]]
    structs = pa.array([{"a": 1}, None, {"a": 3}], pa.struct([("a", pa.int64())])).slice(1)
    assert json_rows.values(structs) == [None, {"a": 3}]


def test_rows_across_chunks():
    table = pa.table(
        {"op": pa.chunked_array([[0, 1], [2, 3, 7]]), "x": pa.chunked_array([["a"], ["b", "c", "d", "e"]])}
    )
    assert list(json_rows.rows(table, "op")) == [
        {"op": "+A", "x": "a"},
        {"op": "-R", "x": "b"},
        {"op": "-C", "x": "c"},
        {"op": "+C", "x": "d"},
        {"op": 7, "x": "e"},
    ]
