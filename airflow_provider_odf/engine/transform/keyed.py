"""Queries with state, evaluated for the parts of the result that new records touch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from airflow_provider_odf.engine.schema import quoted
from airflow_provider_odf.engine.transform.inputs import History, Input
from airflow_provider_odf.engine.transform.row_keys import Part

MOST_VALUES = 200_000
"""Maximum number of rows that are held in memory, such as values of a key."""


@dataclass(frozen=True)
class Touched:
    """Values of a key that new records have, as columns ``odf:key0``, ``odf:key1``, …"""

    part: Part
    values: DataFrame

    @property
    def names(self) -> list[str]:
        return [f"odf:key{number}" for number in range(len(self.part.columns))]

    def of_result(self, rows: DataFrame, *, inverse: bool = False) -> DataFrame:
        """Return the rows of the result with these values, or those without."""
        columns = [quoted(name) for name in self.part.columns]
        return matching(rows, self.values, list(zip(columns, self.names, strict=True)), inverse=inverse)

    def of_input(self, rows: DataFrame, number: int) -> DataFrame:
        """Return the rows of an input that can be in these parts of the result."""
        found = self.part.inputs.get(number) or ()
        known = [(sql, name) for sql, name in zip(found, self.names, strict=False) if sql is not None]
        if not known:
            return rows
        values = self.values.select(*(quoted(name) for _, name in known)).distinct()
        return matching(rows, values, known)


def touched(spark: SparkSession, part: Part, inputs: Sequence[Input]) -> Touched:
    """Return the values of a key in the new records."""
    names = [f"odf:key{number}" for number in range(len(part.columns))]
    by_number = {i.number: i for i in inputs}
    frames = [
        by_number[number].changes().selectExpr(*(f"{s} AS {quoted(n)}" for s, n in zip(sql, names, strict=True)))
        for number, sql in part.changed
    ]
    values = frames[0]
    for frame in frames[1:]:
        values = values.unionAll(frame)
    return Touched(part, in_memory(spark, values.distinct()))


def in_memory(spark: SparkSession, rows: DataFrame) -> DataFrame:
    """Return rows that are used several times, computed once unless there are too many."""
    found = rows.limit(MOST_VALUES + 1).toArrow()
    if found.num_rows > MOST_VALUES:
        return rows
    return spark.createDataFrame(found, rows.schema).hint("broadcast")


def evaluate(
    query: Callable[[], DataFrame],
    inputs: Sequence[Input],
    parts: Iterable[Touched],
    select: Callable[[DataFrame], DataFrame],
) -> DataFrame:
    """Return the rows of the result in the touched parts.

    ``query`` runs the query over the views that are registered at the time. ``select`` converts its rows to the
    derivative's columns.
    """
    found: list[DataFrame] = []
    before: list[Touched] = []
    for part in parts:
        for i in inputs:
            i.view(_current(i.history, part, i.number), is_raw=False)
        rows = part.of_result(select(query()))
        for other in before:
            rows = other.of_result(rows, inverse=True)
        found.append(rows)
        before.append(part)
    result = found[0]
    for rows in found[1:]:
        result = result.unionAll(rows)
    return result


def present(rows: DataFrame, parts: Sequence[Touched]) -> DataFrame:
    """Return the rows of a derivative, or its records, in the touched parts."""
    found = parts[0].of_result(rows)
    for number, part in enumerate(parts[1:], 1):
        others = part.of_result(rows)
        for other in parts[:number]:
            others = other.of_result(others, inverse=True)
        found = found.unionAll(others)
    return found


def _current(history: History, part: Touched, number: int) -> DataFrame:
    """Return the current rows of an input in a part of the result."""
    if history.key:
        # The records of one primary key can have different values of the part's key.
        return part.of_input(history.current(history.records()), number)
    return history.current(part.of_input(history.records(), number))


def matching(
    rows: DataFrame, values: DataFrame, pairs: Sequence[tuple[str, str]], *, inverse: bool = False
) -> DataFrame:
    """Return the rows whose expressions have values of a table; null is equal to null.

    ``pairs`` are SQL over the rows with the name of a column of the table.
    """
    named = rows.selectExpr("*", *(f"{sql} AS {quoted(f'odf:match{n}')}" for n, (sql, _) in enumerate(pairs)))
    left, right = named.alias("l"), values.alias("r")
    condition = " AND ".join(f"l.{quoted(f'odf:match{n}')} <=> r.{quoted(name)}" for n, (_, name) in enumerate(pairs))
    joined = left.join(right, F.expr(condition), "left_anti" if inverse else "left_semi")
    return joined.selectExpr(*map(quoted, rows.columns))
