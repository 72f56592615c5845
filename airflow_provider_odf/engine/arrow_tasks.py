"""Functions on Arrow batches in tasks of Spark, for columns of any name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TypeAlias

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import types as T  # noqa: N812

Batches: TypeAlias = Iterable[pa.RecordBatch]


def in_tasks(rows: DataFrame, task: Callable[[Batches], Batches], schema: T.StructType | str) -> DataFrame:
    """Return what a function makes of the batches of each partition, in the columns of ``schema``.

    ``DataFrame.mapInArrow`` looks columns up by their names as SQL, in which dots and backticks mean something else.
    """
    numbered = rows.toDF(*(f"c{number}" for number in range(len(rows.columns))))
    return numbered.mapInArrow(partial(_named, task, rows.columns), schema)


def _named(task: Callable[[Batches], Batches], names: list[str], batches: Batches) -> Iterator[pa.RecordBatch]:
    yield from task(batch.rename_columns(names) for batch in batches)
