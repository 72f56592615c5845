"""Run queries with DataFusion on Arrow data, in one process and one thread."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from airflow_provider_odf.datafusion import types
from airflow_provider_odf.datafusion.plan import INPUT, installed_version, last, missing_package, session
from airflow_provider_odf.datafusion.query_text import QueryProblem, brief
from airflow_provider_odf.error_conversion import quoted_system_error, storage_error
from airflow_provider_odf.errors import InternalError, InvalidQuery, StorageError
from airflow_provider_odf.protocol import SqlQueryStep

if TYPE_CHECKING:
    from datafusion import SessionContext

PART_ROWS = 65_536
"""Number of rows per part of row-wise queries. Each part is planned anew."""

BATCH_ROWS = 8_192
"""Number of rows in a batch of other queries: sums of floating-point numbers depend on it."""

_NO_MEMORY = "Resources exhausted"


@dataclass(frozen=True)
class Job:
    """Queries to run, here or in a Spark worker.

    ``tables`` has the columns of each table as DataFusion gets them, ``output`` the columns of the last query as Spark
    gets them. ``version`` is the version of the package that planned the queries. ``memory`` is the number of bytes to
    hold before data are spilled to the directory ``scratch``. ``purpose`` begins messages. A result of more than
    ``most_rows``, here or in a worker, is an error with the message ``too_many``.
    """

    steps: tuple[SqlQueryStep, ...]
    tables: Mapping[str, pa.Schema]
    output: pa.Schema
    version: str
    memory: int
    scratch: str
    purpose: str = "preprocess"
    most_rows: int | None = None
    too_many: str = ""

    def by_part(self, batches: Iterable[pa.RecordBatch], table: str = INPUT) -> Iterator[pa.RecordBatch]:
        """Run row-wise queries on the rows of one table, part by part, in order. The other tables are empty.

        :raises InvalidQuery: the queries cannot process a value.
        """
        self._check_version()
        context = session()
        for name, schema in self.tables.items():
            context.register_record_batches(types.quoted(name), [[types.empty(schema)]])
        for part in _parts(batches):
            context.deregister_table(types.quoted(table))
            context.register_record_batches(types.quoted(table), [self._batches(part, table)])
            yield from self._rows(context)

    def at_once(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run queries that need more than one row, on all rows of the only table at once.

        :raises InvalidQuery: the queries cannot process a value.
        :raises InternalError: the memory does not suffice, even with spilling.
        """
        (name,) = self.tables
        yield from self.together((name, batch) for batch in batches)

    def together(self, batches: Iterable[tuple[str, pa.RecordBatch]]) -> Iterator[pa.RecordBatch]:
        """Run queries on all rows of all tables at once. Each batch has the name of its table.

        Files hold the rows, since a query may read them several times.

        :raises InvalidQuery: the queries cannot process a value.
        :raises InternalError: the memory does not suffice, even with spilling.
        """
        self._check_version()
        with tempfile.TemporaryDirectory(prefix="odf-query-", dir=_directory(self.scratch)) as directory:
            files = {name: Path(directory) / f"{number}.arrow" for number, name in enumerate(self.tables)}
            with contextlib.ExitStack() as stack:
                sinks = {name: stack.enter_context(pa.OSFile(str(file), "wb")) for name, file in files.items()}
                writers = {n: stack.enter_context(pa.ipc.new_file(sinks[n], self.tables[n])) for n in files}
                for name, batch in _even(batches):
                    writers[name].write_batch(types.rows_to_datafusion(batch, self.tables[name]))
            context = session(memory=self.memory, scratch=directory)
            for name, file in files.items():
                context.register_arrow(types.quoted(name), file, schema=self.tables[name])
            yield from self._rows(context)

    def on_tables(self, tables: Mapping[str, pa.Table]) -> pa.Table:
        """Run the queries on small tables in memory.

        :raises InvalidQuery: the queries cannot process a value.
        """
        context = session(memory=self.memory, scratch=_directory(self.scratch))
        for name, table in tables.items():
            batches = self._batches(table.combine_chunks().to_batches(max_chunksize=BATCH_ROWS), name)
            context.register_record_batches(types.quoted(name), [batches or [types.empty(self.tables[name])]])
        return pa.Table.from_batches(self._rows(context), schema=self.output)

    def _batches(self, batches: Iterable[pa.RecordBatch], table: str) -> list[pa.RecordBatch]:
        return [types.rows_to_datafusion(batch, self.tables[table]) for batch in batches]

    def _rows(self, context: SessionContext) -> Iterator[pa.RecordBatch]:
        count = 0
        with _as_user_errors(self.purpose, _directory(self.scratch)):
            # Partitions one by one: otherwise the branches of a UNION would come in any order.
            for partition in last(context, self.steps).execute_stream_partitioned():
                for batch in partition:
                    rows = batch.to_pyarrow()
                    count += rows.num_rows
                    if self.most_rows is not None and count > self.most_rows:
                        raise InvalidQuery(self.too_many)
                    if rows.num_rows:  # Spark reads no batch after an empty one.
                        yield types.rows_to_spark(rows, self.output)

    def _check_version(self) -> None:
        """Check the version of DataFusion, since types and results may differ between versions.

        :raises InvalidQuery: the installed version differs, or there is none.
        """
        try:
            installed = installed_version()
        except Exception:
            raise InvalidQuery(missing_package(self.version)) from None
        if installed != self.version:
            raise InvalidQuery(
                f"the query was planned with datafusion {self.version}, and this Spark worker has {installed}: "
                f"run `pip install datafusion=={self.version}` on all workers"
            )


def _even(batches: Iterable[tuple[str, pa.RecordBatch]]) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield the rows of each table in batches of one size."""
    waiting: dict[str, list[pa.RecordBatch]] = {}
    for name, batch in batches:
        waiting.setdefault(name, []).append(batch)
        if sum(b.num_rows for b in waiting[name]) >= BATCH_ROWS:
            rows = pa.Table.from_batches(waiting[name]).combine_chunks()
            whole = rows.num_rows - rows.num_rows % BATCH_ROWS
            for part in rows.slice(0, whole).to_batches(max_chunksize=BATCH_ROWS):
                yield name, part
            waiting[name] = rows.slice(whole).to_batches()
    for name, rest in waiting.items():
        for part in pa.Table.from_batches(rest).combine_chunks().to_batches() if rest else ():
            yield name, part


def _parts(batches: Iterable[pa.RecordBatch]) -> Iterator[list[pa.RecordBatch]]:
    part: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        part.append(batch)
        rows += batch.num_rows
        if rows >= PART_ROWS:
            yield part
            part, rows = [], 0
    if rows:
        yield part


def _directory(scratch: str) -> str | None:
    """Return a local directory for spilled data: Spark's own directory in an executor, else ``scratch``."""
    candidates = [*os.environ.get("SPARK_LOCAL_DIRS", "").split(","), scratch]
    return next((path for path in candidates if path and os.path.isdir(path)), None)


@contextlib.contextmanager
def _as_user_errors(purpose: str, scratch: str | None) -> Iterator[None]:
    """Raise errors of a running query as InvalidQuery, except a lack of memory or space. ``scratch`` is the folder of
    temporary files."""
    try:
        yield
    except QueryProblem as e:
        raise InvalidQuery(f"{purpose}, {e}") from e
    except GeneratorExit:
        raise
    except BaseException as e:
        # A panic in Rust is not an Exception.
        if not isinstance(e, Exception) and type(e).__name__ != "PanicException":
            raise
        if _NO_MEMORY in str(e):
            raise InternalError(f"{purpose}: {brief(str(e))}") from e
        if (refused := quoted_system_error(str(e))) is not None:
            raise StorageError(f"{purpose}: {storage_error(refused, Path(scratch) if scratch else None)}") from e
        raise InvalidQuery(f"{purpose}: {brief(str(e))}") from e
