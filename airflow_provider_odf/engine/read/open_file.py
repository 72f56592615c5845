"""Open files: their columns are known, and their rows are not read yet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession

from airflow_provider_odf.engine.read import convert, raw
from airflow_provider_odf.engine.read.raw import Parser
from airflow_provider_odf.engine.read.source import Chunk
from airflow_provider_odf.engine.sql import text
from airflow_provider_odf.protocol import Column, PositionalHeader, ReadStep


@dataclass(frozen=True)
class OpenFile:
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
        columns = convert.inferred_columns(frame, self.columns, self.step) if self.infers_types else self.columns
        rows = convert.rows(frame, columns, self.step, text(self.label), self.unit)
        return Read(rows, self.notices, self.headers)


@dataclass(frozen=True)
class Read:
    """Rows in input order, with notices for the user.

    ``headers`` has the headers of files whose columns were matched by position.
    """

    frame: DataFrame
    notices: tuple[str, ...] = ()
    headers: tuple[PositionalHeader, ...] = ()
