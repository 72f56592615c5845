"""Scans in Spark's workers: a partition for each slice, its rows, and filters that Spark pushes down, as conditions of
Arrow.

Spark evaluates each filter again, so a condition may let more rows through than the filter, never fewer. Columns of
floating-point numbers are therefore left to Spark, in which NaN equals NaN and is the largest number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import reduce
from operator import and_
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from pyspark.sql import datasource as d
from pyspark.sql.datasource import InputPartition
from pyspark.sql.types import StructType

from airflow_provider_odf.chain import record_rows
from airflow_provider_odf.chain.slices import OffsetRange
from airflow_provider_odf.chain.slices import scan as scan_slice
from airflow_provider_odf.engine.spark_version import to_arrow_schema
from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.manifest.model import DataSlice
from airflow_provider_odf.reading.scan import HistoryScan, Scan
from airflow_provider_odf.spark.frame import spark_schema


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
    part, types = partition.data_slice, to_arrow_schema(schema)
    names, stored = scan.schema.names, scan.state.row_schema()
    if isinstance(scan, HistoryScan):
        batches = scan_slice(scan.dataset, part, stored, names, scan.condition, partition.offsets)
    else:
        args = (scan.dataset, scan.state, part, partition.current, names, scan.condition)
        batches = record_rows.current_rows_of_slice(*args)
    for batch in batches:
        yield from pa.Table.from_batches([batch]).cast(types).to_batches()


_CONDITIONS: dict[type[d.Filter], Callable[[pc.Expression, Any], pc.Expression]] = {
    d.EqualTo: lambda column, value: column == value,
    d.GreaterThan: lambda column, value: column > value,
    d.GreaterThanOrEqual: lambda column, value: column >= value,
    d.LessThan: lambda column, value: column < value,
    d.LessThanOrEqual: lambda column, value: column <= value,
    d.In: lambda column, values: column.isin(list(values)),
    d.StringStartsWith: lambda column, value: pc.starts_with(column, pattern=value),
    d.StringEndsWith: lambda column, value: pc.ends_with(column, pattern=value),
    d.StringContains: lambda column, value: pc.match_substring(column, pattern=value),
}


def with_filters(scan: Scan, filters: Iterable[d.Filter]) -> Scan:
    """Return the scan with those of the filters that Arrow can evaluate."""
    usable = []
    for each in filters:
        condition = _condition(scan.schema, each)
        if condition is not None and _is_valid(scan, condition):
            usable.append(condition)
    return scan.where(reduce(and_, usable)) if usable else scan


def _condition(schema: pa.Schema, each: d.Filter) -> pc.Expression | None:
    if isinstance(each, d.Not):
        child = _condition(schema, each.child)
        # NOT of an unknown filter is unknown; of a null it is null in Arrow as in Spark.
        return None if child is None else ~child
    path: tuple[str, ...] = getattr(each, "attribute", ())
    if len(path) != 1 or path[0] not in schema.names or pt.is_floating(schema.field(path[0]).type):
        return None
    column = pc.field(path[0])
    if isinstance(each, d.IsNull | d.IsNotNull):
        return column.is_null() if isinstance(each, d.IsNull) else column.is_valid()
    convert = _CONDITIONS.get(type(each))
    value = getattr(each, "value", None)
    if convert is None or value is None or (isinstance(each, d.In) and None in value):
        return None
    return convert(column, value)


def _is_valid(scan: Scan, condition: pc.Expression) -> bool:
    try:
        scan.where(condition)
    except InvalidInput:
        return False
    return True
