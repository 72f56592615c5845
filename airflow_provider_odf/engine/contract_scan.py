"""How many rows of a history break each of some conditions, in as few Spark jobs as its size allows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from airflow_provider_odf.engine.refusal import refusal

_ERRORS = (PySparkException, Py4JError)


@dataclass(frozen=True)
class Values:
    """SQL that is true of a row whose values are bad."""

    broken: str


@dataclass(frozen=True)
class Key:
    """Columns (as SQL) whose values together are in one row only; nulls among them are bad too if ``is_complete``,
    else rows that have any are left alone."""

    columns: tuple[str, ...]
    is_complete: bool

    def broken(self, rows: str) -> str:
        """SQL that is true of a bad key, where ``rows`` is the number of rows that have it."""
        complete = " AND ".join(f"{c} IS NOT NULL" for c in self.columns)
        return f"NOT ({complete}) OR {rows} > 1" if self.is_complete else f"{complete} AND {rows} > 1"


Condition: TypeAlias = Values | Key


@dataclass(frozen=True)
class Count:
    """Bad rows, and the offsets of the first and the last of them."""

    rows: int = 0
    first: int | None = None
    last: int | None = None

    @property
    def offsets(self) -> tuple[int, ...]:
        return tuple(dict.fromkeys(o for o in (self.first, self.last) if o is not None))


@dataclass(frozen=True)
class Failure:
    """Spark could not evaluate a condition."""

    message: str


@dataclass(frozen=True)
class Scan:
    """Keys are judged over the rows ``keyed``, values over those of them that the SQL ``tested`` picks
    (``tested_rows`` is the same pick, read more cheaply). A small scan is one job of one task; a large one is a job
    for all values and one for each key."""

    keyed: DataFrame
    tested_rows: DataFrame
    tested: str
    offset: str
    is_small: bool

    def counts(self, conditions: Sequence[Condition]) -> tuple[int, list[Count | Failure]]:
        """The number of tested rows, and what came of each condition: one that Spark cannot evaluate spoils only
        itself."""
        try:
            tested, counts = self._counts(conditions)
        except _ERRORS:
            # If this fails too, no condition is at fault but the data, which is for the caller.
            tested, _ = self._counts(())
            return tested, [self._alone(condition) for condition in conditions]
        return tested, list(counts)

    def _alone(self, condition: Condition) -> Count | Failure:
        try:
            return self._counts((condition,))[1][0]
        except _ERRORS as e:
            return Failure(_message(e))

    def _counts(self, conditions: Sequence[Condition]) -> tuple[int, list[Count]]:
        if self.is_small:
            return self._in_one_job(conditions)
        tested, counts = self._aggregate(
            self.tested_rows, "true", [c.broken for c in conditions if isinstance(c, Values)]
        )
        of_values = iter(counts)
        return tested, [self._of_key(c) if isinstance(c, Key) else next(of_values) for c in conditions]

    def _in_one_job(self, conditions: Sequence[Condition]) -> tuple[int, list[Count]]:
        windows: list[str] = []
        broken: list[str] = []
        for c in conditions:
            if isinstance(c, Key):
                rows = f"__rows_of_key_{len(windows)}"
                windows.append(f"count(1) OVER (PARTITION BY {', '.join(c.columns)}) AS {rows}")
                broken.append(c.broken(rows))
            else:
                broken.append(f"({self.tested}) AND ({c.broken})")
        frame = self.keyed.selectExpr("*", *windows) if windows else self.keyed
        return self._aggregate(frame, self.tested, broken)

    def _aggregate(self, frame: DataFrame, tested: str, broken: Sequence[str]) -> tuple[int, list[Count]]:
        row = frame.selectExpr(f"count_if({tested})", *self._aggregates(broken)).collect()[0]
        return row[0], [Count(*row[at : at + 3]) for at in range(1, len(row), 3)]

    def _aggregates(self, broken: Sequence[str]) -> Iterator[str]:
        for sql in broken:
            yield f"count_if({sql})"
            for function in ("min", "max"):
                yield f"{function}(CASE WHEN {sql} THEN {self.offset} END)"

    def _of_key(self, key: Key) -> Count:
        groups = self.keyed.groupBy(*(F.expr(c).alias(f"__key_{i}") for i, c in enumerate(key.columns))).agg(
            F.expr("count(1) AS __rows"),
            F.expr(f"min({self.offset}) AS __first"),
            F.expr(f"max({self.offset}) AS __last"),
        )
        renamed = Key(tuple(f"__key_{i}" for i in range(len(key.columns))), key.is_complete)
        bad = groups.where(renamed.broken("__rows"))
        row = bad.selectExpr("coalesce(sum(__rows), 0)", "min(__first)", "max(__last)").collect()[0]
        return Count(*row)


def _message(error: Exception) -> str:
    """What Spark says, or where it only breaks off, the innermost cause in the JVM."""
    text = str(refusal(error) or error)
    if isinstance(error, Py4JJavaError) and text == str(error):
        cause = error.java_exception
        while cause.getCause() is not None:
            cause = cause.getCause()
        text = cause.toString()
    return text.strip().partition("\n")[0]
