"""Test conditions row by row, in one pass."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from airflow_provider_odf.engine.contract.conditions import (
    Aggregate,
    Condition,
    Count,
    Failure,
    Key,
    Reference,
    Samples,
    Shown,
    Values,
    count_of,
    first_rows,
    samples_of,
)
from airflow_provider_odf.engine.schema import quoted


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
