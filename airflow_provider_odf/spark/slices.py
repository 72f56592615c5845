"""Scans in Spark's workers: a partition for each slice, and its rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pyarrow as pa
from pyspark.sql.datasource import InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from airflow_provider_odf.chain import record_rows
from airflow_provider_odf.chain.slices import OffsetRange
from airflow_provider_odf.chain.slices import scan as scan_slice
from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.manifest.model import DataSlice
from airflow_provider_odf.reading.scan import HistoryScan, Scan
from airflow_provider_odf.spark.types import spark_schema


def schema_of(scan: Scan) -> StructType:
    """Return the columns of a scan with Spark's types. It raises as `spark_schema`."""
    return spark_schema(scan.dataset.alias, scan.schema)


def selected(scan: Scan, schema: StructType) -> Scan:
    """Return the scan with the columns of a schema, by the dataset's names.

    :raises InvalidInput: the dataset has no such column, or one of another type.
    """
    known = schema_of(scan)
    for field in schema.fields:
        types = {f.name: f.dataType for f in known.fields}
        if field.name in types and types[field.name] != field.dataType:
            actual, asked = types[field.name].simpleString(), field.dataType.simpleString()
            raise InvalidInput(
                f"dataset {scan.dataset.alias}: column {field.name} is {actual}, not {asked}: cast it after reading"
            )
    return scan.select(*schema.fieldNames())


class SlicePartition(InputPartition):
    """Rows of a slice: those at the offsets ``current``, or in the range ``offsets``. None stands for all."""

    def __init__(
        self, data_slice: DataSlice, current: pa.Array | None = None, offsets: OffsetRange | None = None
    ) -> None:
        super().__init__(data_slice.physical_hash)
        self.data_slice, self.current, self.offsets = data_slice, current, offsets


def without_slices(scan: Scan) -> Scan:
    """Return a scan for workers, which get each slice with its partition."""
    return replace(scan, state=replace(scan.state, slices=()))


def read_slice(scan: Scan, schema: StructType, partition: SlicePartition) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a scan in one slice, in the types that Spark expects."""
    part, types = partition.data_slice, to_arrow_schema(schema, timezone="UTC")
    names, stored = scan.schema.names, scan.state.row_schema()
    if isinstance(scan, HistoryScan):
        batches = scan_slice(scan.dataset, part, stored, names, scan.condition, partition.offsets)
    else:
        args = (scan.dataset, scan.state, part, partition.current, names, scan.condition)
        batches = record_rows.current_rows_of_slice(*args)
    for batch in batches:
        yield from pa.Table.from_batches([batch]).cast(types).to_batches()
