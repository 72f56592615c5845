"""A merge strategy in two forms, and the rows and records of the form for small inputs.

The form in Arrow is for small inputs: one pass over the rows avoids a Spark plan per input, which takes a fifth of a
second. The form in Spark is for large ones. Both compute the same records, which a merge adds to the history; see
"Merge strategies" in the specification.

In Spark, new rows have the event time, the data columns, POSITION and, in streams, OP. The state has the event time and
the data columns, or the keys alone. The result has OP, the columns and the sort columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import pyarrow as pa
from pyspark.sql import DataFrame

from airflow_provider_odf.engine.column_layout import Layout
from airflow_provider_odf.engine.schema import with_types
from airflow_provider_odf.instant import Instant


@dataclass(frozen=True)
class Input:
    """New rows of one input with the columns of the dataset, in order.

    ``event_time`` is the event time of rows without one.
    """

    table: pa.Table
    event_time: Instant
    label: str


@dataclass
class Records:
    """The records of one input: OP, the columns and the sort columns.

    ``dropped`` is the number of rows that equal others.
    """

    table: pa.Table
    dropped: int = 0


InArrow: TypeAlias = Callable[[Sequence[Input], pa.Table | None, Layout], tuple[list[Records], pa.Table | None]]
"""Merges inputs in order with the state; returns the records of each, and the state afterwards if the strategy has one.

:raises InvalidQuery: rows of one input with the same key differ.
"""

InSpark: TypeAlias = Callable[[DataFrame, DataFrame | None, Layout], DataFrame]
"""Returns the records of new rows and the state."""


class Strategy(NamedTuple):
    """The two forms of a merge strategy."""

    in_arrow: InArrow
    in_spark: InSpark


def plain(table: pa.Table) -> pa.Table:
    """Return the same rows with all columns and nested fields nullable."""
    return table.cast(pa.schema([pa.field(f.name, with_types(f.type, {})) for f in table.schema]))
