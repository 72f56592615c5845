"""Columns of a dataset as Spark reads them."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.records.schema import readable


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
        return from_arrow_schema(pa.schema(fields), prefer_timestamp_ntz=True)
    except Exception as e:  # errors of pyspark about types have no common class
        raise InvalidInput(f"dataset {name}: Spark cannot read a column: {e}; read it as Arrow") from e
