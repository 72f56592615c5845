"""Queries of a transform that DataFusion runs: row-wise ones on new records, all others over all current rows."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from airflow_provider_odf.datafusion import types
from airflow_provider_odf.engine import datafusion
from airflow_provider_odf.engine.schema import quoted
from airflow_provider_odf.engine.transform import query
from airflow_provider_odf.engine.transform.inputs import Input
from airflow_provider_odf.engine.transform.linear import Linear
from airflow_provider_odf.engine.transform.row_keys import Part
from airflow_provider_odf.engine.transform.row_wise import RECORD
from airflow_provider_odf.errors import InvalidQuery
from airflow_provider_odf.merge_strategies import APPEND
from airflow_provider_odf.protocol import Evaluation, TransformRequest


@dataclass(frozen=True)
class _Planned:
    """See `query.Analysis`. The plan of DataFusion does not say from which columns a value comes."""

    is_row_wise: bool
    used: Mapping[int, Collection[str]]
    identity: tuple[str, ...] | None = None

    def parts(self, changed: Iterable[int]) -> list[Part] | None:
        return None

    def linear(self, changed: Iterable[int]) -> Linear | None:
        return None

    def evaluation(self) -> Evaluation:
        if self.is_row_wise:
            return Evaluation("row-wise", "each row of the result comes from one row of an input")
        return Evaluation("whole", "queries of DataFusion that need several rows are computed over all current rows")


class DataFusionQuery:
    """See `query.Query`."""

    waits = False
    carries_records = False

    def __init__(
        self, spark: SparkSession, request: TransformRequest, inputs: Sequence[Input], *, is_small: bool
    ) -> None:
        self._spark, self._request, self._inputs, self._is_small = spark, request, inputs, is_small

    def analyze(self) -> tuple[query.Analysis, DataFrame]:
        frames = {i.alias: self._spark.createDataFrame([], i.history.types) for i in self._inputs}
        planned = datafusion.analyze(frames, self._request.transform)
        used = {i.number: {name.lower() for name in planned.used.get(i.alias, ())} for i in self._inputs}
        columns = pa.schema([pa.field(f.name, types.to_spark(f.type)) for f in planned.output])
        return _Planned(planned.is_row_wise, used), self._spark.createDataFrame([], from_arrow_schema(columns))

    def rows(self) -> DataFrame:
        frames = {i.alias: self._spark.table(quoted(i.alias)) for i in self._inputs}
        return datafusion.transform(self._spark, frames, self._request.transform, small=self._is_small)

    def rows_with_records(self) -> DataFrame:
        # The rows are in the order of their records, which are all added.
        record = f"named_struct('input', 0, 'offset', 0L, 'op', {APPEND})"
        return self.rows().selectExpr("*", f"{record} AS {quoted(RECORD)}")

    def refusal(self, word: str, message: str) -> InvalidQuery:
        return query.refusal(self._request.transform.queries, word, message)
