"""Queries of a transform that Spark runs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T  # noqa: N812

from airflow_provider_odf.engine import query as queries
from airflow_provider_odf.engine import spark_internals
from airflow_provider_odf.engine.plan_nodes import nodes
from airflow_provider_odf.engine.schema import quoted
from airflow_provider_odf.engine.spark_errors import query_name
from airflow_provider_odf.engine.transform import plan_changes, row_wise
from airflow_provider_odf.engine.transform.analysis import PlanAnalysis, analysis
from airflow_provider_odf.engine.transform.determinism import Fault, fault_of_run, fault_of_text, faults_of_constants
from airflow_provider_odf.engine.transform.inputs import RECORDS, Input
from airflow_provider_odf.engine.transform.query import Analysis, Query
from airflow_provider_odf.errors import InvalidQuery
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.protocol import Evaluation, TransformRequest

WATERMARK = "odf_watermark"
"""Parameter of queries: the earliest watermark of the inputs."""


_TIME_LITERAL = re.compile(
    r"\b(?:date|timestamp(?:_ltz|_ntz)?)\b(?:\s|/\*.*?\*/|--[^\n]*\n)*"
    r"""(r?'(?:[^'\\]|\\.|'')*'|r?"(?:[^"\\]|\\.|"")*")""",
    re.IGNORECASE | re.DOTALL,
)
"""A date or a time in SQL, with its text. Spark's parser computes it, so plans do not show the text."""


@dataclass(frozen=True)
class _Waiting(PlanAnalysis):
    """Analysis of a query that reads more than current rows."""

    is_row_wise = False

    def evaluation(self) -> Evaluation:
        return Evaluation("whole", "the result depends on the watermark or on earlier versions of rows")


class SparkQuery(Query):
    """Queries that Spark runs. Their result can wait for the watermark."""

    carries_records = True

    def __init__(self, spark: SparkSession, request: TransformRequest, inputs: Sequence[Input]) -> None:
        super().__init__(spark, request, inputs)
        self._has_sums = self._has_times = False
        texts = [step.query for step in request.transform.queries]
        self.waits = any(f":{WATERMARK}" in text or RECORDS in text for text in texts)

    def analyze(self) -> tuple[Analysis, DataFrame]:
        for i in self._inputs:
            empty = spark_internals.empty_frame(self._spark, i.history.types)
            i.view(empty, is_raw=True)
            if self.waits:
                i.view_records(empty)
        frame = self._last(is_checked=True)
        # A key that identifies rows is unique whether or not its newest record counts, but not among all records.
        keys = {i.number: i.history.merge.primary_key for i in self._inputs if i.history.merge}
        kind = _Waiting if self.waits else PlanAnalysis
        analyzed = analysis(frame, keys, [i.alias for i in self._inputs], kind, self._inexact(frame))
        if self.reads_operations(analyzed.used):
            analyzed = analyzed.of_records()
        for fault in self._faults(analyzed, frame):
            raise self.refusal(fault.word, f"{fault.message}: {fault.fix}")
        self._has_sums = plan_changes.can_have_sums(analyzed.root)
        self._has_times = plan_changes.can_have_times(analyzed.root)
        return analyzed, frame

    def _faults(self, analyzed: PlanAnalysis, frame: DataFrame) -> Iterator[Fault]:
        """Yield why the query is not deterministic: those with a place first, then what only Catalyst knows."""
        for step in self._request.transform.queries:
            yield from faults_of_constants([*nodes(spark_internals.parsed_plan(self._spark, step.query))])
            for match in _TIME_LITERAL.finditer(step.query):
                if fault := fault_of_text(spark_internals.text_of_literal(self._spark, match[1])):
                    yield fault
        yield from analyzed.faults()
        plan = spark_internals.plan_without_aliases(frame)
        yield from map(fault_of_run, spark_internals.values_of_run(self._spark, plan))

    def rows(self) -> DataFrame:
        frame = self._last(is_checked=False)
        if self._has_times:
            frame = plan_changes.without_times_of_day(frame)
        if not self._has_sums:
            return frame
        for key, value in plan_changes.SETTINGS.items():
            self._spark.conf.set(key, value)
        # Spark optimizes the plan again, and now it has constants of subqueries, such as a text to convert to a time.
        for what in spark_internals.values_of_run(self._spark, spark_internals.optimized_plan(frame)):
            fault = fault_of_run(what)
            raise self.refusal(fault.word, f"{fault.message}: {fault.fix}")
        try:
            return plan_changes.in_order(self._spark, frame, hides_overflow=self._hides_overflow)
        except InvalidQuery as e:
            raise self.refusal("listagg", str(e)) from e

    def rows_with_records(self) -> DataFrame:
        return row_wise.with_records(self._spark, self.rows())

    def _inexact(self, frame: DataFrame) -> list[str]:
        """Return the columns whose sums do not add up. Spark's plans do not tell try_sum from sum."""
        exact = () if self._hides_overflow else (T.IntegralType, T.DecimalType)
        return [field.name for field in frame.schema.fields if not isinstance(field.dataType, exact)]

    @property
    def _hides_overflow(self) -> bool:
        """Whether there may be sums that are null if they overflow."""
        return any(re.search(r"try_(sum|avg)", step.query.lower()) for step in self._request.transform.queries)

    def _last(self, *, is_checked: bool) -> DataFrame:
        """Return the rows of the last query. The others become views."""
        tables = [i.alias for i in self._inputs]
        if self.waits:
            tables += [f"{RECORDS}{alias}" for alias in tables]
        watermark = Instant.parse(self._request.watermark).to_datetime() if self._request.watermark else None
        frame: DataFrame | None = None
        for number, step in enumerate(self._request.transform.queries, 1):
            parameters = queries.parameters_of(step.query, {WATERMARK: watermark})
            try:
                frame = (
                    queries.run(self._spark, step.query, query_name(number, step), tables, parameters)
                    if is_checked
                    else self._spark.sql(step.query, parameters)
                )
            except InvalidQuery as e:
                raise InvalidQuery(f"transform, {e}") from e
            if step.alias:
                frame.createOrReplaceTempView(quoted(step.alias))
                tables.append(step.alias)
        if frame is None:
            raise InvalidQuery("the transform has no query")
        return frame
