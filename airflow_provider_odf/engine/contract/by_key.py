"""Test conditions on keys over many rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from airflow_provider_odf.engine.contract.conditions import (
    Condition,
    Count,
    Failure,
    Key,
    Samples,
    Shown,
    count_of,
    first_rows,
    samples_of,
)
from airflow_provider_odf.engine.contract.key_hashes import KeyHashes

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
        measures = [sql for c, bad in self._bad().values() for sql in _measures_of_groups(c, bad)]
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
        keys = {index: replace(c, columns=self._names) for index, c in self.conditions.items() if isinstance(c, Key)}
        return {index: (key, key.bad("__rows")) for index, key in keys.items()}

    @property
    def _names(self) -> tuple[str, ...]:
        return tuple(f"__key_{i}" for i in range(len(self.keys.columns)))


def _measures_of_groups(key: Key, bad: str) -> Iterator[str]:
    """Yield SQL for the numbers of a `Count`, in the order of `count_of`."""
    yield "coalesce(sum(__rows), 0)"
    yield f"coalesce(sum(CASE WHEN {bad} THEN __rows END), 0)"
    yield f"count_if({bad})"
    yield f"count_if({key.complete})"
    yield f"coalesce(sum(CASE WHEN {key.complete} THEN __rows END), 0)"
