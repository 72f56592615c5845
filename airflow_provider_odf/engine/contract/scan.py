"""Count the rows that fail each of several conditions, in as few Spark jobs as possible, and show some of them.

All conditions on rows and references are counted in one job over the rows. Small data count keys in the same job; large
data take one more job, with one shuffle, for each distinct set of key columns. Hashes of keys tell most of them apart
without a shuffle: rows with the same key have the same hash, so a hash that one row has is a unique key. Only the other
rows, the suspects, are grouped by their keys: those that share a hash, and those with a null in the key.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from airflow_provider_odf.engine import spark_internals
from airflow_provider_odf.engine.contract.conditions import (
    ERRORS,
    Aggregate,
    Condition,
    Count,
    Failure,
    Key,
    Reference,
    Samples,
    Shown,
    Values,
    complete,
    count_of,
    first_rows,
    group_columns,
    measures_of_groups,
    samples_of,
)
from airflow_provider_odf.engine.schema import quoted
from airflow_provider_odf.engine.session import setting
from airflow_provider_odf.engine.sql import text

_SHARE_OF_HEAP = 4
"""Data is hashed up to the driver's heap divided by this: a hash has 8 bytes, a row on disk rarely less than 20."""

_MOST_REPEATED = 1000
"""Maximum number of repeated hashes that a filter selects."""


@dataclass(frozen=True)
class KeyHashes:
    """The hashes of the key that some columns, given as SQL, are in the rows of a frame."""

    frame: DataFrame
    columns: tuple[str, ...]

    @property
    def single(self) -> int:
        """The number of rows that are alone with their hash."""
        return self._counts[0]

    @cached_property
    def suspects(self) -> DataFrame | None:
        """All other rows; None if there are none."""
        single, repeated, nulls = self._counts
        if single == 0:
            return self.frame
        if not repeated and not nulls:
            return None
        conditions = [f"NOT ({complete(self.columns)})"] if nulls else []
        conditions += [f"{self._hash} IN ({', '.join(f'{value}L' for value in repeated)})"] if repeated else []
        return self.frame.where(" OR ".join(conditions))

    @property
    def _hash(self) -> str:
        return f"xxhash64({', '.join(self.columns)})"

    @cached_property
    def _counts(self) -> tuple[int, Sequence[int], int]:
        """The number of single hashes, the repeated hashes, and the number of keys with nulls. With too many of them,
        no row counts as single."""
        is_remote = spark_internals.is_remote(self.frame.sparkSession)
        if is_remote or spark_internals.size_in_bytes(self.frame) > spark_internals.heap_bytes() // _SHARE_OF_HEAP:
            return 0, (), 0
        hashed = self.frame.selectExpr(f"CASE WHEN {complete(self.columns)} THEN {self._hash} END AS hash").toArrow()
        hashes = hashed.column("hash")
        values, counts = pc.value_counts(hashes.drop_null()).flatten()
        repeated = values.filter(pc.greater(counts, pa.scalar(1, counts.type))).to_pylist()
        return (
            (0, (), 0) if len(repeated) > _MOST_REPEATED else (len(values) - len(repeated), repeated, hashes.null_count)
        )


_MOST_KEYS = 20


@dataclass(frozen=True)
class ByKey:
    """The test of conditions on the same columns. Rows that may fail are grouped by key."""

    keys: KeyHashes
    conditions: Mapping[int, Condition]

    def counts(self) -> dict[int, Count | Failure]:
        single, suspects = self.keys.single, self.keys.suspects
        if suspects is None:
            return dict.fromkeys(self.conditions, Count(single, 0, keys=single, complete=single))
        measures = [sql for c, bad in self._bad().values() for sql in measures_of_groups(c, bad)]
        row = self._groups(suspects).selectExpr(*(f"{sql} AS c{i}" for i, sql in enumerate(measures))).collect()[0]
        values = iter(row)
        counts = {index: count_of(c, values) for index, (c, _) in self._bad().items()}
        return {
            index: replace(c, rows=c.rows + single, keys=c.keys + single, complete=c.complete + single)
            for index, c in counts.items()
        }

    def samples(self, shown: Mapping[int, Shown], offset: str) -> dict[int, Samples]:
        suspects = self.keys.suspects
        if suspects is None:
            return dict.fromkeys(self.conditions, Samples())
        samples = {}
        for index, (_, bad) in self._bad().items():
            # Keys first: collecting rows for every key would take minutes for a million of them.
            groups = self._groups(suspects, f"min({offset})").where(bad)
            keys = groups.orderBy("m0").limit(_MOST_KEYS).select(*self._names)
            same = " AND ".join(f"{c} <=> {name}" for c, name in zip(self.keys.columns, self._names, strict=True))
            rows = suspects.join(F.broadcast(keys), F.expr(same), "left_semi")
            measures = (f"{sql} AS s{i}" for i, sql in enumerate(first_rows(shown[index], offset)))
            samples[index] = samples_of(rows.selectExpr(*measures).collect())
        return samples

    def _groups(self, rows: DataFrame, *measures: str) -> DataFrame:
        """Return one row per key: its number of rows as ``__rows``, its measures as ``m0`` and so on."""
        by = (F.expr(column).alias(name) for column, name in zip(self.keys.columns, self._names, strict=True))
        measured = [F.expr("count(1) AS __rows"), *(F.expr(f"{m} AS m{i}") for i, m in enumerate(measures))]
        return rows.groupBy(*by).agg(*measured)

    def _bad(self) -> dict[int, tuple[Key, str]]:
        """Return each condition on the columns of the groups, and SQL for its failing groups."""
        keys = {index: c.of_groups for index, c in self.conditions.items() if isinstance(c, Key)}
        return {index: (key, key.bad("__rows")) for index, key in keys.items()}

    @property
    def _names(self) -> tuple[str, ...]:
        return group_columns(self.keys.columns)


@dataclass(frozen=True)
class ByRow:
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
        return {index: count_of(c, values) for index, c in self.conditions.items()}

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

    def samples(self, shown: Mapping[int, Shown], offset: str) -> dict[int, Samples]:
        frame, flags = self.judged()
        measures = [
            sql for index, flag in flags.items() for sql in first_rows(shown[index], offset, f"FILTER (WHERE {flag})")
        ]
        # Aggregates that keep several rows are slow: they only get failing rows.
        failing = frame.where(" OR ".join(f"({flag})" for flag in flags.values()))
        row = failing.selectExpr(*(f"{sql} AS s{i}" for i, sql in enumerate(measures))).collect()[0]
        return {index: samples_of([row[2 * i : 2 * i + 2]]) for i, index in enumerate(flags)}

    def judged(self) -> tuple[DataFrame, dict[int, str]]:
        """Return a frame with the rows, and SQL for the failing ones of each condition."""
        frame, windows, flags = self.frame, list[str](), dict[int, str]()
        for index, c in self.conditions.items():
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
                parts = [part for part in (self.tested, c.about) if part != "true"]
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
    _hashes: dict[tuple[str, ...], KeyHashes] = field(default_factory=dict, init=False, repr=False)

    def counts(self, conditions: Sequence[Condition]) -> list[Count | Failure]:
        counts: dict[int, Count | Failure] = {}
        # Adaptive execution would start one more job for each shuffle. There is nothing to adapt: results have one row.
        with setting(self.keyed.sparkSession, "spark.sql.adaptive.enabled", "false"):
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
        shown = {index: show for index, (_, show) in enumerate(conditions)}
        samples: dict[int, Samples] = {}
        for part in self._passes({index: condition for index, (condition, _) in enumerate(conditions)}):
            samples |= part.samples(shown, self.offset)
        return [samples[index] for index in range(len(conditions))]

    def failing(self, conditions: Mapping[str, Condition], column: str) -> DataFrame:
        numbered = dict(enumerate(conditions.values()))
        frame, flags = ByRow(self.keyed, numbered, self.tested).judged()
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

    def _passes(self, conditions: Mapping[int, Condition]) -> Iterator[ByRow | ByKey]:
        if self.is_small:
            yield ByRow(self.keyed, conditions, self.tested)
            return
        keys: dict[tuple[str, ...], dict[int, Condition]] = {}
        for index, condition in conditions.items():
            if isinstance(condition, Key):
                keys.setdefault(condition.columns, {})[index] = condition
        rest = {index: c for index, c in conditions.items() if not isinstance(c, Key)}
        far = {index: c for index, c in rest.items() if isinstance(c, Reference | Aggregate) and not self._is_one_frame}
        if near := {index: c for index, c in rest.items() if index not in far}:
            yield ByRow(self.tested_rows, near, "true")
        if far:
            yield ByRow(self.keyed, far, "true")
        for columns, same in keys.items():
            yield ByKey(self._hashes.setdefault(columns, KeyHashes(self.keyed, columns)), same)

    @property
    def _is_one_frame(self) -> bool:
        return self.keyed is self.tested_rows
