"""Expectations that the library Great Expectations evaluates itself. It is an extra, imported only here."""

from __future__ import annotations

import os
from functools import cached_property
from typing import Any

from airflow_provider_odf.engine.contract.measured import Expectation, Verdict
from airflow_provider_odf.engine.contract.queries import typed
from airflow_provider_odf.engine.contract.rows import Other

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
            result = self._batch.validate(configured)
        except Exception as e:  # the library raises errors of many kinds, and each is about this clause alone
            return Verdict("error", f"{expectation.type}: {_one_line(e)}")
        return _of(expectation, result)

    @cached_property
    def _batch(self) -> Any:
        """The rows as the library takes them."""
        import great_expectations as gx
        from great_expectations.data_context.types.base import ProgressBarsConfig

        context = gx.get_context(mode="ephemeral")
        context.variables.progress_bars = ProgressBarsConfig(globally=False)
        source = context.data_sources.add_spark("contract")
        batch = source.add_dataframe_asset("rows").add_batch_definition_whole_dataframe("all")
        return batch.get_batch({"dataframe": typed(self._rows)})


def _of(expectation: Expectation, result: Any) -> Verdict:
    if raised := _exception(result.exception_info):
        return Verdict("error", f"{expectation.type}: {raised}")
    shown = _NUMBERS if expectation.is_sensitive else ("observed_value", *_NUMBERS)
    found = {name: value for name, value in (result.result or {}).items() if name in shown and value is not None}
    observed = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in found.items())
    return Verdict("pass" if result.success else "fail", observed or "evaluated by Great Expectations", "", observed)


_NUMBERS = ("element_count", "unexpected_count", "unexpected_percent")


def _exception(info: Any) -> str:
    """Return the first message of the exceptions of a result, which has one of them, or one for each metric."""
    entries = [info, *info.values()] if isinstance(info, dict) else []
    messages = (e.get("exception_message") for e in entries if isinstance(e, dict) and e.get("raised_exception"))
    return next((_one_line(message) for message in messages if message), "")


def _one_line(value: object) -> str:
    return " ".join(str(value).split())[:300]
