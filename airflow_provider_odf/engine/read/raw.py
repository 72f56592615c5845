"""Raw frames: the texts of columns from the parsers, before they get types.

Parsers are pickled objects that convert a chunk of a file to Arrow batches. The driver parses small inputs, and the
workers parse large ones by chunks, in the order of the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from airflow_provider_odf.engine.read.source import CHUNK_BYTES, Chunk, Malformed
from airflow_provider_odf.engine.spark_version import from_arrow_schema

PLACE = "__place"
"""Column of a raw frame: the line or the record number, from 1."""

PROBLEM = "__problem"
"""Column of a raw frame: the reason why reading ended at this row, else null."""


class Parser(Protocol):
    """Converts chunks of files to batches of one Arrow schema."""

    @property
    def columns(self) -> tuple[pa.Field, ...]:
        """Raw columns: text, or lists, structs and maps of text."""

    def parse(self, chunk: Chunk) -> Iterator[pa.RecordBatch]:
        """Yield batches of ``schema(self)``.

        :raises Malformed: the data do not match their format.
        """


def schema(parser: Parser) -> pa.Schema:
    return pa.schema([*parser.columns, pa.field(PLACE, pa.int64()), pa.field(PROBLEM, pa.string())])


def batch(parser: Parser, columns: Sequence[pa.Array], places: pa.Array) -> pa.RecordBatch:
    return pa.record_batch([*columns, places, pa.nulls(len(places), pa.string())], schema=schema(parser))


def frame(spark: SparkSession, parser: Parser, chunks: Sequence[Chunk]) -> DataFrame:
    """Return the raw rows of chunks, in order."""
    if sum(chunk.end - chunk.start for chunk in chunks) <= CHUNK_BYTES:
        return spark.createDataFrame(table(parser, chunks)).coalesce(1)
    tasks = spark.range(0, len(chunks), 1, len(chunks)).select(sf.col("id").cast("int"))

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for numbers in batches:
            yield from _checked(parser, [chunks[n] for n in numbers.column(0).to_pylist()])

    return tasks.mapInArrow(run, from_arrow_schema(schema(parser)))


def table(parser: Parser, chunks: Sequence[Chunk]) -> pa.Table:
    """Return the raw rows of small chunks, in memory."""
    arrow = schema(parser)
    batches = [b for b in _checked(parser, chunks) if b.num_rows]
    # Spark rejects a nested column without a batch, and reads no batch after an empty one.
    return pa.Table.from_batches(batches or [pa.RecordBatch.from_pylist([], arrow)], arrow)


def concat(tables: Sequence[pa.Table]) -> pa.Table:
    """Return all rows without empty tables, since Spark reads no batch after an empty one."""
    return pa.concat_tables([t for t in tables if t.num_rows] or tables[:1])


def _checked(parser: Parser, chunks: Iterable[Chunk]) -> Iterator[pa.RecordBatch]:
    """Yield the batches. If the data are malformed, end with a row that has the problem.

    An error from a worker would come with two stack traces around it.
    """
    try:
        for chunk in chunks:
            yield from parser.parse(chunk)
    except Malformed as e:
        arrow = schema(parser)
        last = {name: [None] for name in arrow.names} | {PROBLEM: [str(e)]}
        yield pa.RecordBatch.from_pydict(last, schema=arrow)
