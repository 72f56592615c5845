"""Write the records of a merge as a slice: the driver writes small results, a task of Spark writes large ones."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from pyspark.sql import DataFrame

from airflow_provider_odf.engine.schema import quoted
from airflow_provider_odf.errors import InternalError, InvalidQuery, StorageError
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.protocol import NewSlice, from_json, to_json
from airflow_provider_odf.records.slice_file import DuplicateKeys, SlicePlan, write_file

_ERRORS: dict[str, type[Exception]] = {
    kind.__name__: kind for kind in (InvalidQuery, InternalError, DuplicateKeys, StorageError)
}


def write_in_order(table: pa.Table, plan: SlicePlan) -> NewSlice | None:
    """Write records in memory with OP and the columns, in their order. Return None without records.

    :raises InvalidQuery, InternalError, StorageError: as ``write_file`` does.
    """
    return write_file(iter([table]), plan)


def write_in_task(records: DataFrame, order: Sequence[str], plan: SlicePlan) -> NewSlice | None:
    """Write records in one task of Spark, without collecting them.

    :raises InvalidQuery, DuplicateKeys, InternalError, StorageError: as ``write_file`` does.
    """
    filled = records.selectExpr(*_filled_columns(records, plan))
    one = filled.repartition(1).sortWithinPartitions(*(quoted(name) for name in order))

    def task(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield pa.RecordBatch.from_pydict({"answer": [_answer(batches, plan)]})

    for row in one.mapInArrow(task, "answer STRING").collect():
        return _slice_of(json.loads(row["answer"]))
    return None


def filled(table: pa.Table, plan: SlicePlan) -> pa.Table:
    """Return the records with the event time of the plan, if it has one, where they have none."""
    return fill_event_time(table, plan.schema, plan.event_time) if plan.event_time is not None else table


def fill_event_time(table: pa.Table, schema: pa.Schema, event_time: Instant) -> pa.Table:
    """Return the records with ``event_time`` where they have no event time; ``schema`` is the dataset's."""
    index = table.schema.get_field_index(schema.names[3])
    kind = schema.field(3).type
    time = event_time.floor_ms().to_datetime()
    value = pa.scalar(time.date() if pt.is_date(kind) else time, kind)
    return table.set_column(index, table.field(index).name, pc.fill_null(table.column(index).cast(kind), value))


def _filled_columns(records: DataFrame, plan: SlicePlan) -> list[str]:
    if plan.event_time is None:
        return [*map(quoted, records.columns)]
    time = quoted(plan.schema.names[3])
    value = f"timestamp_millis({plan.event_time.epoch_ns // 1_000_000})"
    if pt.is_date(plan.schema.field(3).type):
        value = f"CAST({value} AS DATE)"
    return [f"coalesce({c}, {value}) AS {c}" if c == time else c for c in map(quoted, records.columns)]


def _answer(batches: Iterable[pa.RecordBatch], plan: SlicePlan) -> str:
    """Write a slice and return the result as JSON, because Spark does not pass exceptions to the driver as they are."""
    try:
        slice_ = write_file((pa.Table.from_batches([batch]) for batch in batches), plan)
    except tuple(_ERRORS.values()) as e:
        return json.dumps({"error": type(e).__name__, "message": str(e)})
    return json.dumps({"slice": to_json(slice_)})


def _slice_of(answer: dict[str, Any]) -> NewSlice | None:
    if "error" in answer:
        raise _ERRORS[answer["error"]](answer["message"])
    return from_json(NewSlice, answer["slice"]) if answer["slice"] else None
