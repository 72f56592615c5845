"""SQL over the datasets of stores, by DataFusion in this process.

``FROM "bike-stations"`` are the current rows of a dataset, ``FROM history."bike-stations"`` its records, and ``FROM
as_of('bike-stations', '2026-05-01')`` its rows at a time or block. Each store is a catalog, the first one the default.
A query reads the columns that it needs of the rows that its conditions leave. It sees nothing but the stores: there are
no files, and no statements but queries.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from airflow_provider_odf.datafusion.plan import session
from airflow_provider_odf.datafusion.query_text import ONLY_QUERIES, problem, words
from airflow_provider_odf.errors import InvalidInput, OdfError
from airflow_provider_odf.reading.rows import Rows

if TYPE_CHECKING:
    from datafusion import DataFrame, Expr, SessionContext

    from airflow_provider_odf.reading.scan import CurrentScan
    from airflow_provider_odf.reading.sql_catalog import Datasets

_OPTIONS = {
    # Names have upper and lower case, and Parquet's statistics do not tell of NaN.
    "datafusion.execution.collect_statistics": "false",
}


class Sql:
    """A session for queries over stores.

    :param stores: by the name of their catalog; the first one is the default.
    :raises InvalidInput: the package ``datafusion`` is not installed.
    """

    def __init__(self, stores: Mapping[str, Datasets]) -> None:
        self.stores = stores
        self._errors: list[OdfError] = []
        """Errors of tables and functions, of which DataFusion keeps only the texts."""

    def query(self, text: str) -> QueryResult:
        """Return the rows of a query, which is planned now and runs when they are read.

        :raises InvalidInput: the query is not valid, or no query.
        :raises DatasetNotFound: a store has no such dataset.
        """
        from datafusion import SQLOptions

        first = next(words(text), None)
        if first is None or not first.is_word("SELECT", "WITH", "VALUES", "EXPLAIN", "TABLE", "("):
            raise InvalidInput(f"query: {ONLY_QUERIES}")
        only_queries = SQLOptions().with_allow_ddl(False).with_allow_dml(False).with_allow_statements(False)
        with _as_own_errors(text, self._errors):
            return QueryResult(text, self._context.sql_with_options(text, only_queries), self._errors)

    def tables(self) -> Iterator[tuple[str, str]]:
        """Yield catalog and name of each dataset."""
        for catalog, store in self.stores.items():
            yield from ((catalog, name) for name in store)

    def columns(self, name: str) -> list[tuple[str, str]]:
        """Return names and types of the columns of a dataset's current rows.

        :raises DatasetNotFound: no store has it.
        """
        first = next((store for store in self.stores.values() if name in store), next(iter(self.stores.values())))
        return [(field.name, str(field.type)) for field in first[name].current().schema]

    @cached_property
    def _context(self) -> SessionContext:
        from datafusion import udtf

        from airflow_provider_odf.reading.sql_catalog import AS_OF, CURRENT, StoreCatalog

        first = next(iter(self.stores))
        context = session(settings=_OPTIONS, catalog=(first, CURRENT))
        for name, store in self.stores.items():
            catalog: Any = StoreCatalog(
                store, self._errors
            )  # by its methods, so that its module does not import DataFusion
            context.register_catalog_provider(name, catalog)
        context.register_udtf(udtf(self._as_of, AS_OF))
        return context

    def _as_of(self, *arguments: Expr) -> Any:
        from airflow_provider_odf.reading.sql_catalog import table

        try:
            scan = self._scan_as_of(*(argument.python_value().as_py() for argument in arguments))
            return table(scan, self._errors)
        except OdfError as e:
            self._errors.append(e)
            raise

    def _scan_as_of(self, *values: object) -> CurrentScan:
        name, point, catalog = (*values, *[next(iter(self.stores))] * (3 - len(values)))[:3]
        if len(values) not in (2, 3) or not all(isinstance(value, str) for value in values):
            raise InvalidInput(
                "as_of takes the name of a dataset, a time or block, and perhaps the name of a store: "
                "as_of('bike-stations', '2026-05-01')"
            )
        if catalog not in self.stores:
            raise InvalidInput(f"as_of: there is no store {catalog!r}: the stores are {', '.join(self.stores)}")
        return self.stores[str(catalog)][str(name)].as_of(str(point))


@dataclass(frozen=True, eq=False, repr=False)
class QueryResult(Rows):
    """The rows of a query."""

    text: str
    _frame: DataFrame
    _errors: list[OdfError]

    @property
    def schema(self) -> pa.Schema:
        return self._frame.schema()

    def to_arrow(self) -> pa.RecordBatchReader:
        """Return the rows as a stream of Arrow batches, in the memory that the query needs.

        :raises InvalidInput: the query cannot process a value.
        :raises ChainCorrupted: a slice is missing, or differs from its hash.
        """
        return pa.RecordBatchReader.from_batches(self.schema, self._batches())

    def _batches(self) -> Iterator[pa.RecordBatch]:
        with _as_own_errors(self.text, self._errors):
            for batch in self._frame.execute_stream():
                yield batch.to_pyarrow()


@contextmanager
def _as_own_errors(text: str, errors: list[OdfError]) -> Iterator[None]:
    """Raise errors of DataFusion as those of the package, with their place in a query.

    :param errors: those of tables and functions, which are raised as they are.
    """
    errors.clear()
    try:
        yield
    except OdfError:
        raise
    except Exception as e:
        raise next(iter(errors), InvalidInput(f"query{_where(e, text)}")) from e


def _where(error: Exception, text: str) -> str:
    found = problem(error, text, 0)
    advice = f" ({found.advice})" if found.advice else ""
    return f", {found.line}:{found.column}: {found.message}{advice}" if found.line else f": {found.message}{advice}"
