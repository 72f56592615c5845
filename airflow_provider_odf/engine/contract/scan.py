"""Count the rows that fail each of several conditions, in as few Spark jobs as possible, and show some of them.

All conditions on rows and references are counted in one job over the rows. Small data count keys in the same job; large
data take one more job, with one shuffle, for each distinct set of key columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from airflow_provider_odf.engine.schema import quoted
from airflow_provider_odf.engine.spark_errors import refusal, root_cause
from airflow_provider_odf.engine.sql import text

ERRORS = (PySparkException, Py4JError)

MOST_SAMPLES = 5
"""Maximum number of rows that are shown for a condition."""

MOST_OFFSETS = 100
"""Maximum number of offsets of failing rows for a condition."""

_MOST_KEYS = 20
_ADAPTIVE = "spark.sql.adaptive.enabled"

_ROWS_OF_KEY = "__rows_of_key_"
"""Column with the number of rows that share a key, followed by the index of the condition."""


@dataclass(frozen=True)
class Values:
    """A condition on single rows: the SQL ``broken`` is true for a failing row.

    It is about rows for which the SQL ``about`` is true.
    """

    broken: str
    about: str = "true"


@dataclass(frozen=True)
class Key:
    """A condition on keys: no two rows share the values of the columns, given as SQL.

    With ``is_complete``, a null fails too. Otherwise rows with a null are ignored.
    """

    columns: tuple[str, ...]
    is_complete: bool

    def bad(self, rows: str) -> str:
        """Return SQL that is true for a failing key; ``rows`` is SQL for the number of its rows."""
        if self.is_complete:
            return f"NOT ({self.complete}) OR {rows} > 1"
        return f"{self.complete} AND {rows} > 1"

    @property
    def complete(self) -> str:
        """SQL that is true for a key without nulls."""
        return " AND ".join(f"{c} IS NOT NULL" for c in self.columns)


@dataclass(frozen=True)
class Reference:
    """A condition on references: each value that is not null is a value of ``target`` in another frame."""

    value: str
    other: DataFrame
    target: str


@dataclass(frozen=True)
class Aggregate:
    """A value that all rows have together: SQL with aggregate functions."""

    sql: str


Condition: TypeAlias = Values | Key | Reference | Aggregate


@dataclass(frozen=True)
class Count:
    """Numbers of tested and of failing rows.

    For a `Key`, also the numbers of failing keys, of keys without nulls, and of rows with these. For an `Aggregate`,
    its value.
    """

    rows: int
    failed: int
    failed_keys: int = 0
    keys: int = 0
    complete: int = 0
    value: Any = None


@dataclass(frozen=True)
class Failure:
    """Spark could not evaluate a condition."""

    error: Exception

    @property
    def message(self) -> str:
        """The first line of Spark's message, or the root cause in the JVM if Spark has no message of its own."""
        message = str(refusal(self.error) or self.error)
        if isinstance(self.error, Py4JJavaError) and message == str(self.error):
            message = root_cause(self.error)
        return message.strip().partition("\n")[0]


@dataclass(frozen=True)
class Shown:
    """SQL for what a report shows of a failing row: the value as text (None for no text), and the row as JSON."""

    text: str | None
    row: str


@dataclass(frozen=True)
class Sample:
    """A failing row: its offset, the value as text, and the row as JSON."""

    offset: int
    text: str | None
    row: str


@dataclass(frozen=True)
class Samples:
    """The first failing rows of a condition, and the offsets of more."""

    rows: tuple[Sample, ...] = ()
    offsets: tuple[int, ...] = ()


@dataclass(frozen=True)
class Scan:
    """A scan of rows that tests several conditions.

    Keys and references are tested over the rows ``keyed``, values over those rows for which the SQL ``tested`` is true.
    ``tested_rows`` has the same rows as that filter, read at lower cost. ``offset`` is SQL for the order of the rows.
    """

    keyed: DataFrame
    tested_rows: DataFrame
    tested: str
    offset: str
    is_small: bool

    def counts(self, conditions: Sequence[Condition]) -> list[Count | Failure]:
        """Return the numbers of tested and failing rows of each condition, or its failure."""
        counts: dict[int, Count | Failure] = {}
        with _whole_jobs(self.keyed.sparkSession):
            for part in self._passes(dict(enumerate(conditions))):
                try:
                    counts |= part.counts()
                except ERRORS as e:
                    if len(part.conditions) == 1:
                        counts |= dict.fromkeys(part.conditions, Failure(e))
                        continue
                    for index, condition in part.conditions.items():
                        counts[index] = self._alone(condition)
        return [counts[index] for index in range(len(conditions))]

    def samples(self, conditions: Sequence[tuple[Condition, Shown]]) -> list[Samples]:
        """Return failing rows of each condition."""
        shown = {index: show for index, (_, show) in enumerate(conditions)}
        samples: dict[int, Samples] = {}
        for part in self._passes({index: condition for index, (condition, _) in enumerate(conditions)}):
            samples |= part.samples(shown, self.offset)
        return [samples[index] for index in range(len(conditions))]

    def failing(self, conditions: Mapping[str, Condition], column: str) -> DataFrame:
        """Return the rows that fail conditions. The column of the name has an array with the names of these."""
        numbered = dict(enumerate(conditions.values()))
        frame, flags = _ByRow(self.keyed, numbered, self.tested).judged()
        names = (
            f"CASE WHEN {flag} THEN {text(name)} END" for flag, name in zip(flags.values(), conditions, strict=True)
        )
        marked = frame.selectExpr("*", f"array_compact(array({', '.join(names)})) AS {quoted(column)}")
        names_of_rows = map(quoted, self.keyed.columns)
        return marked.where(f"size({quoted(column)}) > 0").select(*names_of_rows, quoted(column))

    def _alone(self, condition: Condition) -> Count | Failure:
        try:
            (part,) = self._passes({0: condition})
            return part.counts()[0]
        except ERRORS as e:
            return Failure(e)

    def _passes(self, conditions: Mapping[int, Condition]) -> Iterator[_ByRow | _ByKey]:
        if self.is_small:
            yield _ByRow(self.keyed, conditions, self.tested)
            return
        keys: dict[tuple[str, ...], dict[int, Condition]] = {}
        for index, condition in conditions.items():
            if isinstance(condition, Key):
                keys.setdefault(condition.columns, {})[index] = condition
        rest = {index: c for index, c in conditions.items() if not isinstance(c, Key)}
        far = {index: c for index, c in rest.items() if isinstance(c, Reference | Aggregate) and not self._is_one_frame}
        if near := {index: c for index, c in rest.items() if index not in far}:
            yield _ByRow(self.tested_rows, near, "true")
        if far:
            yield _ByRow(self.keyed, far, "true")
        for columns, same in keys.items():
            yield _ByKey(self.keyed, same, columns)

    @property
    def _is_one_frame(self) -> bool:
        return self.keyed is self.tested_rows


@dataclass(frozen=True)
class _ByRow:
    """One pass that judges each row. ``tested`` is SQL for the rows that conditions on values are about."""

    frame: DataFrame
    conditions: Mapping[int, Condition]
    tested: str

    def counts(self) -> dict[int, Count | Failure]:
        frame, flags = self.judged()
        measures = [sql for index, c in self.conditions.items() for sql in self._measures(c, flags[index], index)]
        # Column names that Spark makes from long expressions take longer than the counting.
        row = frame.selectExpr(*(f"{sql} AS c{i}" for i, sql in enumerate(measures))).collect()[0]
        values = iter(row)
        return {index: _count(c, values) for index, c in self.conditions.items()}

    def _measures(self, condition: Condition, flag: str, index: int) -> Iterator[str]:
        """Yield SQL for the numbers of a `Count`, in the order of `_count`."""
        if isinstance(condition, Aggregate):
            yield from ("count(1)", condition.sql)
        elif isinstance(condition, Key):
            share = f"1D / {_ROWS_OF_KEY}{index}"
            yield from ("count(1)", f"count_if({flag})")
            for rows in (flag, condition.complete):
                yield f"CAST(round(coalesce(sum(CASE WHEN {rows} THEN {share} END), 0)) AS BIGINT)"
            yield f"count_if({condition.complete})"
        else:
            about = f"({self.tested}) AND ({condition.about})" if isinstance(condition, Values) else "true"
            yield from (f"count_if({about})", f"count_if({flag})")

    def samples(self, shown: Mapping[int, Shown], offset: str) -> dict[int, Samples]:
        frame, flags = self.judged()
        measures = [
            sql for index, flag in flags.items() for sql in _first(shown[index], offset, f"FILTER (WHERE {flag})")
        ]
        # Aggregates that keep several rows are slow: they only get failing rows.
        failing = frame.where(" OR ".join(f"({flag})" for flag in flags.values()))
        row = failing.selectExpr(*(f"{sql} AS s{i}" for i, sql in enumerate(measures))).collect()[0]
        return {index: _samples([row[2 * i : 2 * i + 2]]) for i, index in enumerate(flags)}

    def judged(self) -> tuple[DataFrame, dict[int, str]]:
        """Return a frame with the rows, and SQL for the failing ones of each condition."""
        frame, windows, flags = self.frame, list[str](), dict[int, str]()
        for index, c in self.conditions.items():
            if isinstance(c, Key):
                rows = f"{_ROWS_OF_KEY}{index}"
                windows.append(f"count(1) OVER (PARTITION BY {', '.join(c.columns)}) AS {rows}")
                flags[index] = c.bad(rows)
            elif isinstance(c, Reference):
                target = f"__target_{index}"
                targets = c.other.selectExpr(f"{c.target} AS {target}").where(f"{target} IS NOT NULL").distinct()
                frame = frame.join(targets, F.expr(f"{c.value} = {target}"), "left")
                flags[index] = f"{c.value} IS NOT NULL AND {target} IS NULL"
            elif isinstance(c, Values):
                parts = [part for part in (self.tested, c.about) if part != "true"]
                flags[index] = " AND ".join(f"({part})" for part in (*parts, c.broken))
            else:
                flags[index] = "false"
        return (frame.selectExpr("*", *windows) if windows else frame), flags


@dataclass(frozen=True)
class _ByKey:
    """One pass that groups the rows by key, for conditions on the same columns."""

    frame: DataFrame
    conditions: Mapping[int, Condition]
    columns: tuple[str, ...]

    def counts(self) -> dict[int, Count | Failure]:
        measures = [sql for c, bad in self._bad().values() for sql in _measures_of_groups(c, bad)]
        row = self._groups().selectExpr(*(f"{sql} AS c{i}" for i, sql in enumerate(measures))).collect()[0]
        values = iter(row)
        return {index: _count(c, values) for index, (c, _) in self._bad().items()}

    def samples(self, shown: Mapping[int, Shown], offset: str) -> dict[int, Samples]:
        samples = {}
        for index, (_, bad) in self._bad().items():
            # Keys first: collecting rows for every key would take minutes for a million of them.
            keys = self._groups(f"min({offset})").where(bad).orderBy("m0").limit(_MOST_KEYS).select(*self._names)
            same = " AND ".join(f"{c} <=> {name}" for c, name in zip(self.columns, self._names, strict=True))
            rows = self.frame.join(F.broadcast(keys), F.expr(same), "left_semi")
            measures = (f"{sql} AS s{i}" for i, sql in enumerate(_first(shown[index], offset)))
            samples[index] = _samples(rows.selectExpr(*measures).collect())
        return samples

    def _groups(self, *measures: str) -> DataFrame:
        """Return one row per key: its number of rows as ``__rows``, its measures as ``m0`` and so on."""
        by = (F.expr(column).alias(name) for column, name in zip(self.columns, self._names, strict=True))
        measured = [F.expr("count(1) AS __rows"), *(F.expr(f"{m} AS m{i}") for i, m in enumerate(measures))]
        return self.frame.groupBy(*by).agg(*measured)

    def _bad(self) -> dict[int, tuple[Key, str]]:
        """Return each condition on the columns of the groups, and SQL for its failing groups."""
        keys = {index: replace(c, columns=self._names) for index, c in self.conditions.items() if isinstance(c, Key)}
        return {index: (key, key.bad("__rows")) for index, key in keys.items()}

    @property
    def _names(self) -> tuple[str, ...]:
        return tuple(f"__key_{i}" for i in range(len(self.columns)))


@contextmanager
def _whole_jobs(spark: SparkSession) -> Iterator[None]:
    """Run each query as one job. Adaptive execution would start one more for each shuffle, of which there is nothing to
    adapt: the results have one row."""
    before = str(spark.conf.get(_ADAPTIVE))
    spark.conf.set(_ADAPTIVE, "false")
    try:
        yield
    finally:
        spark.conf.set(_ADAPTIVE, before)


def _measures_of_groups(key: Key, bad: str) -> Iterator[str]:
    """Yield SQL for the numbers of a `Count`, in the order of `_count`."""
    yield "coalesce(sum(__rows), 0)"
    yield f"coalesce(sum(CASE WHEN {bad} THEN __rows END), 0)"
    yield f"count_if({bad})"
    yield f"count_if({key.complete})"
    yield f"coalesce(sum(CASE WHEN {key.complete} THEN __rows END), 0)"


def _count(condition: Condition, values: Iterator[Any]) -> Count:
    """Return the numbers of a condition, which are the next of ``values``."""
    if isinstance(condition, Aggregate):
        return Count(next(values), 0, value=next(values))
    if isinstance(condition, Key):
        return Count(*(next(values) for _ in range(5)))
    return Count(next(values), next(values))


def _first(shown: Shown, offset: str, where: str = "") -> Iterator[str]:
    """Yield SQL for the first failing rows, and for the offsets of more."""
    row = f"struct({offset}, {shown.text or 'CAST(NULL AS STRING)'}, {shown.row})"
    yield f"min_by({row}, {offset}, {MOST_SAMPLES}) {where}"
    yield f"min_by({offset}, {offset}, {MOST_OFFSETS}) {where}"


def _samples(found: Sequence[Sequence[Any]]) -> Samples:
    """Return the samples of pairs of rows and offsets."""
    rows = sorted((Sample(*row) for first, _ in found for row in first or ()), key=lambda sample: sample.offset)
    offsets = sorted(offset for _, more in found for offset in more or ())
    return Samples(tuple(rows[:MOST_SAMPLES]), tuple(offsets[:MOST_OFFSETS]))
