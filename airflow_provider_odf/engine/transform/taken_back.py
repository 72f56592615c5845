"""Check that each row that a new slice takes back is there.

A query that looks deterministic may still give another result for the same row in a later run: with another release of
Spark, or by a function that the engine takes for deterministic. Its derivative would then take back rows that it never
had. Records that come from a comparison with the present rows take back only these. All others are checked here.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING

import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import functions as F  # noqa: N812

from airflow_provider_odf.engine.schema import quoted
from airflow_provider_odf.engine.transform.inputs import History
from airflow_provider_odf.engine.transform.keyed import matching
from airflow_provider_odf.merge_strategies import PRESENT
from airflow_provider_odf.protocol import DatasetVocabulary, HistorySlice

if TYPE_CHECKING:
    from pyspark.sql import Row


def missing_row(own: History, new: HistorySlice) -> Row | None:
    """Return a row, as texts, that a new slice takes back although the derivative does not have it, else None.

    ``own`` is the history before the slice. Only the rows of it are read that have event times from the earliest to the
    latest of the rows taken back, and none if the slice takes none back.
    """
    if own.are_additions([new]):
        return None
    every, first = replace(own, slices=(*own.slices, new)), new.offset_interval.start
    offset, op, _, time = (quoted(name) for name in own.vocab.columns)
    columns = [*map(quoted, own.columns)]
    pairs = [(column, f"odf:taken{n}") for n, column in enumerate(columns)]
    taken = own.records([new]).where(f"{op} NOT IN {PRESENT}").select(*columns).toDF(*(name for _, name in pairs))
    between = every.records().where(F.expr(time).between(*map(F.lit, _bounds(new, own.vocab))))
    there = (
        f"sum(IF({op} IN {PRESENT}, 1, -1)) OVER "
        f"(PARTITION BY {', '.join(columns)} ORDER BY {offset} ROWS UNBOUNDED PRECEDING)"
    )
    counted = matching(between, taken, pairs).selectExpr("*", f"{there} AS `odf:there`")
    missing = counted.where(f"`odf:there` < 0 AND {offset} >= {first}")
    return missing.selectExpr(*(f"CAST({column} AS STRING) AS {column}" for column in columns)).first()


def _bounds(new: HistorySlice, vocab: DatasetVocabulary) -> tuple[date | None, date | None]:
    """Return the earliest and the latest event time of the rows that a slice takes back."""
    is_taken_back = ~pc.field(vocab.operation_type_column).isin(PRESENT)
    times = pq.read_table(new.path, columns=[vocab.event_time_column], filters=is_taken_back)
    bounds = pc.min_max(times[0])
    return bounds["min"].as_py(), bounds["max"].as_py()
