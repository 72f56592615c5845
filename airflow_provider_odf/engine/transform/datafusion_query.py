"""Queries of a transform that DataFusion runs: row-wise ones on new records, all others over all current rows."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from airflow_provider_odf.datafusion import query_text, types
from airflow_provider_odf.datafusion.plan import TransformPlan
from airflow_provider_odf.engine import datafusion
from airflow_provider_odf.engine.schema import quoted
from airflow_provider_odf.engine.spark_version import from_arrow_schema
from airflow_provider_odf.engine.transform.analysis import Linear
from airflow_provider_odf.engine.transform.inputs import History, Input
from airflow_provider_odf.engine.transform.query import Analysis, Query
from airflow_provider_odf.engine.transform.result import Bound
from airflow_provider_odf.engine.transform.row_keys import Part
from airflow_provider_odf.engine.transform.row_wise import RECORD
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


class DataFusionQuery(Query):
    """Queries that DataFusion runs."""

    carries_records = False

    def __init__(
        self, spark: SparkSession, request: TransformRequest, inputs: Sequence[Input], bound: Bound, *, is_small: bool
    ) -> None:
        super().__init__(spark, request, inputs)
        self._bound, self._is_small = bound, is_small
        self._keys = {i.alias: _keys(i.history) for i in inputs}

    def analyze(self) -> tuple[Analysis, DataFrame]:
        frames = {i.alias: self._spark.createDataFrame([], i.history.types) for i in self._inputs}
        planned = self._plan(frames)
        if self.reads_operations(self._used(planned)):
            # All records are read then, in which only offsets are unique.
            self._keys = {alias: keys[:1] for alias, keys in self._keys.items()}
            planned = self._plan(frames)
        columns = pa.schema([pa.field(f.name, types.to_spark(f.type)) for f in planned.output])
        return _Planned(planned.is_row_wise, self._used(planned)), self._spark.createDataFrame(
            [], from_arrow_schema(columns)
        )

    def _used(self, planned: TransformPlan) -> dict[int, set[str]]:
        """Return the used columns of each input. DISTINCT and EXCEPT also read the operation, if rows of ``SELECT *``
        have it: it counts where a query names it."""
        named = {word.name for step in self._request.transform.queries for word in query_text.words(step.query)}
        return {
            i.number: {
                name.lower()
                for name in planned.used.get(i.alias, ())
                if name in named or name != i.history.vocab.operation_type_column
            }
            for i in self._inputs
        }

    def _plan(self, frames: Mapping[str, DataFrame]) -> TransformPlan:
        return datafusion.analyze(frames, self._request.transform, self._keys)

    def rows(self) -> DataFrame:
        return self._rows(by_value=True)

    def _rows(self, *, by_value: bool) -> DataFrame:
        frames = {i.alias: self._in_order(i, by_value=by_value) for i in self._inputs}
        return datafusion.transform(
            self._spark,
            frames,
            self._request.transform,
            self._keys,
            small=self._is_small,
            most_rows=self._bound.rows,
            too_many=self._bound.message,
        )

    def _in_order(self, source: Input, *, by_value: bool) -> DataFrame:
        """Return the rows of a view in the order of their offsets or, before these, of their values.

        Sums of floating-point numbers depend on the order. The one in which Spark reads files depends on the number of
        cores, and offsets on how the input was cut into polls.
        """
        frame, offset = self._spark.table(quoted(source.alias)), source.history.vocab.offset_column
        order = [*map(quoted, (*(source.history.columns if by_value else ()), offset))]
        return frame.coalesce(1).sortWithinPartitions(*order) if self._is_small else frame.orderBy(*order)

    def rows_with_records(self) -> DataFrame:
        # The rows are in the order of their records, which are all added.
        record = f"named_struct('input', 0, 'offset', 0L, 'op', {APPEND})"
        return self._rows(by_value=False).selectExpr("*", f"{record} AS {quoted(RECORD)}")


def _keys(history: History) -> list[tuple[str, ...]]:
    """Return sets of columns in which no two current rows of an input are equal."""
    primary_key = history.merge.primary_key if history.merge else ()
    return [(history.vocab.offset_column,), *([tuple(primary_key)] if primary_key else [])]
