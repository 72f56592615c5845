"""Run the queries of quality rules: one SELECT over the models of the contract, which returns one number.

The guard of all queries by users (`engine.query`) decides on Spark's own plan what a query may do.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T  # noqa: N812

from airflow_provider_odf.engine import query as guard
from airflow_provider_odf.engine.contract.conditions import ERRORS, Failure
from airflow_provider_odf.engine.contract.fields import find
from airflow_provider_odf.engine.contract.measured import Query, Verdict, of_number, without_value
from airflow_provider_odf.engine.contract.rows import Other
from airflow_provider_odf.engine.hidden_values import HIDDEN
from airflow_provider_odf.engine.schema import quoted
from airflow_provider_odf.engine.sql import text
from airflow_provider_odf.errors import InvalidQuery

TIME_LIMIT = 600.0
"""Seconds that a query may take."""


class Queries:
    """Queries over the rows of models, by the models' names in lower case.

    With ``is_sensitive``, the message of any query that fails is hidden, because it may show values.
    """

    def __init__(self, spark: SparkSession, models: Mapping[str, Other], *, is_sensitive: bool = False) -> None:
        self._spark, self._models, self._is_sensitive = spark, models, is_sensitive
        self._has_views = False

    def verdict(self, query: Query) -> Verdict:
        """Run a query and return the verdict on its number. A query that cannot run is the outcome ``error``."""
        try:
            value = self._value(query.query)
        except InvalidQuery as e:
            return Verdict("error", str(e), query.limits.text)
        except ERRORS as e:
            message = f"{Failure(e).kind}: {HIDDEN}" if self._is_sensitive else Failure(e).message
            return Verdict("error", f"the query failed: {message}", query.limits.text)
        except TimeoutError:
            return Verdict("error", f"the query took longer than {TIME_LIMIT / 60:g} minutes", query.limits.text)
        verdict = of_number(value, query.limits)
        return without_value(verdict) if query.is_sensitive else verdict

    def _value(self, sql: str) -> Any:
        self._create_views()
        with _limited(self._spark):
            frame = guard.run(self._spark, sql, "the query", [*self._models])
            if len(frame.columns) != 1:
                raise InvalidQuery(f"the query returns {len(frame.columns)} columns: select one number")
            rows = frame.take(2)
        if len(rows) != 1:
            several = "more than one row" if rows else "no row"
            raise InvalidQuery(f"the query returns {several}: select one number")
        return rows[0][0]

    def _create_views(self) -> None:
        if not self._has_views:
            for name, model in self._models.items():
                typed(model).createOrReplaceTempView(quoted(name))
            self._has_views = True


def typed(model: Other) -> DataFrame:
    """Return the rows of a model with their declared types, without columns that are not the contract's."""
    fields = [field for field in model.frame.schema if field.name not in model.hidden]
    if model.types is None:
        return model.frame.select(*(quoted(field.name) for field in fields))
    columns = (f"{_typed(model, quoted(f.name), f.dataType, f.name, 0)} AS {quoted(f.name)}" for f in fields)
    return model.frame.selectExpr(*columns)


def _typed(model: Other, value: str, kind: T.DataType, path: str, depth: int) -> str:
    """Return SQL that converts a value, and those inside it, from text to their declared types."""
    inner = f"y{depth}"
    if isinstance(kind, T.StructType):
        fields = ", ".join(
            f"{text(f.name)}, {_typed(model, f'{value}.{quoted(f.name)}', f.dataType, f'{path}.{f.name}', depth)}"
            for f in kind
        )
        return f"CASE WHEN {value} IS NOT NULL THEN named_struct({fields}) END"
    if isinstance(kind, T.ArrayType):
        return f"transform({value}, {inner} -> {_typed(model, inner, kind.elementType, f'{path}[]', depth + 1)})"
    if isinstance(kind, T.MapType):
        converted = _typed(model, inner, kind.valueType, f"{path}{{value}}", depth + 1)
        return f"transform_values({value}, (k{depth}, {inner}) -> {converted})"
    found = find(model.frame.schema, path, model.types)
    return found.at(value) if found is not None else value


@contextmanager
def _limited(spark: SparkSession) -> Iterator[None]:
    """Cancel the Spark jobs of a block that takes too long.

    :raises TimeoutError: it took too long.
    """
    tag, context = f"contract-query-{uuid.uuid4()}", spark.sparkContext
    expired = threading.Event()

    def cancel() -> None:
        expired.set()
        context.cancelJobsWithTag(tag)

    timer = threading.Timer(TIME_LIMIT, cancel)
    timer.daemon = True
    context.addJobTag(tag)  # tags of a session from newSession() cancel nothing in Spark 4.2
    context.setInterruptOnCancel(True)
    timer.start()
    try:
        yield
    except ERRORS:
        if expired.is_set():
            raise TimeoutError from None
        raise
    finally:
        timer.cancel()
        context.setInterruptOnCancel(False)
        context.removeJobTag(tag)
