"""Short messages for failures of Spark that the data or the query cause.

Spark's errors have SQLSTATE codes. The class of a code, its first two characters, shows the cause.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any
from urllib.parse import unquote, urlsplit

from py4j.protocol import Py4JJavaError
from pyspark.errors import ParseException, PySparkException, PythonException, QueryContextType
from pyspark.errors.exceptions.captured import CapturedException

from airflow_provider_odf.error_conversion import quoted_system_error, storage_error, system_error
from airflow_provider_odf.errors import ChainCorrupted, InvalidInput, InvalidQuery, StorageError
from airflow_provider_odf.object_stores import is_object
from airflow_provider_odf.protocol import SqlQueryStep
from airflow_provider_odf.records import files

_STORED = re.compile("/data/f1620[0-9a-f]{64}$")
"""The end of the URI of a slice of a dataset."""

_OF_CONTENT = re.compile(r"[\w.$]*parquet|java\.lang\.(?!Interrupted)\w+Exception")
"""Beginnings of errors of Java that the content of a Parquet file causes, not its disk."""

USER_CLASSES = ("0A", "21", "22", "23", "42", "46", "54", "56", "P0")
"""Classes of SQLSTATE codes that the data or the query cause.

In order: not supported, cardinality, data (casts, overflow, division), constraint, syntax and names, routines, limits,
inconsistent use, raised by the query.
"""

RAISED = "USER_RAISED_EXCEPTION"


def refusal(error: BaseException, queries: Mapping[str, str] = MappingProxyType({})) -> InvalidQuery | None:
    """Return the error for the user, None if neither the data nor the query cause it.

    ``queries`` are those that ran, by their names in messages. The message names the failing one and its line.
    """
    user_error = next((e for e in _chain(error) if (e.getSqlState() or "")[:2] in USER_CLASSES), None)
    if user_error is None:
        return _damaged_file(error) or _worker_error(error)
    return InvalidQuery(": ".join(filter(None, [_place(user_error, queries), message(user_error)])))


def unfit(error: BaseException) -> str | None:
    """Return what is wrong with the cluster, None for other errors: its workers have another Python or Spark than this
    process or lack a library, or the Spark Connect server was lost or does not answer. Both sides are named."""
    if away := next(filter(None, map(_away, _chain(error))), None):
        return f"the Spark Connect server {_server()} {away}; nothing was published, run again when it is up"
    texts = [*map(str, _chain(error))]
    ours = f"{sys.version_info.major}.{sys.version_info.minor}"
    for text in texts:
        if other := re.search(r"PYTHON_VERSION_MISMATCH.*?(\d+\.\d+)", text, re.DOTALL):
            return (
                f"the executors run Python {other[1]}, but this process runs Python {ours}: "
                f"install Python {ours} there and name it {_PLACE}"
            )
        if missing := re.search(r"ModuleNotFoundError: No module named '(\w+)|(\w+) >= \S+ must be installed", text):
            name = missing[1] or missing[2]
            return (
                f"the Python of the executors has no package {name}: install {name} {_version(name)} there, as here, "
                f"or name another Python {_PLACE}"
            )
        if missing := re.search(r'Cannot run program "([^"]+)"', text):
            return f"the executors have no program {missing[1]}: install Python {ours} there and name it {_PLACE}"
    return None


_PLACE = "in the setting spark.pyspark.python, or in PYSPARK_PYTHON of a Spark Connect server"

_LOST = ("INVALID_HANDLE.", "NO_ACTIVE_SESSION", "RESPONSE_ALREADY_RECEIVED", "SESSION_")
_SILENT = ("UNAVAILABLE", "DEADLINE_EXCEEDED")
"""Codes of gRPC that have no condition of Spark."""


def _away(error: PySparkException) -> str | None:
    """Return how the Spark Connect server was lost, None for other errors."""
    if (condition := error.getCondition() or "").startswith(_LOST):
        return f"was lost ({condition}): it was restarted, or released the session"
    code = error.getGrpcStatusCode().name if hasattr(error, "getGrpcStatusCode") else ""
    return f"cannot be reached ({code}): check that it runs, and its host and port" if code in _SILENT else None


def _server() -> str:
    """Return the URL of the Spark Connect server without user and parameters, which may be a token."""
    return f"sc://{urlsplit(os.environ.get('SPARK_REMOTE', '')).netloc.rpartition('@')[2]}"


def _version(package: str) -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def unreadable_file(error: BaseException) -> str | None:
    """Return the path of the file that Spark could not read, None for other errors."""
    for failure in _chain(error):
        if (failure.getCondition() or "").startswith("FAILED_READ_FILE"):
            return unquote(urlsplit((failure.getMessageParameters() or {}).get("path", "")).path)
    return None


def _damaged_file(error: BaseException) -> InvalidQuery | None:
    """Return the error of a Parquet file with a valid footer and damaged pages. Other file errors may be temporary."""
    cause, path = root_cause(error), unreadable_file(error)
    if path is None or not files.is_parquet(path) or not (_OF_CONTENT.match(cause) or files.damage(path)):
        return None
    return InvalidQuery(f"{path or 'a file'}: the Parquet file is damaged: {cause.partition(': ')[2] or cause}")


def storage_failure(error: BaseException, scratch: str) -> StorageError | None:
    """Return the error of an operating system that refused Spark or Python a file, space or memory, else None.

    ``scratch`` is the folder of Spark's temporary files. It is named where Java names no file, as when a shuffle or a
    spill fills the disk.
    """
    raised = _raised_in_worker(error, StorageError)
    if raised is not None:
        return StorageError(raised)
    if (missing := _missing_object(error)) is not None:
        return StorageError(f"{missing}: the object is missing: run again")
    if (refused := system_error(error)) is not None:
        return storage_error(refused)
    quoted = quoted_system_error("\n".join([root_cause(error), *map(str, _chain(error))]))
    if quoted is None:
        return None
    if quoted.filename is None:
        # The variable wins over the setting.
        folders = os.environ.get("SPARK_LOCAL_DIRS")
        quoted.filename = f"SPARK_LOCAL_DIRS {folders}" if folders else f"spark.local.dir {scratch}".rstrip()
    return storage_error(quoted)


def corrupted(error: BaseException) -> str | None:
    """Return what is wrong with a stored file, None for other errors."""
    missing = _missing_object(error)
    if missing is not None and _STORED.search(missing):
        return f"{missing}: the file is missing"
    return _raised(error, ChainCorrupted)


def _missing_object(error: BaseException) -> str | None:
    missing = _raised(error, FileNotFoundError)
    return missing if missing is not None and is_object(missing) else None


def _raised(error: BaseException, kind: type[Exception]) -> str | None:
    """Return the message of an error of a kind, raised here or in a Python worker."""
    return str(error) if isinstance(error, kind) else _raised_in_worker(error, kind)


def _worker_error(error: BaseException) -> InvalidQuery | None:
    every = (_raised_in_worker(error, kind) for kind in (InvalidQuery, InvalidInput))
    return next((InvalidQuery(raised) for raised in every if raised is not None), None)


def _raised_in_worker(error: BaseException, kind: type[Exception]) -> str | None:
    """Return the text of an error that was raised in a Python worker. Spark has only its traceback as text."""
    name = re.escape(f"{kind.__module__}.{kind.__qualname__}".removeprefix("builtins."))
    for failure in _chain(error):
        raised = re.findall(rf"(?m)^{name}: (.*)$", str(failure))
        is_of_python = isinstance(failure, PythonException) or "[PYTHON_EXCEPTION]" in str(failure)
        if is_of_python and raised:
            return str(raised[-1])
    return None


def message(error: PySparkException) -> str:
    """Return Spark's message without its code, its hint to disable the check, and the quoted query."""
    text = error.getMessage() or str(error)
    text = re.split(r"\s*SQLSTATE: \w+|\n==|\n\nJVM stacktrace", text, maxsplit=1)[0]
    text = re.sub(rf"^\[{RAISED}\] ", "", text.strip())
    text = re.sub(r" ?(If necessary|To return NULL instead)[^\n]*?to bypass this error\.", "", text)
    return re.sub(r"\s+", " ", text)


def root_cause(error: BaseException) -> str:
    """Return the innermost Java exception of an error with its class, or an empty text if there is none."""
    return next((str(java.toString()) for java in reversed([*_java_chain(error)])), "")


def _chain(error: BaseException) -> Iterator[PySparkException]:
    """Yield the error and its causes, outermost first."""
    if isinstance(error, PySparkException):
        yield error
    yield from (CapturedException(origin=java) for java in _java_chain(error))


def _java_chain(error: BaseException) -> Iterator[Any]:
    java = error.java_exception if isinstance(error, Py4JJavaError) else getattr(error, "_origin", None)
    while java is not None:
        yield java
        java = java.getCause()


def _place(error: PySparkException, queries: Mapping[str, str]) -> str:
    """Return the place of an error, such as ``query 2 (alias), line 3``, or an empty text."""
    for name, query in queries.items():
        if line := _line(error, query):
            return f"{name}, line {line}"
    return ""


def query_name(number: int, step: SqlQueryStep) -> str:
    """Return the name of a query in messages: ``query 2 (alias)``."""
    return f"query {number} ({step.alias})" if step.alias else f"query {number}"


def _line(error: PySparkException, query: str) -> int:
    """Return the line of an error in a query, from 1; 0 for an error of another query."""
    if isinstance(error, ParseException):
        place = re.search(r"\(line (\d+), pos \d+\)", str(error))
        return int(place[1]) if place else 1
    sql = [c for c in error.getQueryContext() or () if c.contextType() == QueryContextType.SQL]
    fragment = sql[0].fragment() if sql else ""
    return query[: query.index(fragment)].count("\n") + 1 if fragment and fragment in query else 0
