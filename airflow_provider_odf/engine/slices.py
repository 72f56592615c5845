"""Write records as slices in tasks of Spark, and fill their event times."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from pyspark.sql import DataFrame

from airflow_provider_odf.engine.arrow_tasks import in_tasks
from airflow_provider_odf.engine.schema import quoted
from airflow_provider_odf.errors import InternalError, InvalidInput, InvalidQuery, StorageError
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.protocol import NewSlice, from_json, to_json
from airflow_provider_odf.records.schema import OP
from airflow_provider_odf.records.slice_file import SlicePlan, write_files

_KINDS: tuple[type[Exception], ...] = (InvalidQuery, InvalidInput, InternalError, StorageError)
_ERRORS = {kind.__name__: kind for kind in _KINDS}

Written: TypeAlias = tuple[tuple[NewSlice, ...], int]
"""The slices of an input in the order of their offsets, and the number of rows that were dropped."""

ANSWER = "answer STRING"
"""Types of what a task that writes yields, see ``outcome``."""


def write_in_task(records: DataFrame, order: Sequence[str], plan: SlicePlan) -> NewSlice | None:
    """Write records in one task of Spark, without collecting them. Return None without records.

    :raises InvalidQuery, InternalError, StorageError: as ``write_files`` does.
    """
    # Columns that only sort the records are not sent to Python.
    written = map(quoted, (OP, *plan.columns()))
    one = records.repartition(1).sortWithinPartitions(*map(quoted, order)).select(*written)

    def task(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        tables = (pa.Table.from_batches([batch]) for batch in batches)
        yield answer(lambda: write_files(tables, plan, sys.maxsize))

    for row in in_tasks(one, task, ANSWER).collect():
        return next(iter(outcome(json.loads(row[0]))[0]), None)
    return None


def fill_event_time(table: pa.Table, schema: pa.Schema, event_time: Instant) -> pa.Table:
    """Return the records with ``event_time`` where they have no event time; ``schema`` is the dataset's."""
    index = table.schema.get_field_index(schema.names[3])
    kind = schema.field(3).type
    time = event_time.floor_ms().to_datetime()
    value = pa.scalar(time.date() if pt.is_date(kind) else time, kind)
    return table.set_column(index, table.field(index).name, pc.fill_null(table.column(index).cast(kind), value))


def answer(
    write: Callable[[], tuple[NewSlice, ...]], dropped: Callable[[], int] = lambda: 0, number: int = 0
) -> pa.RecordBatch:
    """Write slices and return the result as JSON, because Spark does not pass exceptions to the driver as they are.

    ``dropped`` is called when the slices are written. ``number`` is that of the task.
    """
    try:
        slices = write()
    except _KINDS as e:
        name = next(name for name, kind in _ERRORS.items() if isinstance(e, kind))
        result: dict[str, object] = {"error": name, "message": str(e)}
    else:
        result = {"slices": to_json(slices), "dropped": dropped()}
    return pa.RecordBatch.from_pydict({"answer": [json.dumps(result | {"number": number})]})


def outcome(answer: dict[str, Any]) -> Written:
    """Return what a task answered.

    :raises InvalidQuery, InvalidInput, InternalError, StorageError: its error.
    """
    if "error" in answer:
        raise _ERRORS[answer["error"]](answer["message"])
    return tuple(from_json(NewSlice, new) for new in answer["slices"]), answer["dropped"]
