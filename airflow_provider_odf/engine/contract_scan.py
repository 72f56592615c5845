"""Count the rows of a history that fail each of several conditions, in as few Spark jobs as its size allows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from typing import TypeAlias

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812

from airflow_provider_odf.engine.refusal import refusal, root_cause

_ERRORS = (PySparkException, Py4JError)


@dataclass(frozen=True)
class Values:
    """A condition on single rows: the SQL is true for a failing row."""

    broken: str


@dataclass(frozen=True)
class Key:
    """A condition on keys: no two rows share the values of the columns, given as SQL.

    With ``is_complete``, a null fails too. Otherwise rows with a null are ignored.
    """

    columns: tuple[str, ...]
    is_complete: bool

    def bad(self, rows: str) -> str:
        """Return SQL that is true for a failing key; ``rows`` is SQL for the number of its rows."""
        complete = " AND ".join(f"{c} IS NOT NULL" for c in self.columns)
        return f"NOT ({complete}) OR {rows} > 1" if self.is_complete else f"{complete} AND {rows} > 1"


Condition: TypeAlias = Values | Key


@dataclass(frozen=True)
class Witness:
    """A failing row: its offset, and its text in the report."""

    offset: int
    text: str | None


@dataclass(frozen=True)
class Failure:
    """Spark could not evaluate a condition."""

    message: str


@dataclass(frozen=True)
class Scan:
    """A scan of rows that tests several conditions.

    Keys are tested over the rows ``keyed``, values over those rows for which the SQL ``tested`` is true.
    ``tested_rows`` has the same rows as that filter, read at lower cost. A small scan is one job with one task. A large
    scan is one job for all values and one for each key.
    """

    keyed: DataFrame
    tested_rows: DataFrame
    tested: str
    offset: str
    is_small: bool

    def counts(self, conditions: Sequence[Condition]) -> tuple[int, list[int | Failure]]:
        """Return the number of tested rows, and for each condition the number of failing rows or the failure."""
        try:
            tested, *counts = self._counts(conditions)
        except _ERRORS:
            # If this fails too, the data are at fault, not a condition: the caller handles the error.
            (tested,) = self._counts(())
            return tested, [self._alone(condition) for condition in conditions]
        return tested, list(counts)

    def witnesses(self, conditions: Sequence[tuple[Condition, str | None]]) -> list[tuple[Witness, ...]]:
        """Return the first and the last failing row of each condition.

        Each condition comes with SQL for the text of a row, or None for no text.
        """
        together = [(c, text) for c, text in conditions if self._is_judged_by_row(c)]
        frame, _, broken = self._judged([c for c, _ in together])
        ends = [sql for b, (_, text) in zip(broken, together, strict=True) for sql in self._ends(text, b)]
        found = iter(frame.selectExpr(*ends).collect()[0] if ends else ())
        return [
            _distinct((next(found), next(found)) if self._is_judged_by_row(c) else self._ends_of_key(c, text))
            for c, text in conditions
        ]

    def bad_offsets(self, conditions: Sequence[Condition], most: int) -> list[tuple[int, ...]]:
        """Return offsets of failing rows for each condition, among the first ``most`` failing rows of all conditions.

        For keys in a large scan there are none: only `witnesses` returns their rows.
        """
        by_row = [c for c in conditions if self._is_judged_by_row(c)]
        if not by_row:
            return [()] * len(conditions)
        frame, _, broken = self._judged(by_row)
        flags = [f"({sql}) AS __bad_{i}" for i, sql in enumerate(broken)]
        judged = frame.selectExpr(f"{self.offset} AS __offset", *flags)
        is_bad = " OR ".join(f"__bad_{i}" for i in range(len(broken)))
        rows = judged.where(is_bad).orderBy("__offset").limit(most).collect()
        offsets, *bad = zip(*rows, strict=True)
        flagged = iter(bad)
        return [tuple(compress(offsets, next(flagged))) if self._is_judged_by_row(c) else () for c in conditions]

    def _alone(self, condition: Condition) -> int | Failure:
        try:
            return self._counts((condition,))[1]
        except _ERRORS as e:
            return Failure(_message(e))

    def _counts(self, conditions: Sequence[Condition]) -> list[int]:
        """Return the number of tested rows, then the number of failing rows for each condition."""
        frame, tested, broken = self._judged([c for c in conditions if self._is_judged_by_row(c)])
        row = frame.selectExpr(f"count_if({tested})", *(f"count_if({sql})" for sql in broken)).collect()[0]
        counts = iter(row[1:])
        return [row[0], *(next(counts) if self._is_judged_by_row(c) else self._count_of_key(c) for c in conditions)]

    def _is_judged_by_row(self, condition: Condition) -> bool:
        return self.is_small or isinstance(condition, Values)

    def _judged(self, conditions: Sequence[Condition]) -> tuple[DataFrame, str, list[str]]:
        """Return a frame with the rows, SQL for the tested ones, and SQL for the failing ones of each condition."""
        if not self.is_small:
            return self.tested_rows, "true", [c.broken for c in conditions if isinstance(c, Values)]
        windows: list[str] = []
        broken: list[str] = []
        for c in conditions:
            if isinstance(c, Key):
                rows = f"__rows_of_key_{len(windows)}"
                windows.append(f"count(1) OVER (PARTITION BY {', '.join(c.columns)}) AS {rows}")
                broken.append(c.bad(rows))
            else:
                broken.append(f"({self.tested}) AND ({c.broken})")
        return (self.keyed.selectExpr("*", *windows) if windows else self.keyed), self.tested, broken

    def _ends(self, text: str | None, broken: str = "true") -> Iterator[str]:
        """Yield SQL for the first and the last row for which ``broken`` is true, as pairs of offset and text."""
        pair = f"struct({self.offset}, {text or 'CAST(NULL AS STRING)'})"
        for function in ("min", "max"):
            yield f"{function}(CASE WHEN {broken} THEN {pair} END)"

    def _bad_keys(self, key: Key, *measures: str) -> DataFrame:
        """Return one row per failing key: its number of rows as ``__rows``, its measures as ``m0`` and so on."""
        names = [f"__key_{i}" for i in range(len(key.columns))]
        by = (F.expr(column).alias(name) for column, name in zip(key.columns, names, strict=True))
        measured = [F.expr("count(1) AS __rows"), *(F.expr(f"{m} AS m{i}") for i, m in enumerate(measures))]
        return self.keyed.groupBy(*by).agg(*measured).where(replace(key, columns=tuple(names)).bad("__rows"))

    def _count_of_key(self, condition: Condition) -> int:
        assert isinstance(condition, Key)  # noqa: S101
        return int(self._bad_keys(condition).selectExpr("coalesce(sum(__rows), 0)").collect()[0][0])

    def _ends_of_key(self, condition: Condition, text: str | None) -> tuple[Row | None, ...]:
        assert isinstance(condition, Key)  # noqa: S101
        return tuple(self._bad_keys(condition, *self._ends(text)).selectExpr("min(m0)", "max(m1)").collect()[0])


def _distinct(ends: tuple[Row | None, ...]) -> tuple[Witness, ...]:
    return tuple(dict.fromkeys(Witness(*end) for end in ends if end is not None))


def _message(error: Exception) -> str:
    """Return the first line of Spark's message, or of the root cause in the JVM if Spark has no message of its own."""
    text = str(refusal(error) or error)
    if isinstance(error, Py4JJavaError) and text == str(error):
        text = root_cause(error)
    return text.strip().partition("\n")[0]
