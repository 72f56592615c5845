"""Expressions of every operator with columns and literals of every type, and the rows to evaluate them over.

What an engine's translation accepts of them is compared with that engine, so that nobody has to think of a combination
first.
"""

from __future__ import annotations

import contextlib
import datetime as dt
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from itertools import product
from typing import TYPE_CHECKING

import pyarrow as pa

from airflow_provider_odf.dialect.translate import preprocess_to_spark
from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.manifest.model import TransformSql
from airflow_provider_odf.protocol import Column

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_UTC = dt.UTC
_COLUMNS = {
    "i": ("BIGINT", pa.int64(), [1, -7, 30, None]),
    "j": ("INT", pa.int32(), [2, -3, 5, None]),
    "k": ("SMALLINT", pa.int16(), [3, -2, 7, None]),
    "f": ("FLOAT", pa.float32(), [1.5, -2.25, 0.1, None]),
    "d": ("DOUBLE", pa.float64(), [1.5, -2.5, 0.1, None]),
    "m": ("DECIMAL(12,2)", pa.decimal128(12, 2), [Decimal("1.50"), Decimal("-2.55"), Decimal("99.99"), None]),
    "s": ("STRING", pa.string(), ["12", "-3", "007", None]),
    "b": ("BOOLEAN", pa.bool_(), [True, False, True, None]),
    "dt": ("DATE", pa.date32(), [dt.date(2020, 2, 29), dt.date(1999, 12, 31), dt.date(2024, 1, 1), None]),
    "ts": (
        "TIMESTAMP",
        pa.timestamp("ms", tz="UTC"),
        [
            dt.datetime(2020, 2, 29, 23, 59, 59, 500_000, tzinfo=_UTC),
            dt.datetime(1999, 12, 31, tzinfo=_UTC),
            dt.datetime(2024, 1, 1, 12, 30, 15, 250_000, tzinfo=_UTC),
            None,
        ],
    ),
}
COLUMNS = tuple(Column(name, ddl) for name, (ddl, _, _) in _COLUMNS.items())
ROWS = pa.table({name: pa.array(values, type_) for name, (_, type_, values) in _COLUMNS.items()})

_LITERALS = (
    "1", "3000000000", "1.5", "2e0", "'12'", "true", "date '2020-02-29'", "timestamp '2020-02-29 23:59:59.5'",
    "interval '1' day", "interval '2' month",
)  # fmt: skip
_TYPES = (
    "smallint", "int", "bigint", "float", "double precision", "decimal(5,1)", "decimal(20,4)", "varchar", "varchar(2)",
    "boolean", "date", "timestamp(0)", "timestamp(3)", "timestamp",
)  # fmt: skip
_FORMS = (
    "{0} + {1}", "{0} - {1}", "{0} * {1}", "{0} / {1}", "{0} % {1}", "{0} || {1}", "{0} = {1}", "{0} < {1}",
    "{0} is distinct from {1}", "{0} in ({1}, {1})", "case when b then {0} else {1} end", "coalesce({0}, {1})",
    "nullif({0}, {1})",
)  # fmt: skip


def expressions() -> Iterator[str]:
    """Every sign and CAST of an operand, and every form of two, one of which is a column."""
    operands = (*_COLUMNS, *_LITERALS)
    for operand in operands:
        yield f"-{operand}"
        yield from (f"cast({operand} as {type_})" for type_ in _TYPES)
    pairs = [pair for pair in product(operands, repeat=2) if not set(pair) <= set(_LITERALS)]
    yield from (form.format(*pair) for form, pair in product(_FORMS, pairs))


def translator(engine: str) -> Callable[[str], str]:
    """What makes Spark's form of an expression over the columns of ``input``."""

    def translate(text: str) -> str:
        transform = TransformSql(engine=engine, query=f"select {text} as z from input")
        query = preprocess_to_spark(transform, {"input": COLUMNS}).queries[0].query
        return query.removeprefix("SELECT ").removesuffix(" AS `z` FROM `input`")

    return translate


def translated(engine: str) -> tuple[dict[str, str], dict[str, str]]:
    """The expressions that the translation accepts, with their forms on Spark, and the others, with its messages."""
    translate, accepted, refused = translator(engine), {}, {}
    for text in expressions():
        try:
            accepted[text] = translate(text)
        except InvalidInput as error:
            refused[text] = str(error)
    return accepted, refused


def on_spark(spark: SparkSession, forms: Iterable[str]) -> pa.Table:
    """The values of Spark's forms of expressions over the rows, in one query."""
    spark.createDataFrame(ROWS).coalesce(1).createOrReplaceTempView("combinations")
    columns = (f"{form} as `{number}`" for number, form in enumerate(forms))
    return spark.sql(f"select {', '.join(columns)} from combinations").toArrow()


def not_stopping(spark: SparkSession, forms: Iterable[str]) -> list[str]:
    """Those of Spark's forms that give values, where the engine itself gives none."""
    from pyspark.errors import PySparkException

    giving = []
    for form in forms:
        with contextlib.suppress(PySparkException):
            on_spark(spark, [form])
            giving.append(form)
    return giving
