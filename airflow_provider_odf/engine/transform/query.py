"""The query of a transform: one interface for queries that Spark or DataFusion runs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Protocol

from pyspark.sql import DataFrame, SparkSession

from airflow_provider_odf.engine.query import line_of
from airflow_provider_odf.engine.spark_errors import query_name
from airflow_provider_odf.engine.transform.analysis import Linear
from airflow_provider_odf.engine.transform.inputs import Input
from airflow_provider_odf.engine.transform.row_keys import Part
from airflow_provider_odf.errors import InvalidQuery
from airflow_provider_odf.protocol import Evaluation, TransformRequest


class Analysis(Protocol):
    """What is known of a query from its plan. Inputs are named by their numbers."""

    @property
    def is_row_wise(self) -> bool:
        """Whether each result row comes from one row of one input."""

    @property
    def used(self) -> Mapping[int, Collection[str]]:
        """Names of the columns, in lower case, that the result depends on, by input."""

    @property
    def identity(self) -> tuple[str, ...] | None:
        """Columns of the result that tell which row became which when it changes, None if there are none.

        The only row of a result needs no column.
        """

    def parts(self, changed: Iterable[int]) -> list[Part] | None:
        """Return the keys by which changes of these inputs are found in the result, or None if one has no key.

        There are no parts if the query does not read these inputs.
        """

    def linear(self, changed: Iterable[int]) -> Linear | None:
        """Return how new records of these inputs add to the result, or None if it also depends on their other rows."""

    def evaluation(self) -> Evaluation:
        """Return the form of evaluation for the user."""


class Query(ABC):
    """The queries of a transform, over the views that inputs have at the time of a call."""

    waits = False
    """Whether the result depends on more than current rows: on the watermark, or on all records of an input."""
    carries_records: bool
    """Whether `rows_with_records` knows the record of each row, and not only that all are added."""

    def __init__(self, spark: SparkSession, request: TransformRequest, inputs: Sequence[Input]) -> None:
        self._spark, self._request, self._inputs = spark, request, inputs

    @abstractmethod
    def analyze(self) -> tuple[Analysis, DataFrame]:
        """Return the analysis, and a frame with the columns of the result.

        :raises InvalidQuery: a query is not valid, or not a function of the inputs' rows.
        """

    @abstractmethod
    def rows(self) -> DataFrame:
        """Return the rows of the last query."""

    @abstractmethod
    def rows_with_records(self) -> DataFrame:
        """Return the rows of a row-wise query with the column ``row_wise.RECORD``."""

    def reads_operations(self, used: Mapping[int, Collection[str]]) -> bool:
        """Whether the query names the operation of records, so that it reads all records instead of current rows."""
        return any(i.history.vocab.operation_type_column.lower() in used.get(i.number, ()) for i in self._inputs)

    def refusal(self, word: str, message: str) -> InvalidQuery:
        """Return an error with the place of a word in the queries, if one has it."""
        for number, step in enumerate(self._request.transform.queries, 1):
            if line := line_of(word, step.query):
                return InvalidQuery(f"transform, {query_name(number, step)}, line {line}: {message}")
        return InvalidQuery(f"transform: {message}")
