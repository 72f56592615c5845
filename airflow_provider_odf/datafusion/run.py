"""Run queries with DataFusion on Arrow data, in one process and one thread."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from airflow_provider_odf.datafusion import session, types
from airflow_provider_odf.datafusion.plan import INPUT, last
from airflow_provider_odf.datafusion.query_problem import QueryProblem, brief
from airflow_provider_odf.errors import InternalError, InvalidQuery
from airflow_provider_odf.protocol import SqlQueryStep

if TYPE_CHECKING:
    from datafusion import SessionContext

PART_ROWS = 65_536
"""Number of rows per part of row-wise queries. Each part is planned anew."""

_NO_MEMORY = "Resources exhausted"


@dataclass(frozen=True)
class Job:
    """Queries to run, here or in a Spark worker.

    ``input`` has the columns as DataFusion gets them, ``output`` the columns of the last query as Spark gets them.
    ``version`` is the version of the package that planned the queries. ``memory`` is the number of bytes to hold before
    data are spilled to the directory ``scratch``.
    """

    steps: tuple[SqlQueryStep, ...]
    input: pa.Schema
    output: pa.Schema
    version: str
    memory: int
    scratch: str

    def by_part(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run row-wise queries part by part, in order.

        :raises InvalidQuery: the queries cannot process a value.
        """
        self._check_version()
        context = session.create()
        for part in _parts(batches):
            context.deregister_table(INPUT)
            context.register_record_batches(INPUT, [self._batches(part)])
            yield from self._rows(context)

    def at_once(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run queries that need more than one row, on all rows at once.

        A file holds the rows, since a query may read them several times.

        :raises InvalidQuery: the queries cannot process a value.
        :raises InternalError: the memory does not suffice, even with spilling.
        """
        self._check_version()
        with tempfile.TemporaryDirectory(prefix="odf-query-", dir=_directory(self.scratch)) as directory:
            file = Path(directory) / "input.arrow"
            with pa.OSFile(str(file), "wb") as sink, pa.ipc.new_file(sink, self.input) as writer:
                for batch in batches:
                    writer.write_batch(types.rows_to_datafusion(batch, self.input))
            context = session.create(memory=self.memory, scratch=directory)
            context.register_arrow(INPUT, file, schema=self.input)
            yield from self._rows(context)

    def on_table(self, table: pa.Table) -> pa.Table:
        """Run the queries on a small table in memory.

        :raises InvalidQuery: the queries cannot process a value.
        """
        context = session.create()
        batches = self._batches(table.to_batches()) or [types.empty(self.input)]
        context.register_record_batches(INPUT, [batches])
        return pa.Table.from_batches(self._rows(context), schema=self.output)

    def _batches(self, batches: Iterable[pa.RecordBatch]) -> list[pa.RecordBatch]:
        return [types.rows_to_datafusion(batch, self.input) for batch in batches]

    def _rows(self, context: SessionContext) -> Iterator[pa.RecordBatch]:
        with _as_user_errors():
            # Partitions one by one: otherwise the branches of a UNION would come in any order.
            for partition in last(context, self.steps).execute_stream_partitioned():
                for batch in partition:
                    yield types.rows_to_spark(batch.to_pyarrow(), self.output)

    def _check_version(self) -> None:
        """Check the version of DataFusion, since types and results may differ between versions.

        :raises InvalidQuery: the installed version differs, or there is none.
        """
        try:
            installed = session.installed_version()
        except Exception:
            raise InvalidQuery(session.missing(self.version)) from None
        if installed != self.version:
            raise InvalidQuery(
                f"the query was planned with datafusion {self.version}, and this Spark worker has {installed}: "
                f"run `pip install datafusion=={self.version}` on all workers"
            )


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
def _as_user_errors() -> Iterator[None]:
    """Raise errors of a running query as InvalidQuery, except a lack of memory."""
    try:
        yield
    except QueryProblem as e:
        raise InvalidQuery(f"preprocess, {e}") from e
    except GeneratorExit:
        raise
    except BaseException as e:
        # A panic in Rust is not an Exception.
        if not isinstance(e, Exception) and type(e).__name__ != "PanicException":
            raise
        if _NO_MEMORY in str(e):
            raise InternalError(f"preprocess: {brief(str(e))}") from e
        raise InvalidQuery(f"preprocess: {brief(str(e))}") from e
