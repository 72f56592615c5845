"""``read``: the rows of raw files, with the reader for the kind of the read step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from importlib import import_module
from itertools import accumulate
from typing import Protocol, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession

from airflow_provider_odf.engine.read import convert, raw, source
from airflow_provider_odf.engine.read.convert import OpenFile, Read
from airflow_provider_odf.errors import InvalidQuery
from airflow_provider_odf.protocol import Column, PositionalHeader, ReadStep
from airflow_provider_odf.read_steps import READ_STEPS, Types
from airflow_provider_odf.records import files


class Source(Protocol):
    """An open file with known columns."""

    def read(self, spark: SparkSession) -> Read:
        """Return the rows in order."""


Reader: TypeAlias = Callable[[ReadStep, str, str], Source]
"""Function that opens a file from a read step, its path and its name in messages.

Without a schema, columns come from the file. It raises InvalidQuery if an option or the beginning of the data is not
valid. Later problems appear when the rows are used.
"""


def _open(step: ReadStep, path: str, label: str) -> Source:
    module, _, name = step.format.reader.partition(".")
    reader: Reader = getattr(import_module(f".{module}", __package__), name)
    return reader(step, path, label)


def read(spark: SparkSession, step: ReadStep, paths: Sequence[str], label: str) -> Read:
    """Return the rows of the files of one input, in the order of ``paths`` and of the files.

    ``label`` is the name of the input in messages, with the number of the file if there are several. Without a declared
    schema, the first file with records defines the columns.

    :raises InvalidQuery: the step or the beginning of the data is not valid, or a file has 0 bytes and its format needs
        some. Later problems appear when the rows are used.
    """
    if step.kind not in READ_STEPS:
        raise InvalidQuery(f"read: {step.kind} is not a kind of read step: use one of {', '.join(sorted(READ_STEPS))}")
    if not paths:
        raise InvalidQuery(f"{label}: no files to read")
    several = len(paths) > 1
    named = [(path, f"{label}, file {n} of {len(paths)}" if several else label) for n, path in enumerate(paths, 1)]
    for path, name in named:
        if files.is_file(path) and (reason := source.unreadable(path, step)):
            raise InvalidQuery(f"{name}: {reason}")
    parts = list[Read]()
    for path, name in named:
        parts.append(_open(step, path, name).read(spark))
        step = replace(step, columns=step.columns or _columns(parts[-1].frame))
    notices = dict.fromkeys(notice for part in parts for notice in part.notices)
    headers = tuple(header for part in parts for header in part.headers)
    # A file without records has no columns unless they are declared.
    frames = [part.frame for part in parts if part.frame.columns] or [parts[0].frame]
    return Read(reduce(DataFrame.unionAll, frames), tuple(notices), headers)


def _columns(frame: DataFrame) -> tuple[Column, ...] | None:
    return tuple(Column(f.name, f.dataType.simpleString(), f.nullable) for f in frame.schema) or None


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
    if step.kind not in READ_STEPS or step.format.types is Types.FILE or (step.columns is None and step.infer_schema):
        return None
    if any(len(paths) != 1 or source.unreadable(paths[0], step) for paths, _ in inputs):
        return None
    sources = [_open(step, paths[0], label) for paths, label in inputs]
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
