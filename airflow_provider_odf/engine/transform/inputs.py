"""The rows of an input that a query reads: its records, the new ones among them, and its current rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812

from airflow_provider_odf.engine import parquet_frame, spark_internals
from airflow_provider_odf.engine.current_rows import current_rows
from airflow_provider_odf.engine.schema import quoted
from airflow_provider_odf.engine.spark_version import from_arrow_schema, to_arrow_schema
from airflow_provider_odf.engine.transform.plan_tree import MARK
from airflow_provider_odf.merge_strategies import APPEND, CORRECT_FROM, CORRECT_TO, PRESENT, RETRACT, OperationColumn
from airflow_provider_odf.protocol import DatasetVocabulary, HistorySlice, MergeStrategy, TransformRequestInput
from airflow_provider_odf.records import files
from airflow_provider_odf.records import schema as schemas

if TYPE_CHECKING:
    import pyarrow.parquet as pq

COUNT = "odf:count"
"""Column of `History.counted`."""

RECORDS = "odf:records:"
"""Prefix of the views with all records of an input. The rest is its alias."""

STEPS = (
    f"CASE WHEN `odf:old` IS NULL THEN array(named_struct('op', {APPEND}, 'row', `odf:new`, 'side', 1)) "
    f"WHEN `odf:new` IS NULL THEN array(named_struct('op', {RETRACT}, 'row', `odf:old`, 'side', 0)) "
    f"ELSE array(named_struct('op', {CORRECT_FROM}, 'row', `odf:old`, 'side', 0), "
    f"named_struct('op', {CORRECT_TO}, 'row', `odf:new`, 'side', 1)) END"
)
"""SQL of the records that turn the row ``odf:old`` into the row ``odf:new``. Null stands for no row."""


@dataclass(frozen=True)
class History:
    """Records of a dataset in its slices, with all columns of its schema.

    Datasets without a merge strategy (derivatives) have the rows that no later record takes back.
    """

    spark: SparkSession
    types: T.StructType
    vocab: DatasetVocabulary
    merge: MergeStrategy | None
    slices: tuple[HistorySlice, ...]
    is_small: bool

    @property
    def columns(self) -> list[str]:
        """The event time and the columns of data."""
        return [f.name for f in self.types.fields[3:]]

    @cached_property
    def arrow(self) -> pa.Schema:
        """The columns in Spark's types, all of them optional."""
        return to_arrow_schema(self.types.toNullable())

    @property
    def key(self) -> tuple[str, ...]:
        """The primary key, if the newest record of each key is its current row."""
        return self.merge.primary_key if self.merge and self.merge.traits.has_current_rows else ()

    def records(self, slices: Sequence[HistorySlice] | None = None) -> DataFrame:
        """Return the records of slices, by default of all."""
        paths = [s.path for s in (self.slices if slices is None else slices)]
        if not paths:
            return spark_internals.empty_frame(self.spark, self.types)
        frame = parquet_frame.read(self.spark, paths, self.types)
        return frame.coalesce(1) if self.is_small else frame

    def found(self, name: str, values: pa.Array) -> DataFrame | None:
        """Return the records of which a column is one of a few values, null with null, read by Arrow, which takes much
        less time than Spark for a few rows of many. None where Spark shall read all of them: there is too much, the
        history is small, or its executors are other machines.
        """
        is_local = str(self.spark.sparkContext.master).startswith("local")
        paths = [s.path for s in self.slices]
        if (
            self.is_small
            or not is_local
            or len(values) > parquet_frame.MAX_VALUES
            or not all(map(files.is_path, paths))
        ):
            return None
        schema = self.arrow
        found = parquet_frame.found(paths, schema, name, values.cast(schema.field(name).type))
        if found is None:
            return None
        types = self.types.toNullable()
        if not found:
            return spark_internals.empty_frame(self.spark, types)
        return self.spark.createDataFrame(pa.Table.from_batches(found, schema), types)

    @cached_property
    def has_only_additions(self) -> bool:
        """Whether no record takes back another, from the statistics in the files."""
        return self.are_additions(self.slices)

    def are_additions(self, slices: Iterable[HistorySlice]) -> bool:
        """Whether no record of these slices takes back another."""
        footers = files.footers([s.path for s in slices])
        return all(_has_only_additions(footer, self.vocab.operation_type_column) for footer in footers)

    def current(self, records: DataFrame) -> DataFrame:
        """Return the current rows among records that contain all records of each key or, without one, of each row."""
        if not self.key and self.has_only_additions:
            return records
        return current_rows(records, self.key, self.columns, self.vocab)

    def counted(self, records: DataFrame) -> DataFrame:
        """Return the rows of records with COUNT, which is 1 where a row appears and -1 where it vanishes. The sum over
        all records of a row says how often it is there: cheaper than `current`, where the records do not matter."""
        present = f"{quoted(self.vocab.operation_type_column)} IN {PRESENT}"
        return records.selectExpr(*map(quoted, self.columns), f"IF({present}, 1L, -1L) AS {quoted(COUNT)}")


@dataclass(frozen=True, eq=False)
class Input:
    """An input of a transform. ``number`` is its position in the query inputs."""

    number: int
    alias: str
    history: History
    new_from: int

    @property
    def is_new(self) -> bool:
        """Whether there are new records."""
        return bool(self.new_slices)

    @cached_property
    def new_slices(self) -> tuple[HistorySlice, ...]:
        return tuple(s for s in self.history.slices if s.offset_interval.start >= self.new_from)

    @cached_property
    def only_grows(self) -> bool:
        """Whether no new record takes back another."""
        return not (self.is_new and self._is_of_source) and self.history.are_additions(self.new_slices)

    def beside(self, key: str, other: Input, key_of_other: str) -> DataFrame | None:
        """Return the records whose key is one of those of the new records of another input, None where Spark shall read
        all. Keys are SQL; others than columns are left to Spark, as are those that records of one primary key can have
        different values of."""
        fields = {quoted(f.name): f for f in self.history.types}
        name, names = fields[key].name if key in fields else None, {quoted(n): n for n in other.history.columns}
        if name is None or key_of_other not in names or other._is_of_source:
            return None
        column, same = self.history.arrow.field(name), other.history.arrow.field(names[key_of_other])
        is_of_row = not self.history.key or name in self.history.key
        if not is_of_row or column.type != same.type or not parquet_frame.are_exact(same.type):
            return None
        return self.history.found(name, parquet_frame.values([s.path for s in other.new_slices], same))

    def before(self) -> History:
        """Return the history up to the new records."""
        old = tuple(s for s in self.history.slices if s.offset_interval.start < self.new_from)
        return replace(self.history, slices=old)

    def changes(self) -> DataFrame:
        """Return the new records, as changes of the current rows.

        Where the source gives the operations (ChangelogStream), it may retract a row with other values or without any.
        """
        new = self.history.records(self.new_slices)
        return _changes_of_keys(self, new) if self._is_of_source else new

    @property
    def _is_of_source(self) -> bool:
        merge = self.history.merge
        return merge is not None and merge.traits.operation_column is OperationColumn.REQUIRED

    def view(self, frame: DataFrame, *, is_raw: bool) -> None:
        """Register rows as the view that queries read, with the mark of this input."""
        op = quoted(self.history.vocab.operation_type_column)
        columns = [*map(quoted, frame.columns)]
        shown = [f"CAST({APPEND} AS INT) AS {op}" if not is_raw and c == op else c for c in columns]
        self._marked(frame, self.number).selectExpr(*shown).createOrReplaceTempView(quoted(self.alias))

    def view_records(self, frame: DataFrame) -> None:
        """Register records as the view that queries over versions of rows read.

        Its mark has a negative number: analysis takes it for an input of its own, in which only offsets are unique.
        """
        marked = self._marked(frame, -1 - self.number).select(*map(quoted, frame.columns))
        marked.createOrReplaceTempView(quoted(f"{RECORDS}{self.alias}"))

    def _marked(self, frame: DataFrame, number: int) -> DataFrame:
        offset, op = map(quoted, self.history.vocab.columns[:2])
        mark = quoted(f"{MARK}{number}")
        return frame.selectExpr("*", f"named_struct('input', {number}, 'offset', {offset}, 'op', {op}) AS {mark}")


def of_request(spark: SparkSession, inputs: Sequence[TransformRequestInput], *, is_small: bool) -> list[Input]:
    """Return the inputs of a request."""
    return [
        Input(number, i.query_alias, history(spark, i.schema, i.vocab, i.merge, i.history, is_small), i.new_from)
        for number, i in enumerate(inputs)
    ]


def history(
    spark: SparkSession,
    schema: str,
    vocab: DatasetVocabulary,
    merge: MergeStrategy | None,
    slices: tuple[HistorySlice, ...],
    is_small: bool,
) -> History:
    """Return a dataset's history; ``schema`` is encoded as in requests."""
    return History(spark, from_arrow_schema(schemas.readable(schemas.decode(schema))), vocab, merge, slices, is_small)


def _has_only_additions(footer: pq.FileMetaData, column: str) -> bool:
    index = footer.schema.names.index(column)
    groups = (footer.row_group(number).column(index) for number in range(footer.num_row_groups))
    return all(g.statistics is not None and g.statistics.has_min_max and g.statistics.max == APPEND for g in groups)


def _changes_of_keys(source: Input, new: DataFrame) -> DataFrame:
    """Return the difference of the current rows with the keys of new records, before and after them."""
    history, vocab = source.history, source.history.vocab
    key, columns = [quoted(k) for k in history.key], [quoted(c) for c in history.columns]
    keys = new.selectExpr(*key).distinct()
    before = source.before()
    old = before.current(_with_keys(before.records(), keys, history.key))
    now = history.current(_with_keys(history.records(), keys, history.key))
    offset, op, time = (quoted(c) for c in vocab.columns[:3])
    newest = new.groupBy(*key).agg(F.expr(f"max({offset}) AS `odf:offset`"), F.expr(f"max({time}) AS `odf:time`"))
    row = f"struct({', '.join(columns)})"
    sides = (
        old.selectExpr(*key, f"{row} AS `odf:old`")
        .join(now.selectExpr(*key, f"{row} AS `odf:new`"), list(history.key), "full_outer")
        .join(newest, list(history.key))
    )
    # To Spark, -0.0 is equal to 0.0. A query can tell them, and they differ as text.
    changed = sides.where("NOT (`odf:old` <=> `odf:new` AND CAST(`odf:old` AS STRING) <=> CAST(`odf:new` AS STRING))")
    # Both records of a correction get numbers of their own; corrections are told by neighbouring offsets.
    opened = changed.selectExpr("`odf:offset`", "`odf:time`", f"posexplode({STEPS}) AS (`odf:n`, `odf:step`)")
    return opened.selectExpr(
        f"2 * `odf:offset` + `odf:n` AS {offset}",
        f"`odf:step`.op AS {op}",
        f"`odf:time` AS {time}",
        *(f"`odf:step`.row.{c} AS {c}" for c in columns),
    )


def _with_keys(records: DataFrame, keys: DataFrame, names: Sequence[str]) -> DataFrame:
    return records.join(keys, list(names), "left_semi").select(*map(quoted, records.columns))


def in_memory(spark: SparkSession, rows: DataFrame) -> DataFrame:
    """Return rows that are used several times, computed once unless there are too many."""
    values = rows.limit(parquet_frame.MAX_VALUES + 1).toArrow()
    if values.num_rows > parquet_frame.MAX_VALUES:
        return rows
    return spark.createDataFrame(values, rows.schema).hint("broadcast")


def matching(
    rows: DataFrame, values: DataFrame, pairs: Sequence[tuple[str, str]], *, inverse: bool = False
) -> DataFrame:
    """Return the rows whose expressions have values of a table; null is equal to null.

    ``pairs`` are SQL over the rows with the name of a column of the table.
    """
    named = rows.selectExpr("*", *(f"{sql} AS {quoted(f'odf:match{n}')}" for n, (sql, _) in enumerate(pairs)))
    left, right = named.alias("l"), values.alias("r")
    condition = " AND ".join(f"l.{quoted(f'odf:match{n}')} <=> r.{quoted(name)}" for n, (_, name) in enumerate(pairs))
    joined = left.join(right, F.expr(condition), "left_anti" if inverse else "left_semi")
    return joined.selectExpr(*map(quoted, rows.columns))
