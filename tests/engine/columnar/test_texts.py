"""Every text that Arrow reads as a typed value has that value for the strict reader too."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from pyspark.sql import types as st

from airflow_provider_odf.engine.columnar import texts
from airflow_provider_odf.engine.read.scalar import Formats, is_in_range, scalar
from tests.engine.columnar.value_texts import value_texts

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def _words(text: str) -> list[str]:
    return text.split()


KINDS: dict[str, tuple[st.DataType, pa.DataType]] = {
    "boolean": (st.BooleanType(), pa.bool_()),
    "tinyint": (st.ByteType(), pa.int8()),
    "smallint": (st.ShortType(), pa.int16()),
    "int": (st.IntegerType(), pa.int32()),
    "bigint": (st.LongType(), pa.int64()),
    "float": (st.FloatType(), pa.float32()),
    "double": (st.DoubleType(), pa.float64()),
    **{
        f"decimal_{precision}_{scale}": (st.DecimalType(precision, scale), pa.decimal128(precision, scale))
        for precision, scale in [(1, 0), (8, 2), (38, 0), (38, 18), (38, 38)]
    },
    "date": (st.DateType(), pa.date32()),
    "timestamp": (st.TimestampType(), pa.timestamp("ms", "UTC")),
    "string": (st.StringType(), pa.string()),
}
NUMBERS = _words(
    """
    0 -0 +0 00 1 -1 +1 007 127 128 -128 -129 32767 32768 2147483647 2147483648 9223372036854775807
    9223372036854775808 -9223372036854775808 0x1F 0X1f -0x1 0b1 1_000 1,000 1.0 1. .5 -.5 . - + 1e3 1E+3 1e-3 1e
    1e400 -1e400 1e-400 4e38 1e38 1e39 nan NaN -nan inf -Inf Infinity infinit 0x1p3 1d 1D 1f 1F 1L 1.5.2 1-2 --1
    12e1.5 ٣ １ 0.1 0.30000000000000004 1.7976931348623157e308 2.2250738585072011e-308 4.9e-324 123456.78 1234567.8
    12345678 1.2300 1.239 -0.00 1e2 1.5e1 9007199254740993 0.1e1 99999999999999999999999999999999999999
    100000000000000000000000000000000000000 t f true false True FALSE yes null NULL 3.4028235e38 3.4028236e38
    1.17549435e-38 16777217 340282356779733661637539395458142568447 0.00000000000000000000000000000000000000001
    0.0000000000000000000000000000000000000000 000000000000000000000000000000000000000000000000001
    111111111111111111111111111111111111111.5
    """
)
TIMES = _words(
    """
    2024-02-29 2023-02-29 2024-13-01 2024-00-10 2024-1-1 20240229 0000-01-01 0001-01-01 9999-12-31 10000-01-01
    -001-01-01 2024/01/01 2024 2024-01 01:02:03 T01:02:03 2024-02-29Z 2024-02-29T01 2024-02-29T01Z
    2024-02-29T01:02 2024-02-29T01:02Z 2024-02-29T01:02:03 2024-02-29T01:02:03Z 2024-02-29t01:02:03z
    2024-02-29T01:02:03z 2024-02-29T24:00:00Z 2024-02-29T23:59:60Z 2024-02-29T01:02:03.1 2024-02-29T01:02:03.1Z
    2024-02-29T01:02:03.123456Z 2024-02-29T01:02:03.1234567Z 2024-02-29T01:02:03.123456789Z 2024-02-29T01:02:03.
    2024-02-29T01:02:03.Z 2024-02-29T01:02:03+01:00 2024-02-29T01:02:03+0100 2024-02-29T01:02:03+01
    2024-02-29T01:02:03-19:00 2024-02-29T01:02+01:00 2024-02-29T010203Z 2024-02-29T1:2:3Z
    1969-12-31T23:59:59.999999Z 0001-01-01T00:00:00Z 0000-12-31T23:59:59Z 9999-12-31T23:59:59.999999Z 1582-10-10
    1582-10-10T00:00:00 1900-01-01T00:00:00 2024-02-29ZZ 2024-02-29T01:02:03ZZ 2024-02-29T01:02:03UTC
    2024-02-29T01:02:03,5Z
    """
)
SPACED = [
    *("2024-02-29 01:02:03", "2024-02-29 01:02:03.5", "2024-02-29  01:02:03", "2024-02-29 00:00+01:00"),
    *(" ", "\t1", "1\n"),
]


def corpus() -> list[str]:
    """Texts that are or nearly are values."""
    made = [*NUMBERS, *TIMES, *SPACED]
    made += [text for value in made for text in (f" {value}", f"{value} ", f"{value}\0", f"{value}\u00a0", f"+{value}")]
    return sorted(set(made))


@pytest.mark.spark
def test_arrow_reads_no_text_otherwise(spark: SparkSession) -> None:
    accepted = check(spark, [*corpus(), *value_texts(random.Random(1), 6_000)])
    assert {name: count > 1 for name, count in accepted.items()} == dict.fromkeys(KINDS, True)


@pytest.mark.spark
@pytest.mark.torture
@pytest.mark.parametrize("seed", range(100, 110))
def test_arrow_reads_none_of_many_texts_otherwise(spark: SparkSession, seed: int) -> None:
    check(spark, value_texts(random.Random(seed), 60_000))


def check(spark: SparkSession, values: list[str]) -> dict[str, int]:
    """Compare each text in each type with the strict reader. Return how many texts Arrow reads, by type."""
    frame = spark.newSession().createDataFrame(pa.table({"r": values})).coalesce(1)
    typed = {n: scalar("r", kind, Formats(has_millis=False), n) for n, (kind, _) in KINDS.items()}
    typed["timestamp"] = f"date_trunc('MILLISECOND', {typed['timestamp']})"
    checked = (f"CASE WHEN {is_in_range(f'({sql})', KINDS[n][0])} THEN {sql} END AS {n}" for n, sql in typed.items())
    strict = frame.selectExpr("r", *checked).toArrow()
    assert strict["r"].to_pylist() == values
    accepted = dict.fromkeys(KINDS, 0)
    for name, (_, kind) in KINDS.items():
        own = [(value, texts.convert(pa.array([value, None]), kind)) for value in values]
        accepted[name] = sum(array is not None for _, array in own)
        right = strict[name].cast(kind, safe=False).to_pylist()
        for (value, array), expected in zip(own, right, strict=True):
            if array is not None:
                assert array.type == kind
                assert repr(array.to_pylist()) == repr([expected, None]), (name, value)
    return accepted


@pytest.mark.parametrize(
    ("values", "kind", "expected"),
    [
        (["1", "x"], pa.int64(), None),
        (["12", "0x12"], pa.int64(), None),
        (["true", None, "false"], pa.bool_(), [True, None, False]),
        (["true", "1"], pa.bool_(), None),
        (["2024-01-01T00:00:00Z", "2024-01-01T00:00:00"], pa.timestamp("ms", "UTC"), None),
        (["2024-01-01T00:00:00Z", "2024-01-01T00Z"], pa.timestamp("ms", "UTC"), None),
        ([None, None], pa.timestamp("ms", "UTC"), [None, None]),
        ([], pa.float64(), []),
        (["1.5", "inf"], pa.float64(), None),
    ],
)
def test_one_other_text_leaves_the_column_to_the_strict_reader(
    values: list[str | None], kind: pa.DataType, expected: list[object] | None
) -> None:
    own = texts.convert(pa.array(values, pa.string()), kind)
    assert (own if own is None else own.to_pylist()) == expected
