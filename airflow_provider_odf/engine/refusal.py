"""Which failures of Spark are the data's or the query's, said in one short message.

Spark gives its errors SQLSTATE codes: the class of the code (its first two characters) tells whose fault it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import unquote, urlsplit

from py4j.protocol import Py4JJavaError
from pyspark.errors import ParseException, PySparkException, QueryContextType
from pyspark.errors.exceptions.captured import CapturedException

from airflow_provider_odf.errors import InvalidQuery
from airflow_provider_odf.protocol import SqlQueryStep

USER_CLASSES = ("0A", "21", "22", "23", "42", "46", "54", "56", "P0")
"""Not supported, cardinality, data (casts, overflow, division), constraint, syntax and names, routines, limits,
inconsistent use, raised by the query itself."""

RAISED = "USER_RAISED_EXCEPTION"


def refusal(error: BaseException, queries: Sequence[SqlQueryStep] = (), first: int = 1) -> InvalidQuery | None:
    """The error as the user should read it, or None when it is not one of the data or the query.

    ``queries`` are those that ran: the one at fault is named, with its line. They are numbered from
    ``first`` on.
    """
    found = next((e for e in _chain(error) if (e.getSqlState() or "")[:2] in USER_CLASSES), None)
    if found is None:
        return _damaged_file(error) or _of_worker(error)
    return InvalidQuery(": ".join(filter(None, [_place(found, queries, first), message(found)])))


def unreadable_file(error: BaseException) -> str | None:
    """The path of the file that Spark could not read, None for errors of another kind."""
    for failure in _chain(error):
        if (failure.getCondition() or "").startswith("FAILED_READ_FILE"):
            return unquote(urlsplit((failure.getMessageParameters() or {}).get("path", "")).path)
    return None


def _damaged_file(error: BaseException) -> InvalidQuery | None:
    """The error of a Parquet file whose end is right and whose pages are not; other errors of files may pass."""
    cause, path = root_cause(error), unreadable_file(error)
    if path is None or "parquet" not in cause.partition(":")[0]:
        return None
    return InvalidQuery(f"{path or 'a file'}: the Parquet file is damaged: {cause.partition(': ')[2] or cause}")


def _of_worker(error: BaseException) -> InvalidQuery | None:
    """The refusal that code of ours raised in a Python worker, of which Spark keeps the traceback as text."""
    name = re.escape(f"{InvalidQuery.__module__}.{InvalidQuery.__qualname__}")
    for failure in _chain(error):
        raised = re.findall(rf"(?m)^{name}: (.*)$", str(failure))
        if failure.getCondition() == "PYTHON_EXCEPTION" and raised:
            return InvalidQuery(str(raised[-1]))
    return None


def message(error: PySparkException) -> str:
    """What Spark says, without its code, its advice to switch the check off, and the quoted query."""
    text = error.getMessage() or str(error)
    text = re.split(r"\s*SQLSTATE: \w+|\n==|\n\nJVM stacktrace", text, maxsplit=1)[0]
    text = re.sub(rf"^\[{RAISED}\] ", "", text.strip())
    text = re.sub(r" ?(If necessary|To return NULL instead)[^\n]*?to bypass this error\.", "", text)
    return re.sub(r"\s+", " ", text)


def root_cause(error: BaseException) -> str:
    """The innermost Java exception of an error, with its class; nothing for an error that is not of the JVM."""
    return next((str(java.toString()) for java in reversed([*_java_chain(error)])), "")


def _chain(error: BaseException) -> Iterator[PySparkException]:
    """The error and what it came of, outermost first."""
    if isinstance(error, PySparkException):
        yield error
    yield from (CapturedException(origin=java) for java in _java_chain(error))


def _java_chain(error: BaseException) -> Iterator[Any]:
    java = error.java_exception if isinstance(error, Py4JJavaError) else getattr(error, "_origin", None)
    while java is not None:
        yield java
        java = java.getCause()


def _place(error: PySparkException, queries: Sequence[SqlQueryStep], first: int) -> str:
    """``query 2 (alias), line 3`` as far as it is known."""
    for number, step in enumerate(queries, first):
        if line := _line(error, step.query):
            return f"{query_name(number, step)}, line {line}"
    return ""


def query_name(number: int, step: SqlQueryStep) -> str:
    """What messages call a query: ``query 2 (alias)``."""
    return f"query {number} ({step.alias})" if step.alias else f"query {number}"


def _line(error: PySparkException, query: str) -> int:
    """The line of a query where an error of it lies, from 1; 0 when the error is of another query."""
    if isinstance(error, ParseException):
        place = re.search(r"\(line (\d+), pos \d+\)", str(error))
        return int(place[1]) if place else 1
    sql = [c for c in error.getQueryContext() or () if c.contextType() == QueryContextType.SQL]
    fragment = sql[0].fragment() if sql else ""
    return query[: query.index(fragment)].count("\n") + 1 if fragment and fragment in query else 0
