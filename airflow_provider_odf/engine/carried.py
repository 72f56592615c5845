"""A small state kept in memory between the inputs of one request, so that its history is read once."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from airflow_provider_odf.engine import state as states
from airflow_provider_odf.engine.state import Past
from airflow_provider_odf.engine.strategies import APPEND, CORRECT_TO

_ROW = "odf:row"


@dataclass(frozen=True)
class Carried:
    """The state after the last input: the known keys or the current rows, as ``past`` has them."""

    spark: SparkSession
    past: Past
    rows: pa.Table | None

    @classmethod
    def of(cls, spark: SparkSession, past: Past) -> Carried:
        frame = states.state(spark, past, small=True)
        return cls(spark, past, frame.toArrow() if frame is not None else None)

    def frame(self) -> DataFrame | None:
        """The state, None where nothing came before."""
        if self.rows is None:
            return None
        return self.spark.createDataFrame(self.rows, self.past.state_types()).coalesce(1)

    def after(self, path: str) -> Carried:
        """The state after a slice that was merged onto this one."""
        past, records = self.past, pq.read_table(path)
        current = _last(records, past) if past.kind != "Ledger" else records
        new = current.select(past.state_types().names)
        if self.rows is None:
            return replace(self, rows=new)
        kept = self.rows
        if past.kind != "Ledger":
            keys = list(past.layout.keys)
            numbered = kept.select(keys).append_column(_ROW, pa.array(range(kept.num_rows), pa.int64()))
            changed = records.select(keys).cast(pa.schema([kept.schema.field(k) for k in keys]))
            unchanged = numbered.join(changed, keys, join_type="left anti")
            kept = kept.take(unchanged[_ROW])
        return replace(self, rows=pa.concat_tables([kept, new.cast(kept.schema)]))


def _last(records: pa.Table, past: Past) -> pa.Table:
    """The records that leave a row behind: in a slice of Snapshot or UpsertStream at most one for each key."""
    op = records[past.vocab.operation_type_column]
    return records.filter(pc.is_in(op, pa.array([APPEND, CORRECT_TO], op.type)))
