"""Count the rows that fail each of several conditions, in as few Spark jobs as possible, and show some of them.

All conditions on rows and references are counted in one job over the rows. Small data count keys in the same job; large
data take one more job, with one shuffle, for each distinct set of key columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pyspark.sql import DataFrame

from airflow_provider_odf.engine.contract.by_key import ByKey
from airflow_provider_odf.engine.contract.by_row import ByRow
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
)
from airflow_provider_odf.engine.contract.key_hashes import KeyHashes
from airflow_provider_odf.engine.schema import quoted
from airflow_provider_odf.engine.session import setting
from airflow_provider_odf.engine.sql import text


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
    _hashes: dict[tuple[str, ...], KeyHashes] = field(default_factory=dict, init=False, repr=False)

    def counts(self, conditions: Sequence[Condition]) -> list[Count | Failure]:
        """Return the numbers of tested and failing rows of each condition, or its failure."""
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
        """Return failing rows of each condition."""
        shown = {index: show for index, (_, show) in enumerate(conditions)}
        samples: dict[int, Samples] = {}
        for part in self._passes({index: condition for index, (condition, _) in enumerate(conditions)}):
            samples |= part.samples(shown, self.offset)
        return [samples[index] for index in range(len(conditions))]

    def failing(self, conditions: Mapping[str, Condition], column: str) -> DataFrame:
        """Return the rows that fail conditions. The column of the name has an array with the names of these."""
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
