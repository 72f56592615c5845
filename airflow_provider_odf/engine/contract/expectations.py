"""Expectations that the library Great Expectations evaluates itself. It is an extra, imported only here."""

from __future__ import annotations

import json
import os
import re
from functools import cached_property
from typing import Any

from pyspark.sql import DataFrame

from airflow_provider_odf.engine import query as guard
from airflow_provider_odf.engine.contract.measured import Expectation, Verdict
from airflow_provider_odf.engine.contract.queries import typed
from airflow_provider_odf.engine.contract.rows import Other
from airflow_provider_odf.engine.contract.thresholds import shown

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
        return _of(expectation, result)

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


def _of(expectation: Expectation, result: Any) -> Verdict:
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
        return shown(round(value, 6))
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
