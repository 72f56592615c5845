"""Count the rows that fail each of several conditions, and show some of them, in as few Spark jobs as possible.

All conditions on rows and references are counted in one job over the rows. Small data count keys in the same job; large
data take one more scan for the hashes of all keys, which tell most of them apart without a shuffle: rows with the same
key have the same hash, so a hash that one row has is a unique key. Only the other rows, the suspects, are read once
more and grouped by their keys: those that share a hash, and those with a null in the key.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from airflow_provider_odf.engine import spark_internals
from airflow_provider_odf.engine.contract.conditions import (
    ERRORS,
    MOST_OFFSETS,
    MOST_SAMPLES,
    Aggregate,
    Condition,
    ConditionTest,
    Count,
    Failure,
    Found,
    Key,
    Reference,
    Sample,
    Samples,
    Shown,
    Values,
    complete,
    count_of,
    group_columns,
    measures_of_groups,
)
from airflow_provider_odf.engine.schema import quoted
from airflow_provider_odf.engine.session import setting
from airflow_provider_odf.engine.spark_version import version
from airflow_provider_odf.engine.sql import Sql, text

_SHARE_OF_HEAP = 4
"""Data is hashed up to the driver's heap divided by this: a hash has 8 bytes, a row on disk rarely less than 20."""

_MOST_REPEATED = 1000
"""Maximum number of repeated hashes that a filter selects."""

_MOST_KEPT = 100_000
"""Maximum number of suspects that Spark keeps, so that it reads them once."""


class KeyHashes:
    """The hashes of the keys that each of some sets of columns, given as SQL, is in the rows of a frame."""

    def __init__(self, frame: DataFrame, keys: Iterable[tuple[Sql, ...]]) -> None:
        self._frame = frame
        self._keys = list(keys)
        self._kept: list[DataFrame] = []

    def suspects(self, key: tuple[Sql, ...]) -> tuple[int, DataFrame | None]:
        """Return the number of rows that are alone with their hash, and all other rows; None if there are none."""
        hashes = self._hashes.get(key)
        if hashes is None:
            return 0, self._frame
        values, counts = pc.value_counts(hashes.drop_null()).flatten()
        repeated = values.filter(pc.greater(counts, 1)).to_pylist()
        single, nulls = len(values) - len(repeated), hashes.null_count
        if len(repeated) > _MOST_REPEATED or not single:
            return 0, self._frame
        if not repeated and not nulls:
            return single, None
        conditions = [f"NOT ({complete(key)})"] if nulls else []
        conditions += [f"{_hash(key)} IN ({', '.join(f'{value}L' for value in repeated)})"] if repeated else []
        rows = self._frame.where(" OR ".join(conditions))
        if len(hashes) - single <= _MOST_KEPT:
            self._kept.append(rows.persist())
        return single, rows

    def release(self) -> None:
        """Release the rows that Spark keeps."""
        while self._kept:
            self._kept.pop().unpersist()

    @cached_property
    def _hashes(self) -> Mapping[tuple[Sql, ...], pa.ChunkedArray]:
        """The hash of each row by key, null for a key with a null. There are none of data that is too large, nor of
        collated text: equal ones have different hashes."""
        if not self._keys or spark_internals.is_remote(self._frame.sparkSession):
            return {}
        keys = [key for key in self._keys if " collate " not in self._frame.selectExpr(*key).schema.simpleString()]
        size = spark_internals.size_in_bytes(self._frame) * len(keys)
        if not keys or size > spark_internals.heap_bytes() // _SHARE_OF_HEAP:
            return {}
        columns = (f"CASE WHEN {complete(k)} THEN {_hash(k)} END AS h{i}" for i, k in enumerate(keys))
        return dict(zip(keys, self._frame.selectExpr(*columns).toArrow().columns, strict=True))


def _hash(key: tuple[Sql, ...]) -> Sql:
    return f"xxhash64({', '.join(key)})"


_MOST_KEYS = 20


@dataclass(frozen=True)
class ByKey:
    """The test of conditions on the same columns of a key. Rows that may fail are grouped by key. ``offset`` is SQL for
    the order of the rows."""

    hashes: KeyHashes
    columns: tuple[Sql, ...]
    conditions: Mapping[int, ConditionTest]
    offset: Sql

    def test(self) -> dict[int, Found]:
        single, suspects = self.hashes.suspects(self.columns)
        if suspects is None:
            return dict.fromkeys(self.conditions, (Count(single, 0, keys=single, complete=single), Samples()))
        counts = self._counts(single, suspects)
        return {
            index: (counts[index], self._samples(suspects, tested) if tested.fails(counts[index]) else Samples())
            for index, tested in self.conditions.items()
        }

    def _counts(self, single: int, suspects: DataFrame) -> dict[int, Count]:
        keys = {index: _key(tested) for index, tested in self.conditions.items()}
        measures = [sql for key in keys.values() for sql in measures_of_groups(key, key.bad("__rows"))]
        row = self._groups(suspects).selectExpr(*(f"{sql} AS c{i}" for i, sql in enumerate(measures))).collect()[0]
        values = iter(row)
        counts = {index: count_of(key, values) for index, key in keys.items()}
        return {
            index: replace(c, rows=c.rows + single, keys=c.keys + single, complete=c.complete + single)
            for index, c in counts.items()
        }

    def _samples(self, suspects: DataFrame, tested: ConditionTest) -> Samples:
        # Keys first: collecting rows for every key would take minutes for a million of them.
        groups = self._groups(suspects, f"min({self.offset})").where(_key(tested).bad("__rows"))
        keys = groups.orderBy("m0").limit(_MOST_KEYS).select(*self._names)
        same = " AND ".join(f"{c} <=> {name}" for c, name in zip(self.columns, self._names, strict=True))
        rows = suspects.join(F.broadcast(keys), F.expr(same), "left_semi")
        return _first(rows, {0: ("true", tested.shown)}, self.offset).get(0, Samples())

    def _groups(self, rows: DataFrame, *measures: Sql) -> DataFrame:
        """Return one row per key: its number of rows as ``__rows``, its measures as ``m0`` and so on."""
        by = (F.expr(column).alias(name) for column, name in zip(self.columns, self._names, strict=True))
        measured = [F.expr("count(1) AS __rows"), *(F.expr(f"{m} AS m{i}") for i, m in enumerate(measures))]
        return rows.groupBy(*by).agg(*measured)

    @property
    def _names(self) -> tuple[str, ...]:
        return group_columns(self.columns)


def _key(tested: ConditionTest) -> Key:
    """Return the condition on the columns of groups."""
    assert isinstance(tested.condition, Key)  # noqa: S101 - `SparkScan` groups them so
    return tested.condition.of_groups


@dataclass(frozen=True)
class ByRow:
    """One pass that judges each row, and one for the failing rows. ``tested`` is SQL for the rows that conditions on
    values are about, ``offset`` for the order of the rows."""

    frame: DataFrame
    conditions: Mapping[int, ConditionTest]
    tested: Sql
    offset: Sql

    def test(self) -> dict[int, Found]:
        counts = self._counts()
        samples = self._samples({index: t for index, t in self.conditions.items() if t.fails(counts[index])})
        return {index: (count, samples.get(index, Samples())) for index, count in counts.items()}

    def _counts(self) -> dict[int, Count]:
        conditions = {index: t.condition for index, t in self.conditions.items()}
        frame, flags = _judged(self.frame, conditions, self.tested)
        measures = [sql for index, c in conditions.items() for sql in self._measures(c, flags[index], index)]
        # Column names that Spark makes from long expressions take longer than the counting.
        row = frame.selectExpr(*(f"{sql} AS c{i}" for i, sql in enumerate(measures))).collect()[0]
        values = iter(row)
        return {index: count_of(c, values) for index, c in conditions.items()}

    def _measures(self, condition: Condition, flag: str, index: int) -> Iterator[str]:
        """Yield SQL for the numbers of a `Count`, in the order of `count_of`."""
        if isinstance(condition, Aggregate):
            yield from ("count(1)", condition.sql)
        elif isinstance(condition, Key):
            share = f"1D / {_rows_of_key(index)}"
            yield from ("count(1)", f"count_if({flag})")
            for rows in (flag, condition.complete):
                yield f"CAST(round(coalesce(sum(CASE WHEN {rows} THEN {share} END), 0)) AS BIGINT)"
            yield f"count_if({condition.complete})"
        else:
            about = f"({self.tested}) AND ({condition.about})" if isinstance(condition, Values) else "true"
            yield from (f"count_if({about})", f"count_if({flag})")

    def _samples(self, conditions: Mapping[int, ConditionTest]) -> dict[int, Samples]:
        if not conditions:
            return {}
        frame, flags = _judged(self.frame, {index: t.condition for index, t in conditions.items()}, self.tested)
        return _first(frame, {i: (flag, conditions[i].shown) for i, flag in flags.items()}, self.offset)


def _first(frame: DataFrame, failing: Mapping[int, tuple[Sql, Shown]], offset: Sql) -> dict[int, Samples]:
    """Return the first failing rows of conditions, and the offsets of more; none if a column that only these need
    cannot be read.

    :param failing: SQL that is true for the failing rows of a condition, and what is shown of them.
    :param offset: SQL for the order of the rows.
    """
    rows = {i: f"struct({offset}, {s.text or 'CAST(NULL AS STRING)'}, {s.row})" for i, (_, s) in failing.items()}
    try:
        if version(frame.sparkSession) < (4, 2):  # its min_by returns one row
            return {i: _in_turn(frame.where(flag), rows[i], offset) for i, (flag, _) in failing.items()}
        measures = [
            f"min_by({row}, {offset}, {most}) FILTER (WHERE {failing[i][0]}) AS s{i}_{most}"
            for i in failing
            for row, most in ((rows[i], MOST_SAMPLES), (offset, MOST_OFFSETS))
        ]
        # Aggregates that keep several rows are slow: they only get failing rows.
        some = frame.where(" OR ".join(f"({flag})" for flag, _ in failing.values()))
        [found] = some.selectExpr(*measures).collect()
    except ERRORS:
        return {}
    return {i: _samples(found[f"s{i}_{MOST_SAMPLES}"], found[f"s{i}_{MOST_OFFSETS}"]) for i in failing}


def _in_turn(frame: DataFrame, row: Sql, offset: Sql) -> Samples:
    found = frame.orderBy(F.expr(offset)).limit(MOST_OFFSETS).selectExpr(f"{row} AS row").collect()
    return _samples([row for (row,) in found[:MOST_SAMPLES]], [row[0] for (row,) in found])


def _samples(rows: Sequence[Sequence[Any]] | None, offsets: Sequence[int] | None) -> Samples:
    samples = sorted((Sample(*row) for row in rows or ()), key=lambda sample: sample.offset)
    return Samples(tuple(samples), tuple(sorted(offsets or ())))


def _judged(frame: DataFrame, conditions: Mapping[int, Condition], tested: Sql) -> tuple[DataFrame, dict[int, Sql]]:
    """Return a frame with the rows, and SQL for the failing ones of each condition."""
    windows, flags = list[Sql](), dict[int, Sql]()
    for index, c in conditions.items():
        if isinstance(c, Key):
            rows = _rows_of_key(index)
            windows.append(f"count(1) OVER (PARTITION BY {', '.join(c.columns)}) AS {rows}")
            flags[index] = c.bad(rows)
        elif isinstance(c, Reference):
            target = quoted(f"odf:target_{index}")
            targets = c.other.selectExpr(f"{c.target} AS {target}").where(f"{target} IS NOT NULL").distinct()
            frame = frame.join(targets, F.expr(f"{c.value} = {target}"), "left")
            flags[index] = f"{c.value} IS NOT NULL AND {target} IS NULL"
        elif isinstance(c, Values):
            parts = [part for part in (tested, c.about) if part != "true"]
            flags[index] = " AND ".join(f"({part})" for part in (*parts, c.broken))
        else:
            flags[index] = "false"
    return (frame.selectExpr("*", *windows) if windows else frame), flags


def _rows_of_key(index: int) -> str:
    """Return the column with the number of rows that share the key of a condition."""
    return quoted(f"odf:rows_of_key_{index}")


@dataclass(frozen=True)
class SparkScan:
    """A scan of rows by Spark that tests several conditions.

    Keys and references are tested over the rows ``keyed``, values over those rows for which the SQL ``tested`` is true.
    ``tested_rows`` has the same rows as that filter, read at lower cost. ``offset`` is SQL for the order of the rows.
    """

    keyed: DataFrame
    tested_rows: DataFrame
    tested: str
    offset: str
    is_small: bool

    def test(self, conditions: Sequence[ConditionTest]) -> list[Found]:
        # Adaptive execution would start one more job for each shuffle. There is nothing to adapt: results have one row.
        with setting(self.keyed.sparkSession, "spark.sql.adaptive.enabled", "false"):
            found = self._test(dict(enumerate(conditions)))
        return [found[index] for index in range(len(conditions))]

    def failing(self, conditions: Mapping[str, Condition], column: str) -> DataFrame:
        frame, flags = _judged(self.keyed, dict(enumerate(conditions.values())), self.tested)
        names = (
            f"CASE WHEN {flag} THEN {text(name)} END" for flag, name in zip(flags.values(), conditions, strict=True)
        )
        marked = frame.selectExpr("*", f"array_compact(array({', '.join(names)})) AS {quoted(column)}")
        names_of_rows = map(quoted, self.keyed.columns)
        return marked.where(f"size({quoted(column)}) > 0").select(*names_of_rows, quoted(column))

    def _test(self, conditions: Mapping[int, ConditionTest]) -> dict[int, Found]:
        found: dict[int, Found] = {}
        keys: dict[tuple[Sql, ...], dict[int, ConditionTest]] = {}
        for index, tested in conditions.items():
            if isinstance(tested.condition, Key) and not self.is_small:
                keys.setdefault(tested.condition.columns, {})[index] = tested
        hashes = KeyHashes(self.keyed, keys)
        parts: list[ByRow | ByKey] = [*self._by_row(conditions)]
        parts += (ByKey(hashes, key, same, self.offset) for key, same in keys.items())
        try:
            for part in parts:
                try:
                    found |= part.test()
                except ERRORS as e:
                    if len(conditions) == 1:
                        return dict.fromkeys(conditions, (Failure(e), Samples()))
                    # Parts share the hashes of keys, so one that fails may be another's fault.
                    for index, tested in part.conditions.items():
                        found |= self._test({index: tested})
        finally:
            hashes.release()
        return found

    def _by_row(self, conditions: Mapping[int, ConditionTest]) -> Iterator[ByRow]:
        if self.is_small:
            yield ByRow(self.keyed, conditions, self.tested, self.offset)
            return
        rest = {index: t for index, t in conditions.items() if not isinstance(t.condition, Key)}
        is_one_frame = self.keyed is self.tested_rows
        far = {i: t for i, t in rest.items() if isinstance(t.condition, Reference | Aggregate) and not is_one_frame}
        if near := {index: t for index, t in rest.items() if index not in far}:
            yield ByRow(self.tested_rows, near, "true", self.offset)
        if far:
            yield ByRow(self.keyed, far, "true", self.offset)
