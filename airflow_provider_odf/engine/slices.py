"""Write records as a slice in a task of Spark, and fill their event times."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from pyspark.sql import DataFrame

from airflow_provider_odf.engine.duplicates import DifferentRows
from airflow_provider_odf.engine.schema import quoted
from airflow_provider_odf.errors import InternalError, InvalidInput, InvalidQuery, StorageError
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.protocol import NewSlice, from_json, to_json
from airflow_provider_odf.records.schema import OP
from airflow_provider_odf.records.slice_file import SlicePlan, write_file

_KINDS: tuple[type[Exception], ...] = (InvalidQuery, InvalidInput, InternalError, StorageError)
_ERRORS = {kind.__name__: kind for kind in _KINDS}

PLACE = "odf:place"
"""Column of records from several tasks: their order among those with the same values before it."""

REMARK = "odf:remark"
"""Column of what a task has to say, as JSON, in rows that are no records: their operation is null.

An error and a number of dropped rows come first, since all other columns are null. Keys with different rows are among
the records.
"""


def write_in_task(records: DataFrame, order: Sequence[str], plan: SlicePlan) -> tuple[NewSlice | None, int]:
    """Write records in one task of Spark, without collecting them.

    Return the slice (None without records), and the number of rows that were dropped as REMARK has it.

    :raises InvalidQuery, InternalError, StorageError: as ``write_file`` does, or as REMARK has it.
    """
    filled = records.selectExpr(*_filled_columns(records, plan))
    one = filled.repartition(1).sortWithinPartitions(*(quoted(name) for name in order))

    def task(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield pa.RecordBatch.from_pydict({"answer": [_answer(batches, plan)]})

    for row in one.mapInArrow(task, "answer STRING").collect():
        return _outcome(json.loads(row["answer"]))
    return None, 0


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
    filled = f"IF({quoted(OP)} IS NULL, NULL, coalesce({time}, {value})) AS {time}"
    return [filled if c == time else c for c in map(quoted, records.columns)]


def _answer(batches: Iterable[pa.RecordBatch], plan: SlicePlan) -> str:
    """Write a slice and return the result as JSON, because Spark does not pass exceptions to the driver as they are."""
    try:
        remarks = _Remarks(plan.label, [])
        slice_ = write_file(remarks.records(batches), plan)
    except _KINDS as e:
        name = next(name for name, kind in _ERRORS.items() if isinstance(e, kind))
        return json.dumps({"error": name, "message": str(e)})
    return json.dumps({"slice": to_json(slice_), "dropped": remarks.dropped})


@dataclass
class _Remarks:
    """What tasks had to say."""

    label: str
    different: list[pa.Table]
    dropped: int = 0

    def records(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
        """Yield the rows that are records.

        :raises InvalidQuery: a task had an error.
        """
        for batch in batches:
            table = pa.Table.from_batches([batch])
            if REMARK in table.column_names:
                if table[OP].null_count:
                    self._read(table.filter(table[OP].is_null()))
                    table = table.filter(table[OP].is_valid())
                table = table.drop_columns([REMARK])
            if not self.different:
                yield table
        if self.different:
            raise DifferentRows(self.label, pa.concat_tables(self.different))

    def _read(self, rows: pa.Table) -> None:
        for place, text in enumerate(rows[REMARK].to_pylist()):
            remark = json.loads(text)
            if "error" in remark:
                raise InvalidQuery(remark["error"])
            self.dropped += remark.get("dropped", 0)
            if "keys" in remark:
                self.different.append(rows.slice(place, 1).select(remark["keys"]))


def _outcome(answer: dict[str, Any]) -> tuple[NewSlice | None, int]:
    if "error" in answer:
        raise _ERRORS[answer["error"]](answer["message"])
    return from_json(NewSlice, answer["slice"]) if answer["slice"] else None, answer["dropped"]
