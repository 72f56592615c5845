"""How many rows of a history break each of some conditions, in as few Spark jobs as its size allows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from typing import TypeAlias

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row
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

    def bad(self, rows: str) -> str:
        """SQL that is true of a bad key, where ``rows`` is the number of rows that have it."""
        complete = " AND ".join(f"{c} IS NOT NULL" for c in self.columns)
        return f"NOT ({complete}) OR {rows} > 1" if self.is_complete else f"{complete} AND {rows} > 1"


Condition: TypeAlias = Values | Key


@dataclass(frozen=True)
class Witness:
    """A bad row: its offset, and the text to show of it."""

    offset: int
    text: str | None


@dataclass(frozen=True)
class Failure:
    """Spark could not evaluate a condition."""

    message: str


@dataclass(frozen=True)
class Scan:
    """Keys are judged over the rows ``keyed``, values over those of them that the SQL ``tested`` picks (``tested_rows``
    is the same pick, read more cheaply). A small scan is one job of one task; a large one is a job for all values and
    one for each key."""

    keyed: DataFrame
    tested_rows: DataFrame
    tested: str
    offset: str
    is_small: bool

    def counts(self, conditions: Sequence[Condition]) -> tuple[int, list[int | Failure]]:
        """The number of tested rows, and of the bad ones by each condition: one that Spark cannot evaluate spoils only
        itself."""
        try:
            tested, *counts = self._counts(conditions)
        except _ERRORS:
            # If this fails too, no condition is at fault but the data, which is for the caller.
            (tested,) = self._counts(())
            return tested, [self._alone(condition) for condition in conditions]
        return tested, list(counts)

    def witnesses(self, conditions: Sequence[tuple[Condition, str | None]]) -> list[tuple[Witness, ...]]:
        """The first and the last bad row of each condition that has any. With the condition comes SQL of the text to
        show, None to show none."""
        together = [(c, text) for c, text in conditions if self._is_judged_by_row(c)]
        frame, _, broken = self._judged([c for c, _ in together])
        ends = [sql for b, (_, text) in zip(broken, together, strict=True) for sql in self._ends(text, b)]
        found = iter(frame.selectExpr(*ends).collect()[0] if ends else ())
        return [
            _distinct((next(found), next(found)) if self._is_judged_by_row(c) else self._ends_of_key(c, text))
            for c, text in conditions
        ]

    def bad_offsets(self, conditions: Sequence[Condition], most: int) -> list[tuple[int, ...]]:
        """Offsets of bad rows of each condition, among the first ``most`` rows that any condition finds bad. None of
        keys in a large scan, which only `witnesses` finds."""
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
        """Tested rows first, then the bad ones of each condition."""
        frame, tested, broken = self._judged([c for c in conditions if self._is_judged_by_row(c)])
        row = frame.selectExpr(f"count_if({tested})", *(f"count_if({sql})" for sql in broken)).collect()[0]
        counts = iter(row[1:])
        return [row[0], *(next(counts) if self._is_judged_by_row(c) else self._count_of_key(c) for c in conditions)]

    def _is_judged_by_row(self, condition: Condition) -> bool:
        return self.is_small or isinstance(condition, Values)

    def _judged(self, conditions: Sequence[Condition]) -> tuple[DataFrame, str, list[str]]:
        """A frame with the rows to judge, and SQL on it: which are tested, and which are bad by each condition."""
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
        """SQL of the first and the last row where ``broken`` is true, as pairs of offset and text."""
        pair = f"struct({self.offset}, {text or 'CAST(NULL AS STRING)'})"
        for function in ("min", "max"):
            yield f"{function}(CASE WHEN {broken} THEN {pair} END)"

    def _bad_keys(self, key: Key, *measures: str) -> DataFrame:
        """One row for each bad key: its number of rows as ``__rows``, measures of them as ``m0``, ``m1`` and so on."""
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
    """What Spark says, or where it only breaks off, the innermost cause in the JVM."""
    text = str(refusal(error) or error)
    if isinstance(error, Py4JJavaError) and text == str(error):
        cause = error.java_exception
        while cause.getCause() is not None:
            cause = cause.getCause()
        text = cause.toString()
    return text.strip().partition("\n")[0]
