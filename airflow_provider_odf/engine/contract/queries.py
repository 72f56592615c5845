"""Clauses that need Spark jobs of their own: queries of quality rules, each one SELECT over the models of the contract
that returns one number, and expectations that the library Great Expectations evaluates itself, which is an extra.

The guard of all queries by users (`engine.query`) decides on Spark's own plan what a query may do.
"""

from __future__ import annotations

import json
import os
import re
import threading
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T  # noqa: N812

from airflow_provider_odf.clauses import number_text
from airflow_provider_odf.engine import query as guard
from airflow_provider_odf.engine.contract.conditions import (
    ERRORS,
    Expectation,
    Failure,
    Query,
    Verdict,
    of_number,
    without_value,
)
from airflow_provider_odf.engine.contract.fields import field_at
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
        views = self._views
        with _limited(self._spark):
            frame = guard.run(self._spark, sql, "the query", views)
            if len(frame.columns) != 1:
                raise InvalidQuery(f"the query returns {len(frame.columns)} columns: select one number")
            rows = frame.take(2)
        if len(rows) != 1:
            several = "more than one row" if rows else "no row"
            raise InvalidQuery(f"the query returns {several}: select one number")
        return rows[0][0]

    @cached_property
    def _views(self) -> list[str]:
        for name, model in self._models.items():
            typed(model).createOrReplaceTempView(quoted(name))
        return [*self._models]


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
    field = field_at(model.frame.schema, path, model.types)
    return field.at(value) if field is not None else value


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


EXTRA = "airflow-provider-odf[great-expectations]"

os.environ.setdefault("GX_ANALYTICS_ENABLED", "false")  # it would report its use to its makers


class Expectations:
    """Expectations about the rows of a model."""

    def __init__(self, rows: Other) -> None:
        self._rows = rows

    def verdict(self, expectation: Expectation) -> Verdict:
        """Return the verdict of the library. What it cannot evaluate is the outcome ``error``."""
        try:
            from great_expectations.expectations.expectation_configuration import ExpectationConfiguration
        except ImportError:
            return Verdict("error", f"{expectation.type} needs Great Expectations where Spark runs: install {EXTRA}")
        try:
            configured = ExpectationConfiguration(type=expectation.type, kwargs={**expectation.kwargs}).to_domain_obj()
            self._check(getattr(configured, "row_condition", None))
        except Exception as e:  # the library raises errors of many kinds, and each is about this clause alone
            return Verdict("error", f"{expectation.type}: {_problems(e)}")
        try:
            result = self._batch.validate(configured, result_format=_WITHOUT_VALUES)
        except Exception as e:
            return _failure(expectation, str(e))
        return _of_result(expectation, result)

    def _check(self, condition: Any) -> None:
        """Check the SQL in a condition, which the library gives to Spark, as any query by users.

        :raises InvalidQuery: it is not valid, or does more than compare values of a row.
        """
        for inner in getattr(condition, "conditions", ()):
            self._check(inner)
        if sql := getattr(condition, "pass_through_filter", condition if isinstance(condition, str) else None):
            self._frame.createOrReplaceTempView(_VIEW)
            query = f"SELECT * FROM {_VIEW} WHERE {sql}\n"  # noqa: S608 - the guard judges it
            guard.run(self._frame.sparkSession, query, "row_condition", [_VIEW])

    @cached_property
    def _frame(self) -> DataFrame:
        return typed(self._rows)

    @cached_property
    def _batch(self) -> Any:
        """The rows as the library takes them."""
        import great_expectations as gx
        from great_expectations.data_context.types.base import ProgressBarsConfig

        context = gx.get_context(mode="ephemeral")
        context.variables.progress_bars = ProgressBarsConfig(globally=False)
        # The library would never release the rows that it persists.
        source = context.data_sources.add_spark("contract", persist=False)
        batch = source.add_dataframe_asset("rows").add_batch_definition_whole_dataframe("all")
        return batch.get_batch({"dataframe": self._frame})


_VIEW = "__expectation_rows"

_WITHOUT_VALUES = {"result_format": "BASIC", "partial_unexpected_count": 0}


def _of_result(expectation: Expectation, result: Any) -> Verdict:
    if raised := _exception(result.exception_info):
        return _failure(expectation, raised)
    names = _NUMBERS if expectation.is_sensitive else ("observed_value", *_NUMBERS)
    values = {name: value for name in names if (value := (result.result or {}).get(name)) is not None}
    observed = ", ".join(f"{name.replace('_', ' ')} {_text(value)}" for name, value in values.items())
    reason = f"{expectation.type}: {observed or 'evaluated by Great Expectations'}"
    return Verdict("pass" if result.success else "fail", reason, "", observed)


_NUMBERS = ("element_count", "missing_count", "unexpected_count", "unexpected_percent")


def _text(value: Any) -> str:
    """Return an observed value as text."""
    if isinstance(value, float):
        return number_text(round(value, 6))
    return _one_line(json.dumps(value, default=str) if isinstance(value, list | dict) else value)


def _failure(expectation: Expectation, message: str) -> Verdict:
    """Return the verdict on an expectation that failed on the rows. Spark's messages show values."""
    if expectation.is_sensitive:
        return Verdict("error", f"{expectation.type}: the evaluation failed, with a message that may show values")
    return Verdict("error", f"{expectation.type}: {_one_line(message)}")


def _exception(info: Any) -> str:
    """Return the first message of the exceptions of a result, which has one of them, or one for each metric."""
    entries = [info, *info.values()] if isinstance(info, dict) else []
    raised = [e for e in entries if isinstance(e, dict) and e.get("raised_exception")]
    return str(raised[0].get("exception_message") or "the library shows no message") if raised else ""


def _problems(error: Exception) -> str:
    """Return what is wrong with an expectation: for each argument the first problem."""
    entries = error.errors() if hasattr(error, "errors") else []
    problems = {".".join(map(str, entry["loc"])): entry["msg"] for entry in reversed(entries)}
    return "; ".join(f"{name}: {message}" for name, message in reversed(problems.items())) or _one_line(error)


def _one_line(value: object) -> str:
    """Return a text in one line, without the plan and the query that Spark adds to a message."""
    return " ".join(re.split(r"\s*SQLSTATE: \w+|\n==", str(value), maxsplit=1)[0].split())[:300]
