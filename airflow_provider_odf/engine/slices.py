"""Write records as slices in tasks of Spark, and fill their event times."""

from __future__ import annotations

import json
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, chain
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from airflow_provider_odf.engine.duplicates import DifferentRows
from airflow_provider_odf.engine.schema import quoted
from airflow_provider_odf.errors import InternalError, InvalidInput, InvalidQuery, StorageError
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.protocol import NewSlice, from_json, to_json
from airflow_provider_odf.records.schema import OP
from airflow_provider_odf.records.slice_file import SlicePlan, write_files

_KINDS: tuple[type[Exception], ...] = (InvalidQuery, InvalidInput, InternalError, StorageError)
_ERRORS = {kind.__name__: kind for kind in _KINDS}

PLACE = "odf:place"
"""Column of records from several tasks: their order among those with the same values before it."""

REMARK = "odf:remark"
"""Column of what a task has to say, as JSON, in rows that are no records: their operation is null.

An error and a number of dropped rows come first, since all other columns are null. Keys with different rows are among
the records.
"""


Written: TypeAlias = tuple[tuple[NewSlice, ...], int]
"""The slices of an input in the order of their offsets, and the number of rows that were dropped, as REMARK has it."""

_NUMBER = "odf:number"
"""Column with the number of a record's range, or of the task that gets it."""

_MAX_TASKS = 32
"""Maximum number of tasks that write. Spark compares each record with the ends of their ranges in one expression, whose
compilation takes seconds for so many; for ten times as many it takes minutes."""

_SAMPLE = 10_000
"""Sampled keys for two tasks are four times, for three nine times as many, so that the rows that two tasks get, since
the exact end of a slice lies among them, are a few percent of each."""

_MAX_SAMPLE = 1_000_000


def write_in_task(
    records: DataFrame, order: Sequence[str], plan: SlicePlan, slice_records: int = sys.maxsize
) -> Written:
    """Write records in one task of Spark, without collecting them.

    :raises InvalidQuery, InternalError, StorageError: as ``write_files`` does, or as REMARK has it.
    """
    return _written_in_task(records.selectExpr(*_filled_columns(records, plan)), order, plan, slice_records)


def write_in_tasks(records: DataFrame, order: Sequence[str], plan: SlicePlan, slice_records: int) -> Written:
    """Write the same slices as ``write_in_task`` in several tasks, as many slices in each.

    Offsets are in the files, so each task must know where its slices begin. The records are kept on the disks of the
    executors. A sample of them gives keys near the ends of the tasks' slices, and records between these are counted.
    Each task gets the records from a key before its slices to one after them, and leaves out those of its neighbors.

    :raises InvalidQuery, InternalError, StorageError: as ``write_files`` does, or as REMARK has it.
    """
    kept = records.selectExpr(*_filled_columns(records, plan)).persist(StorageLevel.DISK_ONLY)
    try:
        count, rows = kept.agg(F.count(quoted(OP)), F.count("*")).collect()[0]
        if count <= slice_records:
            return _written_in_task(kept, order, plan, slice_records)
        remarks = _Remarks(plan.label, [])
        if rows > count:
            deque(remarks.records(kept.where(f"{quoted(OP)} IS NULL").toArrow().to_batches()), maxlen=0)
        ranges = _Ranges.of(kept.where(f"{quoted(OP)} IS NOT NULL").drop(REMARK), order, count, slice_records)
        return ranges.write(order, plan, slice_records), remarks.dropped
    finally:
        kept.unpersist()


def _written_in_task(filled: DataFrame, order: Sequence[str], plan: SlicePlan, slice_records: int) -> Written:
    one = filled.repartition(1).sortWithinPartitions(*map(quoted, order))

    def task(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        remarks = _Remarks(plan.label, [])
        yield _answer(lambda: write_files(remarks.records(batches), plan, slice_records), remarks)

    for row in one.mapInArrow(task, _ANSWER).collect():
        return _outcome(json.loads(row[0]))
    return (), 0


@dataclass(frozen=True)
class _Ranges:
    """Records with the number of their range in the order, and for each task the ranges that it gets.

    ``starts`` has the number of records before each range, and at the end that of all records. Each task writes
    ``task_slices`` slices.
    """

    records: DataFrame
    starts: Sequence[int]
    tasks: Sequence[range]
    task_slices: int

    @classmethod
    def of(cls, records: DataFrame, order: Sequence[str], count: int, slice_records: int) -> _Ranges:
        """Return ranges that end just before and just after the end of each task's slices."""
        keys = [*map(quoted, order)]
        task_slices = -(-count // (slice_records * _MAX_TASKS))
        each = task_slices * slice_records
        ends = range(each, count, each)
        size = min(_SAMPLE * (len(ends) + 1) ** 2, _MAX_SAMPLE, count)
        sampled = records.select(keys).sample(size / count, 1).sort(*keys).toArrow()
        margin = int(2 * sampled.num_rows**0.5) + 1  # four standard deviations of a rank
        near = [end * sampled.num_rows // count + side for end in ends for side in (-margin, margin)]
        places = sorted({place for place in near if 0 <= place < sampled.num_rows})
        ranged = _with_range(records, keys, sampled.take(pa.array(places, pa.int64())))
        counts = {row[0]: row[1] for row in ranged.groupBy(_NUMBER).count().collect()}
        starts = [*accumulate((counts.get(number, 0) for number in range(len(places) + 1)), initial=0)]
        return cls(ranged, starts, [_ranges_of(starts, begin, begin + each) for begin in (0, *ends)], task_slices)

    def write(self, order: Sequence[str], plan: SlicePlan, slice_records: int) -> tuple[NewSlice, ...]:
        """Write the slices."""
        tasks_of = ([n for n, own in enumerate(self.tasks) if of in own] for of in range(len(self.starts) - 1))
        numbers = _array(_array(map(str, numbers)) for numbers in tasks_of)
        others = [quoted(name) for name in self.records.columns if name != _NUMBER]
        copies = self.records.selectExpr(*others, f"explode({numbers}[{quoted(_NUMBER)}]) AS {quoted(_NUMBER)}")
        task = partial(
            _write_own, [self.starts[own.start] for own in self.tasks], self.task_slices, plan, slice_records
        )
        sorted_copies = copies.repartitionById(len(self.tasks), quoted(_NUMBER)).sortWithinPartitions(
            *map(quoted, order)
        )
        answers = sorted((json.loads(row[0]) for row in sorted_copies.mapInArrow(task, _ANSWER).collect()), key=_number)
        written = tuple(new for answer in answers for new in _outcome(answer)[0])
        ends = [plan.next_offset - 1, *(new.offset_interval.end for new in written)]
        if any(new.offset_interval.start != end + 1 for new, end in zip(written, ends, strict=False)) or (
            ends[-1] - ends[0] != self.starts[-1]
        ):
            raise InternalError(f"{plan.label}: Spark read other records again than it had counted")
        return written


def _write_own(
    firsts: Sequence[int],
    task_slices: int,
    plan: SlicePlan,
    slice_records: int,
    batches: Iterable[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """The task that writes its slices of the records that it gets, which begin with record ``firsts[number]``."""
    rows = iter(batches)
    if (first := next(rows, None)) is None:
        return
    number = first[_NUMBER][0].as_py()
    tables = (pa.Table.from_batches([batch]).drop_columns([_NUMBER]) for batch in chain([first], rows))
    own = range(number * task_slices, (number + 1) * task_slices)
    yield _answer(lambda: write_files(tables, plan, slice_records, own, firsts[number]), number=number)


def _with_range(records: DataFrame, keys: Sequence[str], limits: pa.Table) -> DataFrame:
    """Return records with the number of limits up to them, found by halving."""

    def number(low: int, high: int) -> str:
        if low == high:
            return str(low)
        middle = (low + high) // 2
        return f"IF({own} < {_struct(limit(middle))}, {number(low, middle)}, {number(middle + 1, high)})"

    def limit(place: int) -> list[str]:
        return [f"`odf:limit {place} {part}`" for part in range(len(keys))]

    own = _struct(keys)
    columns = {
        name.strip("`"): limits.column(part).slice(place, 1)
        for place in range(limits.num_rows)
        for part, name in enumerate(limit(place))
    }
    row = records.sparkSession.createDataFrame(pa.table(columns or {"odf:limit": [0]}))
    others = [quoted(name) for name in records.columns]
    return records.crossJoin(F.broadcast(row)).selectExpr(*others, f"{number(0, limits.num_rows)} AS {quoted(_NUMBER)}")


def _struct(values: Iterable[str]) -> str:
    fields = (f"'{number}', {value}" for number, value in enumerate(values))
    return f"named_struct({', '.join(fields)})"


def _array(values: Iterable[str]) -> str:
    return f"array({', '.join(values)})"


def _ranges_of(starts: Sequence[int], begin: int, end: int) -> range:
    """Return the ranges that have the records from ``begin`` to ``end``, with one before and one after them, by which
    the task sees whether a correction crosses the end of a slice."""
    first = max(number for number, start in enumerate(starts[:-1]) if start < max(begin, 1))
    last = next((number for number, start in enumerate(starts[1:]) if start > end), len(starts) - 2)
    return range(first, last + 1)


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


_ANSWER = "answer STRING"


def _answer(
    write: Callable[[], tuple[NewSlice, ...]], remarks: _Remarks | None = None, number: int = 0
) -> pa.RecordBatch:
    """Write slices and return the result as JSON, because Spark does not pass exceptions to the driver as they are."""
    try:
        slices = write()
    except _KINDS as e:
        name = next(name for name, kind in _ERRORS.items() if isinstance(e, kind))
        answer: dict[str, object] = {"error": name, "message": str(e)}
    else:
        answer = {"slices": to_json(slices), "dropped": remarks.dropped if remarks else 0}
    return pa.RecordBatch.from_pydict({"answer": [json.dumps(answer | {"number": number})]})


def _number(answer: dict[str, Any]) -> int:
    return int(answer["number"])


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


def _outcome(answer: dict[str, Any]) -> Written:
    if "error" in answer:
        raise _ERRORS[answer["error"]](answer["message"])
    return tuple(from_json(NewSlice, new) for new in answer["slices"]), answer["dropped"]
