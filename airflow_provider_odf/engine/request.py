"""Answer one request of the protocol: call the operation, and map errors to responses."""

from __future__ import annotations

import dataclasses
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from typing import TypeAlias

from pyspark.sql import SparkSession

from airflow_provider_odf import errors
from airflow_provider_odf.engine import session, spark_errors
from airflow_provider_odf.engine.hidden_values import HIDDEN, sensitive_of, without_values
from airflow_provider_odf.engine.optional_spark import NeedsSpark
from airflow_provider_odf.engine.spark_internals import is_remote
from airflow_provider_odf.protocol import (
    ContractTestRequest,
    HistorySlice,
    InternalError,
    InvalidQuery,
    MergeRequest,
    Progress,
    RawQueryRequest,
    Request,
    Response,
    SourceTestRequest,
    Success,
    Transform,
    TransformRequest,
    VerifyRequest,
)
from airflow_provider_odf.records import files

Report: TypeAlias = Callable[[str], None]


def answer(
    spark: SparkSession | None, request: Request, respond: Callable[[Progress], None], heap: str | None = None
) -> Response:
    """Run a request and return its last response. Exceptions become responses. ``respond`` gets all others.

    Without ``spark``, ``heap`` is the maximum heap that the JVM would have.

    Requests can run at the same time in threads. Each has its own session on the one Spark context, so that views and
    settings stay separate.

    :raises NeedsSpark: ``spark`` is None, and the request needs it.
    """
    try:
        files.keep_sizes({part.path: part.size for part in _history(request) if part.size is not None})
        if spark is not None:
            respond(Progress(engine=session.describe(spark)))
        with session.of_request(spark) if spark is not None else nullcontext() as own:
            return _execute(own, request, lambda message: respond(Progress(message)), heap)
    except NeedsSpark:
        raise
    except Exception as e:
        scratch = spark.conf.get("spark.local.dir", "") if spark is not None and not is_remote(spark) else ""
        return failure(e, request, scratch or "")


def _history(message: object) -> Iterator[HistorySlice]:
    """Yield the slices that a message names."""
    if isinstance(message, HistorySlice):
        yield message
    elif isinstance(message, tuple):
        for item in message:
            yield from _history(item)
    elif dataclasses.is_dataclass(message):
        for field in dataclasses.fields(message):
            yield from _history(getattr(message, field.name))


def failure(error: Exception, request: Request, scratch: str = "") -> Response:
    """Return the response for an error of Spark, of the operating system, or that nobody expects. ``scratch`` is the
    folder of Spark's temporary files."""
    if (corrupted := spark_errors.corrupted(error)) is not None:
        return InternalError(corrupted, is_corrupted=True)
    if isinstance(error, errors.OdfError):
        if error.is_transient:
            return _internal(error, request)
        return InvalidQuery(without_values(str(error), request))
    if unfit := spark_errors.unfit(error):
        return InternalError(unfit)
    if refused := spark_errors.refusal(error, _queries(request)):
        return InvalidQuery(without_values(str(refused), request, is_of_spark=True))
    return _internal(spark_errors.storage_failure(error, scratch) or error, request)


def _internal(error: Exception, request: Request) -> InternalError:
    """Return the response for an error that nobody expects; of sensitive data without the texts of exceptions. Those of
    the operating system have no values of the data."""
    message = str(error) if isinstance(error, errors.OdfError) else _short(error)
    if isinstance(error, errors.StorageError):
        return InternalError(message, is_storage=True)
    if sensitive_of(request):
        frames = "".join(traceback.format_tb(error.__traceback__))
        return InternalError(f"{type(error).__name__}: {HIDDEN}", frames)
    return InternalError(message, traceback.format_exc())


def _execute(spark: SparkSession | None, request: Request, progress: Report, heap: str | None) -> Success:
    # A request needs only the modules of its own operation.
    if isinstance(request, MergeRequest):
        from airflow_provider_odf.engine import merge

        return merge.execute(spark, request, progress, heap)
    if isinstance(request, ContractTestRequest):
        from airflow_provider_odf.engine.contract import history

        return history.execute(spark, request, progress, heap)
    if isinstance(request, SourceTestRequest):
        from airflow_provider_odf.engine.contract import sources

        return sources.execute(spark, request, progress, heap)
    if isinstance(request, TransformRequest) and spark is None:
        from airflow_provider_odf.engine.transform import arrow_transform

        return arrow_transform.execute(request, progress, heap)
    if spark is None:
        raise NeedsSpark
    if isinstance(request, RawQueryRequest):
        from airflow_provider_odf.engine import raw_query

        return raw_query.execute(spark, request, progress)
    if isinstance(request, VerifyRequest):
        from airflow_provider_odf.engine import verify

        return verify.execute(spark, request, progress)
    if isinstance(request, TransformRequest):
        from airflow_provider_odf.engine.transform import transform

        return transform.execute(spark, request, progress)
    raise errors.InvalidQuery(
        f"the engine does not support {type(request).__name__}: install the same release of the provider on Spark"
    )


def _queries(request: Request) -> Mapping[str, str]:
    """Return the queries that a request runs, by name. Their errors may appear only when the rows are used."""
    transform = getattr(request, "preprocess", None) or getattr(request, "transform", None)
    steps = transform.queries if isinstance(transform, Transform) else ()
    return {spark_errors.query_name(number, step): step.query for number, step in enumerate(steps, 1)}


def _short(error: Exception) -> str:
    """Return an error as one line; for an error of the JVM, the root cause."""
    cause = spark_errors.root_cause(error)
    lines = (cause or str(error)).strip().splitlines()
    return lines[0] if cause else ": ".join([type(error).__name__, *lines[:1]])
