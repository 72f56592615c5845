"""Test conditions with DataFusion, in the engine's process and without Spark.

The SQL of a condition is the same as for Spark (`datafusion_form` says of which clauses). It is read as that of MySQL,
which quotes names and texts as Spark does.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn, TypeVar
from urllib.parse import quote

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pyarrow.types as pt
from pyspark.sql import types as T  # noqa: N812

from airflow_provider_odf.column_rules import RESERVED
from airflow_provider_odf.datafusion.plan import session
from airflow_provider_odf.engine.contract import spark_texts
from airflow_provider_odf.engine.contract.conditions import (
    MOST_OFFSETS,
    MOST_SAMPLES,
    Aggregate,
    Condition,
    ConditionTest,
    Count,
    Found,
    Key,
    Sample,
    Samples,
    Shown,
    Values,
    count_of,
    measures_of_groups,
)
from airflow_provider_odf.engine.contract.datafusion_form import contains
from airflow_provider_odf.engine.optional_spark import NeedsSpark
from airflow_provider_odf.engine.read import parquet
from airflow_provider_odf.engine.schema import quoted
from airflow_provider_odf.engine.sql import Sql, count_if, ddl, select
from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.records import files

if TYPE_CHECKING:
    from datafusion import SessionContext
    from pyspark.sql import DataFrame

Value = TypeVar("Value")

_FLOATS = (T.FloatType, T.DoubleType)
_STORED = "odf:stored "
"""Prefix of columns with the numbers of a file: others have one NaN and one zero, as Spark compares them."""


_SETTINGS = {
    "datafusion.sql_parser.dialect": "mysql",
    # Statistics of a file do not tell of NaN: a column of 1 and NaN would count as 1 alone.
    "datafusion.execution.collect_statistics": "false",
    "datafusion.execution.parquet.pruning": "false",
    "datafusion.execution.parquet.enable_page_index": "false",
}


def context(memory: int) -> SessionContext:
    """Return a session that understands the SQL of conditions.

    :param memory: bytes that aggregates and joins may hold before they spill to temporary files.
    :raises NeedsSpark: DataFusion is not installed.
    """
    try:
        own = session(memory=memory, settings=_SETTINGS)
    except InvalidInput:
        raise NeedsSpark("the package datafusion is not installed") from None
    from datafusion import udf

    own.register_udf(udf(contains, [pa.string(), pa.string()], pa.bool_(), "immutable", name="regexp_like"))
    return own


_SAME = (
    pt.is_boolean,
    pt.is_signed_integer,
    pt.is_floating,
    pt.is_decimal128,
    pt.is_date32,
    pt.is_string,
    pt.is_binary,
)


def columns_of(paths: Sequence[str]) -> pa.Schema:
    """Return the columns of Parquet files, which Spark reads in the same types.

    :raises NeedsSpark: it does not, or a file is none.
    """
    try:
        footers = [files.footer(path) for path in paths if os.path.isfile(path)]
    except (OSError, pa.ArrowException):
        footers = []
    schemas = [footer.schema.to_arrow_schema().remove_metadata() for footer in footers]
    first = next(iter(schemas), pa.schema([]))
    if len(footers) != len(paths) or not len(first) or any(schema != first for schema in schemas):
        raise NeedsSpark("the files are not Parquet of the same columns")
    readable = zip(paths, footers, strict=True)
    if any(next(parquet.problems(path, footer), "") or _is_of_old_calendar(footer) for path, footer in readable):
        raise NeedsSpark("Spark reads a file in a way of its own")
    for f in first:
        has_form = any(is_one(f.type) for is_one in _SAME) and not pt.is_float16(f.type)
        is_time = pt.is_timestamp(f.type) and f.type.unit in ("ms", "us")
        if not (has_form or is_time) or f.name.lower().startswith(RESERVED):
            raise NeedsSpark(f"column {f.name} is of type {f.type}")
    if any(map(_has_other_text, footers)):
        raise NeedsSpark("a column has text of a kind of its own")
    return pa.schema([f.with_nullable(True).remove_metadata() for f in first])


def _is_of_old_calendar(footer: pq.FileMetaData) -> bool:
    """Whether Spark may shift dates and times of the file to another calendar."""
    written = footer.metadata or {}
    version = written.get(b"org.apache.spark.version", b"4")
    return version.startswith(b"2.") or any(b"legacy" in name for name in written)


def _has_other_text(footer: pq.FileMetaData) -> bool:
    columns = map(footer.schema.column, range(footer.num_columns))
    return any(
        column.physical_type == "INT96"
        or (column.physical_type == "BYTE_ARRAY" and column.logical_type.type not in ("STRING", "NONE", "DECIMAL"))
        for column in columns
    )


def rows_of(context: SessionContext, paths: Sequence[str], schema: pa.Schema, types: T.StructType) -> Sql:
    """Return a query for the rows of Parquet files in their order. Columns that a file lacks are null."""
    start = len(context.catalog().schema().table_names())
    for number, path in enumerate(paths, start):
        _register(context, f"file {number}", path, schema)
    parts = [select("*", quoted(f"file {number}")) for number in range(start, start + len(paths))]
    columns = [column for name in schema.names for column in _columns(name, types[name].dataType)]
    return select(columns, " UNION ALL ".join(parts))


def in_memory(context: SessionContext, query: Sql) -> Sql:
    """Return a query for the rows of another one, which is computed once and held.

    :raises NeedsSpark: DataFusion cannot compute it.
    """
    name = f"rows {len(context.catalog().schema().table_names())}"
    try:
        context.register_record_batches(quoted(name), [context.sql(query).collect()])
    except Exception:
        _leave_to_spark()
    return select("*", quoted(name))


def _register(context: SessionContext, name: str, path: str, schema: pa.Schema) -> None:
    try:
        # A path would be a glob.
        context.register_parquet(quoted(name), f"file://{quote(path)}", file_extension="", schema=schema)
    except Exception:
        _leave_to_spark()


def _columns(name: str, kind: T.DataType) -> Iterable[Sql]:
    column = quoted(name)
    if not isinstance(kind, _FLOATS):
        return [column]
    nan, zero = (f"CAST('{value}' AS {ddl(kind)})" for value in ("NaN", "0"))
    same = f"CASE WHEN isnan({column}) THEN {nan} ELSE {column} + {zero} END AS {column}"
    return [same, f"{column} AS {quoted(_STORED + name)}"]


def _leave_to_spark() -> NoReturn:
    # Without the message, which may have values of the data.
    raise NeedsSpark("DataFusion cannot read or judge a value") from None


@dataclass(frozen=True)
class DataFusionScan:
    """A scan of rows that tests several conditions.

    ``rows`` is a query for the rows that keys and aggregates are about, and ``tested`` for those of conditions on
    values. ``offset`` is SQL for their order.
    """

    context: SessionContext
    types: T.StructType
    rows: Sql
    tested: Sql
    offset: Sql

    @property
    def keyed(self) -> DataFrame:
        """Rows for Spark.

        :raises NeedsSpark: always.
        """
        raise NeedsSpark("a clause needs jobs of Spark")

    def failing(self, conditions: Mapping[str, Condition], column: str) -> DataFrame:
        """Return failing rows for Spark.

        :raises NeedsSpark: always.
        """
        raise NeedsSpark("Spark writes failing rows")

    def test(self, conditions: Sequence[ConditionTest]) -> list[Found]:
        """Return the numbers of tested and failing rows of each condition, and the first failing rows.

        :raises NeedsSpark: DataFusion cannot evaluate one.
        """
        counts = self._counts([tested.condition for tested in conditions])
        failing = {i: tested for i, tested in enumerate(conditions) if tested.fails(counts[i])}
        samples = dict(zip(failing, self._samples([*failing.values()]), strict=True))
        return [(count, samples.get(i, Samples())) for i, count in enumerate(counts)]

    def _counts(self, conditions: Sequence[Condition]) -> list[Count]:
        passes: dict[Sql, dict[int, Sequence[Sql]]] = {}
        for index, condition in enumerate(conditions):
            rows, measures = self._measures(condition)
            passes.setdefault(rows, {})[index] = measures
        counts: dict[int, Count] = {}
        for rows, by_index in passes.items():
            every = [sql for measures in by_index.values() for sql in measures]
            table = self._query(select((f"{sql} AS m{i}" for i, sql in enumerate(every)), rows))
            values = iter([column[0].as_py() for column in table.columns])
            counts |= {index: count_of(conditions[index], values) for index in by_index}
        return [counts[index] for index in range(len(conditions))]

    def _measures(self, condition: Condition) -> tuple[Sql, Sequence[Sql]]:
        """Return a query for rows or groups, and SQL for the numbers of a `Count` over them."""
        match condition:
            case Values():
                return self.tested, (count_if(condition.about), count_if(_flag(condition)))
            case Aggregate():
                return self.rows, ("count(1)", condition.sql)
            case Key():
                key = condition.of_groups
                return self._groups(condition), [*measures_of_groups(key, key.bad("__rows"))]
        raise NeedsSpark("references need Spark")

    def _groups(self, key: Key) -> Sql:
        columns = (f"{c} AS {name}" for c, name in zip(key.columns, key.of_groups.columns, strict=True))
        return select(["count(1) AS __rows", *columns], self.rows, f"GROUP BY {', '.join(key.columns)}")

    def _samples(self, failing: Sequence[ConditionTest]) -> Iterator[Samples]:
        values = {i: t.condition for i, t in enumerate(failing) if isinstance(t.condition, Values)}
        columns = [*dict.fromkeys(name for i in values for name in _columns_of(failing[i].shown))]
        of_values = self._first_of_each([_flag(condition) for condition in values.values()], columns)
        tables = dict(zip(values, of_values, strict=True))
        for i, tested in enumerate(failing):
            if i in values:
                yield self._samples_of(tables[i], columns, tested.shown)
            elif isinstance(tested.condition, Key):
                names = [*dict.fromkeys(_columns_of(tested.shown))]
                yield self._samples_of(self._first_of_key(tested.condition, names), names, tested.shown)
            else:
                yield Samples()

    def _first_of_each(self, flags: Sequence[Sql], columns: Sequence[str]) -> list[pa.Table]:
        """Return the first of the rows for which each of some SQL is true, read in one pass."""
        if not flags:
            return []
        marks = (f"{flag} AS f{i}" for i, flag in enumerate(flags))
        any_of = " OR ".join(f"({flag})" for flag in flags)
        width = len(columns) + 1

        def first_of(failing: pa.RecordBatchReader) -> list[pa.Table]:
            first = [pa.schema([*failing.schema][:width]).empty_table()] * len(flags)
            for batch in failing:
                rows = pa.Table.from_batches([batch.select(range(width))])
                first = [
                    _first(pa.concat_tables([table, rows.filter(mark)]))
                    for table, mark in zip(first, batch.columns[width:], strict=True)
                ]
            return first

        return self._read(select([*self._shown(columns), *marks], self.tested, f"WHERE {any_of}"), first_of)

    def _first_of_key(self, condition: Key, columns: Sequence[str]) -> pa.Table:
        key = condition.of_groups
        groups = select("*", self._groups(condition), f"WHERE {key.bad('__rows')}")
        pairs = zip(condition.columns, key.columns, strict=True)
        same = (f"({column} IS NOT DISTINCT FROM {name})" for column, name in pairs)
        rows = select("*", f"({self.rows}) AS r JOIN ({groups}) AS b ON {' AND '.join(same)}")
        return self._query(select(self._shown(columns), rows, f"ORDER BY {self.offset} LIMIT {MOST_OFFSETS}"))

    def _shown(self, columns: Sequence[str]) -> list[Sql]:
        return [f"{self.offset} AS o", *(f"{quoted(self._stored(name))} AS c{i}" for i, name in enumerate(columns))]

    def _samples_of(self, table: pa.Table, columns: Sequence[str], shown: Shown) -> Samples:
        offsets = table.column("o").to_pylist()
        head = dict(zip(columns, table.slice(0, MOST_SAMPLES).columns[1:], strict=True))
        return Samples(tuple(self._sample(offsets, head, shown)), tuple(offsets))

    def _stored(self, name: str) -> str:
        return _STORED + name if isinstance(self.types[name].dataType, _FLOATS) else name

    def _sample(self, offsets: Sequence[int], head: Mapping[str, pa.ChunkedArray], shown: Shown) -> Iterable[Sample]:
        kinds = {name: self.types[name].dataType for name in head}
        try:
            texts = [spark_texts.texts(head[name], kinds[name]) for name in shown.values]
            rows = {name: spark_texts.json_values(head[name], kinds[name]) for name in shown.columns}
        except (ValueError, OverflowError):  # a time beyond the years of Python
            _leave_to_spark()
        for i, offset in enumerate(offsets[:MOST_SAMPLES]):
            row = {n: "***" if n in shown.masked and v[i] is not None else v[i] for n, v in rows.items()}
            values = [text[i] for text in texts]
            is_key = len(values) > 1
            shown_text = ", ".join("null" if v is None else v for v in values) if is_key else next(iter(values), None)
            yield Sample(offset, shown_text, json.dumps(row))

    def _query(self, sql: Sql) -> pa.Table:
        return self._read(sql, pa.RecordBatchReader.read_all)

    def _read(self, sql: Sql, take: Callable[[pa.RecordBatchReader], Value]) -> Value:
        """Return what a function takes from the rows of a query, which come as it takes them.

        :raises NeedsSpark: DataFusion cannot evaluate the query.
        """
        try:
            return take(pa.RecordBatchReader.from_stream(self.context.sql(sql)))
        except BaseException as e:
            # A panic in Rust is not an Exception.
            if not isinstance(e, Exception) and type(e).__name__ != "PanicException":
                raise
            _leave_to_spark()


def _first(table: pa.Table) -> pa.Table:
    """Return the first rows by offset, as many as a report has offsets."""
    return table.take(pc.select_k_unstable(table, k=MOST_OFFSETS, sort_keys=[("o", "ascending")]))


def _columns_of(shown: Shown) -> Iterator[str]:
    yield from (*shown.columns, *shown.values)


def _flag(condition: Values) -> Sql:
    return condition.broken if condition.about == "true" else f"({condition.about}) AND ({condition.broken})"
