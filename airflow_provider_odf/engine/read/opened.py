"""Files that are ready to be parsed: their columns are known, their rows not yet read.

One file becomes a frame of its own. Many small ones become one frame: a frame for each would cost more than its rows.
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
    """``unit`` is what the places of its rows count: line or record."""

    step: ReadStep
    parser: Parser
    chunks: Sequence[Chunk]
    columns: tuple[Column, ...]
    label: str
    unit: str
    notices: tuple[str, ...] = ()
    headers: tuple[PositionalHeader, ...] = ()
    infers_types: bool = False
    """Whether the rows decide the types of the columns."""

    def read(self, spark: SparkSession) -> Read:
        """Return the rows in order."""
        frame = raw.frame(spark, self.parser, self.chunks)
        columns = infer.columns(frame, self.columns, self.step) if self.infers_types else self.columns
        rows = typed.frame(frame, columns, self.step, text(self.label), self.unit)
        return Read(rows, self.notices, self.headers)


@dataclass(frozen=True)
class ReadApart:
    """Rows of several inputs in one frame, in order; ``sizes`` tells how many each has."""

    frame: DataFrame
    sizes: tuple[int, ...]
    notices: tuple[str, ...]
    headers: tuple[PositionalHeader, ...]


def read_apart(spark: SparkSession, inputs: Sequence[Opened]) -> ReadApart:
    """The rows of files that have the same columns, parsed by the driver."""
    first = inputs[0]
    tables = [_labelled(raw.table(opened.parser, opened.chunks), opened.label) for opened in inputs]
    frame = spark.createDataFrame(raw.concatenated(tables)).coalesce(1)
    rows = typed.frame(frame, first.columns, first.step, _LABEL, first.unit)
    notices = tuple(notice for opened in inputs for notice in opened.notices)
    headers = tuple(header for opened in inputs for header in opened.headers)
    return ReadApart(rows, tuple(table.num_rows for table in tables), notices, headers)


def _labelled(table: pa.Table, label: str) -> pa.Table:
    return table.append_column(_LABEL, pa.repeat(pa.scalar(label), table.num_rows))
