"""SQL over the datasets of stores, by DataFusion in this process.

``FROM "bike-stations"`` are the current rows of a dataset, ``FROM history."bike-stations"`` its records, and ``FROM
as_of('bike-stations', '2026-05-01')`` its rows at a time or block. Each store is a catalog, the first one the default.
A query reads the columns that it needs of the rows that its conditions leave. It sees nothing but the stores: there are
no files, and no statements but queries.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from airflow_provider_odf.datafusion.plan import session
from airflow_provider_odf.datafusion.query_text import (
    ONLY_QUERIES,
    advice_on_quotes,
    check_clauses,
    check_dates,
    check_operators,
    problem,
    words,
)
from airflow_provider_odf.errors import InvalidInput, OdfError
from airflow_provider_odf.merge_strategies import OPERATION_NAMES, OPERATIONS_TEXT
from airflow_provider_odf.reading.rows import Rows
from airflow_provider_odf.reading.sql_catalog import CALL, CURRENT, HISTORY
from airflow_provider_odf.wording import nearest

if TYPE_CHECKING:
    from datafusion import DataFrame, Expr, SessionContext

    from airflow_provider_odf.reading.scan import CurrentScan
    from airflow_provider_odf.reading.sql_catalog import Datasets

_FIRST_WORDS = ("SELECT", "WITH", "VALUES", "EXPLAIN", "TABLE", "(")
_CHANGES = ("INSERT", "UPDATE", "DELETE", "MERGE", "COPY")
_TO_LIST = "`odf list`, or .datasets at the prompt, lists the datasets; `odf show NAME`, or .schema NAME, the columns"
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
        self._calls = 0
        """How many names of calls of ``as_of`` are known."""
        self._errors: list[OdfError] = []
        """Errors of tables and functions, of which DataFusion keeps only the texts."""

    def query(self, text: str) -> QueryResult:
        """Return the rows of a query, which is planned now and runs when they are read.

        :raises InvalidInput: the query is not valid, or no query.
        :raises DatasetNotFound: a store has no such dataset.
        """
        from datafusion import SQLOptions

        first = next(words(text), None)
        if first is None:
            raise InvalidInput("query: it is empty")
        if not first.is_word(*_FIRST_WORDS):
            meant = nearest(first.text.upper(), _FIRST_WORDS)
            advice = f"did you mean {meant}?" if meant else _TO_LIST
            if first.is_word(*_CHANGES):
                advice = "`odf push` adds rows"
            raise InvalidInput(f"query: {first.text[:40]}: {ONLY_QUERIES} ({advice})")
        check_dates(text, "query")
        check_operators(text, "query")
        check_clauses(text, "query")
        only_queries = SQLOptions().with_allow_ddl(False).with_allow_dml(False).with_allow_statements(False)
        with _as_own_errors(text, self._errors, self.tables):
            frame = self._context.sql_with_options(self._with_calls_named(text), only_queries)
            return QueryResult(text, frame, self._errors)

    def tables(self) -> Iterator[tuple[str, str]]:
        """Yield catalog and name of each dataset."""
        for catalog, store in self.stores.items():
            yield from ((catalog, name) for name in store)

    def columns(self, name: str) -> list[tuple[str, str]]:
        """Return names and types of the columns of a dataset: of its current rows, unless the name is that of a table,
        such as ``history."bike-stations"`` or ``other.current."bike-stations"``.

        :raises DatasetNotFound: no store has it.
        """
        bare = name.replace('"', "")
        for catalog, store in self.stores.items():
            rest = bare.removeprefix(f"{catalog}.")
            kind = next((kind for kind in (CURRENT, HISTORY) if rest.startswith(f"{kind}.")), "")
            if kind and bare not in store and (known := rest.removeprefix(f"{kind}.")) in store:
                scan = store[known].history() if kind == HISTORY else store[known].current()
                return [(field.name, str(field.type)) for field in scan.schema]
        first = next((store for store in self.stores.values() if bare in store), next(iter(self.stores.values())))
        return [(field.name, str(field.type)) for field in first[bare].current().schema]

    def _with_calls_named(self, text: str) -> str:
        """Return a query in which each call of ``as_of`` has a name of its own, of the same length: DataFusion takes
        two calls of one name for the same table, whatever their arguments are."""
        from datafusion import udtf

        calls = [word for word, after in pairwise(words(text)) if word.is_word("AS_OF") and after.text == "("]
        for number, call in enumerate(calls):
            name = f"as_{number:02x}"
            if number >= self._calls:
                self._context.register_udtf(udtf(self._as_of, name))
                self._calls += 1
            text = f"{text[: call.start]}{name}{text[call.end :]}"
        return text

    @cached_property
    def _context(self) -> SessionContext:
        from airflow_provider_odf.reading.sql_catalog import StoreCatalog

        first = next(iter(self.stores))
        context = session(settings=_OPTIONS, catalog=(first, CURRENT))
        for name, store in self.stores.items():
            catalog: Any = StoreCatalog(
                store, self._errors
            )  # by its methods, so that its module does not import DataFusion
            context.register_catalog_provider(name, catalog)
        return context

    def _as_of(self, *arguments: Expr) -> Any:
        from airflow_provider_odf.reading.sql_catalog import table

        try:
            scan = self._scan_as_of(*map(_literal, arguments))
            return table(scan, self._errors)
        except OdfError as e:
            self._errors.append(e)
            raise

    def _scan_as_of(self, *values: object) -> CurrentScan:
        name, point, catalog = (*values, *[next(iter(self.stores))] * (3 - len(values)))[:3]
        are_named = isinstance(name, str) and isinstance(catalog, str)
        if len(values) not in (2, 3) or not are_named or not isinstance(point, str | date):
            raise InvalidInput(
                "as_of takes the name of a dataset as text, a time or block, and perhaps the name of a store: "
                "as_of('bike-stations', '2026-05-01')"
            )
        if catalog not in self.stores:
            raise InvalidInput(f"as_of: there is no store {catalog!r}: the stores are {', '.join(self.stores)}")
        return self.stores[str(catalog)][str(name)].as_of(point)


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


def _literal(argument: Expr) -> object:
    """Return the value of an argument: a text, a date or a time; None if it is no literal."""
    try:
        value = argument.python_value()
    except Exception:  # DataFusion has no class for it
        return None
    if pa.types.is_timestamp(value.type):  # without a zone, as SQL has it
        return value.cast(pa.timestamp("us"), safe=False).as_py().replace(tzinfo=UTC)
    return value.as_py()


@contextmanager
def _as_own_errors(
    text: str, errors: list[OdfError], tables: Callable[[], Iterable[tuple[str, str]]] = tuple
) -> Iterator[None]:
    """Raise errors of DataFusion as those of the package, with their place in a query.

    :param errors: those of tables and functions, which are raised as they are.
    :param tables: returns catalog and name of each dataset, for advice.
    """
    errors.clear()
    try:
        yield
    except OdfError:
        raise
    except Exception as e:
        # Without its cause: a notebook would show the frames of DataFusion first.
        raise next(iter(errors), InvalidInput(f"query{_where(e, text, tables)}")) from None


def _where(error: Exception, text: str, tables: Callable[[], Iterable[tuple[str, str]]]) -> str:
    found = problem(error, text, 0)
    found.message = CALL.sub("as_of", found.message)
    message = found.message if found.message != ONLY_QUERIES else f"{ONLY_QUERIES} ({_TO_LIST})"
    hint = _unquoted(text, tables) or advice_on_quotes(text, message) or found.advice or _advice(message)
    advice = f" ({hint})" if hint else ""
    return f", {found.line}:{found.column}: {message}{advice}" if found.line else f": {message}{advice}"


def _unquoted(text: str, tables: Callable[[], Iterable[tuple[str, str]]]) -> str:
    """Return the advice to quote the name of a dataset that a query has without quotes."""
    bare = "".join(word.text if word.kind in ("name", "number", "sign") else " " for word in words(text)).lower()
    name = next((name for _, name in tables() if not name.isidentifier() and name.lower() in bare), None)
    if name is None:
        return ""
    quote = "'" if re.search(rf"(?i)as_of\s*\(\s*{re.escape(name)}", text) else '"'
    return f"quote the name of the dataset: {quote}{name}{quote}"


def _advice(message: str) -> str:
    if any(f"'{name}'" in message for name in OPERATION_NAMES):
        return f"operations are numbers: {OPERATIONS_TEXT}"
    return ""
