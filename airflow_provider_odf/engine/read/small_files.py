"""Read many small inputs at once, if their rows can be separated afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession

from airflow_provider_odf.engine.read import convert, raw, source
from airflow_provider_odf.engine.read.open_file import OpenFile
from airflow_provider_odf.engine.read.read import READERS
from airflow_provider_odf.protocol import PositionalHeader, ReadStep
from airflow_provider_odf.read_steps import Types

_LABEL = "__label"
_PARTITION = 33
"""First bit of the partition number in ``monotonically_increasing_id``."""


@dataclass(frozen=True)
class RowsOfInputs:
    """Rows of several inputs in one frame, in order.

    ``sizes`` has the number of rows of each input. If queries dropped or added rows, ``owners`` has the input of each
    partition instead.
    """

    frame: DataFrame
    sizes: tuple[int, ...]
    notices: tuple[str, ...]
    headers: tuple[PositionalHeader, ...]
    owners: tuple[int, ...] | None = None

    def split(self, rows: pa.Table, position: str = "") -> list[pa.Table]:
        """Return the rows of each input. ``rows`` is computed from the frame, ``position`` is their position in it."""
        sizes = self.sizes if self.owners is None else self._count(rows[position], self.owners)
        starts = accumulate(sizes, initial=0)
        return [rows.slice(start, size) for start, size in zip(starts, sizes, strict=False)]

    def _count(self, positions: pa.ChunkedArray, owners: Sequence[int]) -> list[int]:
        sizes = [0] * len(self.sizes)
        for run in pc.value_counts(pc.shift_right(positions, _PARTITION)).to_pylist():
            sizes[owners[run["values"]]] += run["counts"]
        return sizes


def read_several(
    spark: SparkSession, step: ReadStep, inputs: Sequence[tuple[Sequence[str], str]]
) -> RowsOfInputs | None:
    """Return the rows of inputs in one frame. Each input has paths and a label.

    Return None if they must be read one by one: several files, different columns, not text, or inferred types.

    :raises InvalidQuery: as ``read`` does.
    """
    if step.kind not in READERS or step.format.types is Types.FILE or (step.columns is None and step.infer_schema):
        return None
    if any(len(paths) != 1 or source.unreadable(paths[0], step) for paths, _ in inputs):
        return None
    sources = [READERS[step.kind](step, paths[0], label) for paths, label in inputs]
    files = [one for one in sources if isinstance(one, OpenFile)]
    if len(files) < len(sources):
        return None
    first = files[0]
    is_same = all(f.columns == first.columns and raw.schema(f.parser) == raw.schema(first.parser) for f in files)
    return _read_together(spark, files) if is_same and first.columns else None


def _read_together(spark: SparkSession, files: Sequence[OpenFile]) -> RowsOfInputs:
    """Return the rows of files with the same columns. The driver parses them."""
    first = files[0]
    tables = [raw.table(file.parser, file.chunks) for file in files]
    labels = (pa.repeat(pa.scalar(file.label), table.num_rows) for file, table in zip(files, tables, strict=True))
    named = [table.append_column(_LABEL, label) for table, label in zip(tables, labels, strict=True)]
    frame = spark.createDataFrame(raw.concat(named)).coalesce(1)
    rows = convert.rows(frame, first.columns, first.step, _LABEL, first.unit)
    notices = tuple(notice for file in files for notice in file.notices)
    headers = tuple(header for file in files for header in file.headers)
    return RowsOfInputs(rows, tuple(table.num_rows for table in tables), notices, headers)
