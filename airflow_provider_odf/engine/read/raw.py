"""Raw frames: the texts of declared columns as parsers hand them on, before they have types.

Parsers are pickled objects that turn a chunk of a file into Arrow batches. Small inputs are parsed in the driver, large
ones by the workers, chunk by chunk, in the order of the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql import types as st
from pyspark.sql.pandas.types import from_arrow_schema

from airflow_provider_odf.engine.read.problem import Malformed
from airflow_provider_odf.engine.read.source import CHUNK_BYTES, Chunk

PLACE = "__place"
"""Column of a raw frame: the line, or the number of the record, counted from 1."""

PROBLEM = "__problem"
"""Column of a raw frame: why reading ended here, null elsewhere."""


class Parser(Protocol):
    """Turns chunks of files into batches of one Arrow schema."""

    @property
    def columns(self) -> tuple[pa.Field, ...]:
        """The raw columns: texts, or lists, structs and maps of texts."""

    def parse(self, chunk: Chunk) -> Iterator[pa.RecordBatch]:
        """Batches of ``schema(self)``.

        :raises Malformed: the data are not of their format.
        """


def schema(parser: Parser) -> pa.Schema:
    return pa.schema([*parser.columns, pa.field(PLACE, pa.int64()), pa.field(PROBLEM, pa.string())])


def batch(parser: Parser, columns: Sequence[pa.Array], places: pa.Array) -> pa.RecordBatch:
    return pa.record_batch([*columns, places, pa.nulls(len(places), pa.string())], schema=schema(parser))


def frame(spark: SparkSession, parser: Parser, chunks: Sequence[Chunk]) -> DataFrame:
    """The raw rows of chunks in order."""
    if sum(chunk.end - chunk.start for chunk in chunks) <= CHUNK_BYTES:
        return spark.createDataFrame(table(parser, chunks)).coalesce(1)
    tasks = spark.range(0, len(chunks), 1, len(chunks)).select(sf.col("id").cast("int"))

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for numbers in batches:
            yield from _checked(parser, [chunks[n] for n in numbers.column(0).to_pylist()])

    return tasks.mapInArrow(run, spark_schema(schema(parser)))


def table(parser: Parser, chunks: Sequence[Chunk]) -> pa.Table:
    """The raw rows of small chunks, in memory."""
    arrow = schema(parser)
    batches = [b for b in _checked(parser, chunks) if b.num_rows]
    # Spark takes no nested column without a batch, and reads no batch after an empty one.
    return pa.Table.from_batches(batches or [pa.RecordBatch.from_pylist([], arrow)], arrow)


def concatenated(tables: Sequence[pa.Table]) -> pa.Table:
    """All rows, for Spark, which reads no batch after an empty one."""
    return pa.concat_tables([t for t in tables if t.num_rows] or tables[:1])


def spark_schema(arrow: pa.Schema) -> st.StructType:
    return from_arrow_schema(arrow)


def _checked(parser: Parser, chunks: Iterable[Chunk]) -> Iterator[pa.RecordBatch]:
    """The batches, and where the data are malformed a last row that says so: an error raised in a worker would come out
    wrapped in two stacks."""
    try:
        for chunk in chunks:
            yield from parser.parse(chunk)
    except Malformed as e:
        arrow = schema(parser)
        last = {name: [None] for name in arrow.names} | {PROBLEM: [str(e)]}
        yield pa.RecordBatch.from_pydict(last, schema=arrow)
