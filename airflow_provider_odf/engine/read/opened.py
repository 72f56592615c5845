"""Open files: their columns are known, and their rows are not read yet.

One file becomes one frame. Many small files share a frame, since a frame for each would cost more than its rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from airflow_provider_odf.engine.read import infer, raw, typed
from airflow_provider_odf.engine.read.raw import Parser
from airflow_provider_odf.engine.read.result import Read
from airflow_provider_odf.engine.read.source import Chunk
from airflow_provider_odf.engine.sql import text
from airflow_provider_odf.protocol import Column, PositionalHeader, ReadStep

_LABEL = "__label"


@dataclass(frozen=True)
class Opened:
    """An open file. ``unit`` is the unit of row places: line or record."""

    step: ReadStep
    parser: Parser
    chunks: Sequence[Chunk]
    columns: tuple[Column, ...]
    label: str
    unit: str
    notices: tuple[str, ...] = ()
    headers: tuple[PositionalHeader, ...] = ()
    infers_types: bool = False
    """Whether the types of the columns are inferred from the rows."""

    def read(self, spark: SparkSession) -> Read:
        """Return the rows in order."""
        frame = raw.frame(spark, self.parser, self.chunks)
        columns = infer.columns(frame, self.columns, self.step) if self.infers_types else self.columns
        rows = typed.frame(frame, columns, self.step, text(self.label), self.unit)
        return Read(rows, self.notices, self.headers)


@dataclass(frozen=True)
class ReadApart:
    """Rows of several inputs in one frame, in order. ``sizes`` has the number of rows of each input."""

    frame: DataFrame
    sizes: tuple[int, ...]
    notices: tuple[str, ...]
    headers: tuple[PositionalHeader, ...]


def read_apart(spark: SparkSession, inputs: Sequence[Opened]) -> ReadApart:
    """Return the rows of files with the same columns. The driver parses them."""
    first = inputs[0]
    tables = [_labelled(raw.table(opened.parser, opened.chunks), opened.label) for opened in inputs]
    frame = spark.createDataFrame(raw.concatenated(tables)).coalesce(1)
    rows = typed.frame(frame, first.columns, first.step, _LABEL, first.unit)
    notices = tuple(notice for opened in inputs for notice in opened.notices)
    headers = tuple(header for opened in inputs for header in opened.headers)
    return ReadApart(rows, tuple(table.num_rows for table in tables), notices, headers)


def _labelled(table: pa.Table, label: str) -> pa.Table:
    return table.append_column(_LABEL, pa.repeat(pa.scalar(label), table.num_rows))
