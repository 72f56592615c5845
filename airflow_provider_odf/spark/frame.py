"""Columns and rows of a dataset as Spark reads them from the slices itself."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.types import StructType

from airflow_provider_odf.chain import record_rows, slices
from airflow_provider_odf.engine.current_rows import current_rows
from airflow_provider_odf.engine.schema import quoted
from airflow_provider_odf.engine.spark_version import from_arrow_schema
from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.records.schema import readable

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from airflow_provider_odf.chain.dataset import Dataset
    from airflow_provider_odf.chain.slices import OffsetRange
    from airflow_provider_odf.chain.state import ChainState
    from airflow_provider_odf.manifest.model import DataSlice


def spark_schema(name: object, schema: pa.Schema | None) -> StructType:
    """Return columns of a dataset with Spark's types.

    :param name: of the dataset, for messages.

    :raises InvalidInput: no columns are known yet, two differ only by case, or Spark has no type for one.
    """
    if schema is None or not len(schema):
        raise InvalidInput(f"dataset {name} has no columns yet: run it first")
    lower = [column.lower() for column in schema.names]
    if alike := [column for column in schema.names if lower.count(column.lower()) > 1]:
        raise InvalidInput(
            f"dataset {name} has the columns {', '.join(alike)}, which are one column in Spark: read it as Arrow"
        )
    try:
        fields = [pa.field(f.name, f.type, f.nullable) for f in readable(schema)]
        return from_arrow_schema(pa.schema(fields))
    except Exception as e:  # errors of pyspark about types have no common class
        raise InvalidInput(f"dataset {name}: Spark cannot read a column: {e}; read it as Arrow") from e


def history(
    spark: SparkSession,
    dataset: Dataset,
    state: ChainState,
    parts: Sequence[DataSlice],
    offsets: OffsetRange | None = None,
) -> DataFrame:
    """Return the records of slices, all or those of a range of offsets.

    :raises InvalidInput: no columns are known yet, or Spark cannot have them.
    """
    schema = spark_schema(dataset.alias, state.row_schema())
    paths = [Path(slices.path(dataset, part)).as_uri() for part in parts]
    if not paths:
        return spark.createDataFrame([], schema)
    records = spark.read.schema(schema).parquet(*paths)
    if offsets is None:
        return records
    return records.where(f"{quoted(offsets.column)} BETWEEN {offsets.first} AND {offsets.last}")


def current(spark: SparkSession, dataset: Dataset, state: ChainState) -> DataFrame:
    """Return the records that are current rows, in no order. It raises as `history`."""
    records, vocab = history(spark, dataset, state, state.slices), state.vocab
    key = record_rows.spelled_key(state, records.columns)
    if not key and not record_rows.has_changes(dataset, state):
        return records
    columns = [name for name in records.columns if name not in vocab.columns[:3]]
    return current_rows(records, key, columns, vocab)


def selected(rows: DataFrame, dataset: Dataset, schema: pa.Schema) -> DataFrame:
    """Return the columns of a schema."""
    return rows.selectExpr(*(quoted(field.name) for field in spark_schema(dataset.alias, schema).fields))
