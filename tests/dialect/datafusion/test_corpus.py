"""Every preprocess query of the published manifests, on DataFusion and on Spark, over rows with nulls and odd values.

``data/preprocess.json`` has their declared columns (null where only the data tell) and their queries.
"""

from __future__ import annotations

import datetime as dt
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from airflow_provider_odf.dialect.translate import input_columns, to_spark
from airflow_provider_odf.manifest.model import SqlQueryStep, TransformSql
from airflow_provider_odf.protocol import Column, ReadStep

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CORPUS = json.loads((Path(__file__).parent / "data" / "preprocess.json").read_text())
_UTC = dt.timezone.utc
_TIMES = [None, dt.datetime(2020, 2, 29, 23, 59, 59, 999000, _UTC), dt.datetime(1969, 12, 31, tzinfo=_UTC)]
_VALUES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "BIGINT": (pa.int64(), [None, 1577934245, -5]),
    "INT": (pa.int32(), [None, 2**31 - 1, -1]),
    "DOUBLE": (pa.float64(), [None, 1e20, -0.0]),
    "FLOAT": (pa.float32(), [None, 0.1, -2.25]),
    "TIMESTAMP": (pa.timestamp("ms", tz="UTC"), _TIMES),
    "STRING": (pa.string(), [None, "", "Äpfel 'ß' \"x\""]),
}
_TEXTS = {
    r"to_timestamp\([^()]*%Y/[^()]*\)": ["2020/01/02 03:04:05+00", None, "1969/12/31 23:59:59+05"],
    r"to_timestamp\([^()]*(?:\([^()]*\))?\)": ["2020-01-02", "2020-02-29T01:02:03Z", None],
    r"cast\(\"?\w+\"? as (?:bigint|double)\)": ["1577934245", None, "0"],
    r"concat\(\w+, '-01-01'\)": ["2020", "1999", "0001"],
}


def _columns(case: dict[str, Any], query: str) -> list[tuple[str, str]]:
    """The declared columns; else those that the query quotes: numbers where it takes seconds, else strings."""
    if case["columns"] is not None:
        return [tuple(column) for column in case["columns"]]
    quoted = re.findall(r'(?<!as )"(\w+)"', query)
    seconds = re.findall(r'to_timestamp_seconds\("(\w+)"\)', query)
    return [(name, "BIGINT" if name in seconds else "STRING") for name in dict.fromkeys(quoted)]


def _texts(name: str, query: str) -> list[str | None]:
    for pattern, values in _TEXTS.items():
        if any(re.search(rf"(?i)\b{name}\b", found[0]) for found in re.finditer(pattern, query)):
            return values
    return _VALUES["STRING"][1]


def _table(columns: list[tuple[str, str]], query: str) -> pa.Table:
    arrays = {}
    for name, ddl in columns:
        type_, values = _VALUES[ddl]
        arrays[name] = pa.array(_texts(name, query) if ddl == "STRING" else values, type_)
    return pa.table(arrays)


def _plain(table: pa.Table) -> list[dict[str, object]]:
    times = [f.name for f in table.schema if pa.types.is_timestamp(f.type)]
    for name in times:
        column = table.column(name).cast(pa.timestamp("us"), safe=False)
        table = table.set_column(table.schema.get_field_index(name), name, column)
    return sorted(table.to_pylist(), key=repr)


@pytest.mark.spark
@pytest.mark.parametrize("case", CORPUS, ids=[case["name"] for case in CORPUS])
def test_rows_are_the_same(spark: SparkSession, case: dict[str, Any]) -> None:
    import datafusion

    ((_, query),) = case["queries"]
    columns = _columns(case, query)
    table = _table(columns, query)
    declared = tuple(Column(name, ddl) for name, ddl in columns)
    if case["columns"] is None:
        declared = input_columns(ReadStep(case["read"]))
    transform = TransformSql(engine=case["engine"], queries=(SqlQueryStep(query=query),))
    spark.createDataFrame(table).coalesce(1).createOrReplaceTempView("input")
    ours = spark.sql(to_spark(transform, {"input": declared}).queries[0].query).toArrow()

    settings = datafusion.SessionConfig().set("datafusion.sql_parser.enable_ident_normalization", "false")
    context = datafusion.SessionContext(settings)
    # Names that a query writes in another case are not found by DataFusion, and are by Spark.
    other_case = {name: name.lower() for name, _ in columns if not re.search(rf"\b{name}\b", query)}
    renamed = table.rename_columns([other_case.get(name, name) for name in table.column_names])
    context.register_record_batches("input", [renamed.to_batches()])
    theirs = context.sql(query).to_arrow_table()
    assert ours.schema.names == theirs.schema.names
    assert _plain(ours) == _plain(theirs)
