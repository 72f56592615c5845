"""Filters that Spark pushes down, as conditions of Arrow.

Spark evaluates each filter again, so a condition may let more rows through than the filter, never fewer. Columns of
floating-point numbers are therefore left to Spark, in which NaN equals NaN and is the largest number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import reduce
from operator import and_
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from pyspark.sql import datasource as d

from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.reading.scan import Scan

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
