"""What a judge of a clause returns: a verdict, or how to measure the clause by a condition on rows, and what a test of
the condition finds."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Protocol, TypeAlias

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from airflow_provider_odf.clauses import Limits, number_text
from airflow_provider_odf.engine.spark_errors import refusal, root_cause
from airflow_provider_odf.engine.sql import Sql, count_if

ERRORS = (PySparkException, Py4JError)

MOST_SAMPLES = 5
"""Maximum number of rows that are shown for a condition."""

MOST_OFFSETS = 100
"""Maximum number of offsets of failing rows for a condition."""


@dataclass(frozen=True)
class Verdict:
    """Outcome of a clause that needs no rows."""

    outcome: str
    reason: str = ""
    expected: str = ""
    observed: str = ""


class Decided(Exception):
    """The verdict on a clause is certain without a test of rows."""

    def __init__(self, outcome: str, reason: str, expected: str = "", observed: str = "") -> None:
        super().__init__(reason)
        self.verdict = Verdict(outcome, reason, expected, observed)


@dataclass(frozen=True)
class Rule:
    """A test of values: the SQL ``broken`` is true for failing ones, and ``expected`` describes valid ones."""

    broken: str
    expected: str


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
        return complete(self.columns)

    @property
    def of_groups(self) -> Key:
        """The same condition on rows that are groups of equal keys, whose columns are `group_columns`."""
        return replace(self, columns=group_columns(self.columns))


def group_columns(columns: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the columns of a key in rows that are groups of equal keys."""
    return tuple(f"__key_{i}" for i in range(len(columns)))


def complete(columns: Iterable[str]) -> str:
    """Return SQL that is true if none of some columns, given as SQL, is null."""
    return " AND ".join(f"{c} IS NOT NULL" for c in columns)


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
    def kind(self) -> str:
        """The condition of Spark's message, such as ``CAST_INVALID_INPUT``, or the class of the error."""
        name = re.match(r"\[([A-Z][A-Z_.]*)\]", self.message)
        return name[1] if name else type(self.error).__name__

    @property
    def message(self) -> str:
        """The first line of Spark's message, or the root cause in the JVM if Spark has no message of its own."""
        message = str(refusal(self.error) or self.error)
        if isinstance(self.error, Py4JJavaError) and message == str(self.error):
            message = root_cause(self.error)
        return message.strip().partition("\n")[0]


@dataclass(frozen=True)
class Shown:
    """SQL for what a report shows of a failing row: the value as text (None for no text), and the row as JSON.

    ``columns`` are those of the row, of which ``masked`` are hidden, and ``values`` those of the text.
    """

    text: str | None
    row: str
    columns: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    masked: frozenset[str] = frozenset()


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
class ConditionTest:
    """A condition to test, and what a report shows of its failing rows if ``fails`` is true of the numbers."""

    condition: Condition
    shown: Shown
    fails: Callable[[Count], bool]


Found: TypeAlias = tuple[Count | Failure, Samples]
"""Result of the test of a condition."""


class Scan(Protocol):
    """Rows on which conditions are tested."""

    @property
    def keyed(self) -> DataFrame:
        """The rows that keys and references are tested over."""

    def test(self, conditions: Sequence[ConditionTest]) -> list[Found]:
        """Return the numbers of tested and failing rows of each condition, or its failure, and the first failing rows.
        There are none if they cannot be read, or are not to be shown."""

    def failing(self, conditions: Mapping[str, Condition], column: str) -> DataFrame:
        """Return the rows that fail conditions. The column of the name has an array with the names of these."""


def measures_of_groups(key: Key, bad: Sql) -> Iterator[Sql]:
    """Yield SQL for the numbers of a `Count`, in the order of `count_of`, over keys that have ``__rows`` rows each."""
    yield "coalesce(sum(__rows), 0)"
    yield f"coalesce(sum(CASE WHEN {bad} THEN __rows END), 0)"
    yield count_if(bad)
    yield count_if(key.complete)
    yield f"coalesce(sum(CASE WHEN {key.complete} THEN __rows END), 0)"


def count_of(condition: Condition, values: Iterator[Any]) -> Count:
    """Return the numbers of a condition, which are the next of ``values``."""
    if isinstance(condition, Aggregate):
        return Count(next(values), 0, value=next(values))
    if isinstance(condition, Key):
        return Count(*(next(values) for _ in range(5)))
    return Count(next(values), next(values))


MASK = "***"
"""What reports show in place of a sensitive value."""

_NULL = "null"


@dataclass(frozen=True)
class Measured:
    """A clause that needs rows for a result.

    ``example`` is SQL for the text of a failing row in the report, None for no text. ``shown`` are the columns of a
    sample. ``verdict`` judges the numbers; without it, the clause fails if a row fails.
    """

    condition: Condition
    expected: str
    example: str | None = None
    what: str = ""
    shown: tuple[str, ...] = ()
    verdict: Callable[[Count], Verdict] | None = None


def masked(measured: Measured) -> Measured:
    """Return the same clause for a report that does not show its value."""

    def verdict(count: Count) -> Verdict:
        return without_value(measured.verdict(count) if measured.verdict else Verdict("error"))

    return replace(measured, verdict=verdict)


def without_value(verdict: Verdict) -> Verdict:
    """Return a verdict that does not show its value; null is none."""
    if verdict.observed in ("", _NULL):
        return verdict
    return replace(verdict, reason="the value is sensitive", observed=MASK)


@dataclass(frozen=True)
class Query:
    """A clause about the one number that a query returns. ``query`` is SQL of the contract's author. A report shows no
    number if it is sensitive."""

    query: str
    limits: Limits
    is_sensitive: bool = False


@dataclass(frozen=True)
class Expectation:
    """A clause that the library Great Expectations evaluates. A report shows no value if it is sensitive."""

    type: str
    kwargs: Mapping[str, Any]
    is_sensitive: bool = False


def of_number(value: Any, limits: Limits, what: str = "the value is") -> Verdict:
    """Return the verdict on a number of a database."""
    if value is None:
        return Verdict("fail", f"{what} null", limits.text, _NULL)
    if isinstance(value, bool):
        value = int(value)
    if not isinstance(value, int | float | Decimal):
        kind = _KINDS.get(type(value), type(value).__name__)
        # The value itself may be sensitive: a query can read any column.
        return Verdict("error", f"{what} {kind}, not a number", limits.text)
    outcome = "pass" if limits.hold(value) else "fail"
    return Verdict(outcome, f"{what} {number_text(value)} {limits.unit}".rstrip(), limits.text, number_text(value))


_KINDS = {str: "a string", dt.date: "a date", dt.datetime: "a time", dt.timedelta: "an interval"}
