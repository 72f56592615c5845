"""Generated expressions on PostgreSQL and, translated from RisingWave's SQL, on Spark: values and types must be equal.

RisingWave documents PostgreSQL's meanings, and has no server that a test could start in a second. ``make test-slow``
runs this where PostgreSQL is installed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from tests.dialect import combinations
from tests.dialect.risingwave import postgres

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_TYPES = {
    "BIGINT": "bigint", "INT": "integer", "SMALLINT": "smallint", "FLOAT": "real", "DOUBLE": "double precision",
    "DECIMAL(12,2)": "numeric(12,2)", "STRING": "text", "BOOLEAN": "boolean", "DATE": "date",
    "TIMESTAMP": "timestamp",
}  # fmt: skip
_TEXTS = ("text", "character varying")


def _input() -> str:
    """The statement that makes the table of the rows, numbered by ``r``."""
    types = [(column.name, _TYPES[column.type]) for column in combinations.COLUMNS]
    rows = [
        ", ".join(
            f"cast({'null' if row[name] is None else repr(str(row[name]))} as {t}) as {name}" for name, t in types
        )
        for row in combinations.ROWS.to_pylist()
    ]
    selects = [f"select {number} as r, {cells}" for number, cells in enumerate(rows)]
    return f"create table input as {' union all '.join(selects)};"


@pytest.fixture(scope="module")
def on_postgres() -> Iterator[Callable[[list[str]], list[object]]]:
    """For each expression its type and the texts of its values, or the message with which PostgreSQL refuses it."""
    programs = postgres.programs()
    if programs is None:
        pytest.skip("no PostgreSQL: install it (Debian: apt-get install postgresql)")
    rows = "(select r, {} as z from input) as q"
    query = f"select json_build_array(min(pg_typeof(z)::text), json_agg(z::text order by r)) from {rows}"
    with postgres.running(programs) as server:
        yield lambda expressions: server.answers(_input(), [query.format(text) for text in expressions])


def _type(type_: pa.DataType) -> str:
    """An Arrow type as PostgreSQL names it; its NUMERIC keeps no precision of a result."""
    if pa.types.is_decimal(type_):
        return "numeric"
    if pa.types.is_timestamp(type_):
        return "timestamp without time zone"
    names = {
        "bool": "boolean", "int16": "smallint", "int32": "integer", "int64": "bigint", "float": "real",
        "double": "double precision", "date32[day]": "date", "string": "text",
    }  # fmt: skip
    return names[str(type_)]


def _values(texts: list[str | None], column: pa.ChunkedArray) -> tuple[list[object], list[object]]:
    """PostgreSQL's values and Spark's; times are UTC."""
    if pa.types.is_decimal(column.type):  # PostgreSQL keeps the places of each value, so that the text may differ
        return [text and Decimal(text) for text in texts], column.to_pylist()
    type_ = pa.timestamp("us") if pa.types.is_timestamp(column.type) else column.type
    return pa.array(texts, pa.string()).cast(type_).to_pylist(), column.cast(type_).to_pylist()


@pytest.mark.postgres
@pytest.mark.spark
def test_generated_expressions_are_the_same(
    spark: SparkSession, on_postgres: Callable[[list[str]], list[object]]
) -> None:
    forms, refused = combinations.translated("risingwave")
    answers = dict(zip(forms, on_postgres(list(forms)), strict=True))
    compared = {text: answer for text, answer in answers.items() if not isinstance(answer, str)}
    ours = combinations.on_spark(spark, [forms[text] for text in compared])
    differences = []
    for (text, (type_, texts)), column in zip(compared.items(), ours.columns, strict=True):
        expected, values = _values(texts, column)
        if expected != values or ("text" if type_ in _TEXTS else type_) != _type(column.type):
            differences.append(f"{text}: {type_} {expected} became {column.type} {values}")
    print(f"{len(compared)} compared, {len(answers) - len(compared)} stop PostgreSQL, {len(refused)} refused")
    assert differences == []
    assert combinations.not_stopping(spark, [forms[text] for text in answers.keys() - compared.keys()]) == []
