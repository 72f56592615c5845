"""Write the records that tasks of Spark make as slices, in parallel.

Such a task makes sorted runs of records in Arrow's format. Spark keeps and shuffles them as bytes, without a look into
them: as rows of its own they would take a multiple of the time. A sample of each run tells how to cut the order of all
records into ranges. A task that writes gets the pieces of its ranges, and sorts them range by range, so that its memory
is bounded by a few ranges.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, chain, groupby, pairwise
from operator import itemgetter
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark import StorageLevel, TaskContext
from pyspark.sql import DataFrame, SparkSession

from airflow_provider_odf.engine.arrow_tasks import Batches, in_tasks
from airflow_provider_odf.engine.duplicates import DifferentRows
from airflow_provider_odf.engine.slices import ANSWER, Written, answer, outcome
from airflow_provider_odf.engine.strategies.strategy import Records
from airflow_provider_odf.errors import InternalError, InvalidQuery
from airflow_provider_odf.protocol import NewSlice
from airflow_provider_odf.records import keys
from airflow_provider_odf.records.slice_file import SlicePlan, write_files
from airflow_provider_odf.records.sorted_runs import grouped

RUN = 16 << 20
"""Bytes of the records of a run, about."""

_STEP, _SAMPLES = 1024, 64
"""Maximum number of records of a run from one sampled key to the next one, and least number of keys."""

_GOLDEN = (5**0.5 - 1) / 2
"""Multiples of it are spread evenly over all fractions."""

_RANGE, _RANGE_BYTES, _MAX_RANGES = 131_072, 32 << 20, 1000
"""Records and bytes of a range, about, unless there would be too many ranges: their pieces should not be tiny."""

_MAX_TASKS = 250
"""Maximum number of tasks that write. Two of them get the records of the range in which the slices of one end."""

_RUNS = "number INT, rows BIGINT, size BIGINT, sample BINARY, run BINARY, remark STRING"
"""The number of a run in its task, of its records, and of their bytes; the keys of some of them; all of them.

A row with a remark has no run. The remark is JSON: an error, a number of dropped rows, or that rows of the same key
differ, whose keys are the sample.
"""

_PIECES = "task INT, range INT, number INT, piece BINARY"


@dataclass(frozen=True)
class Merged:
    """How tasks make records: ``records`` yields those of the rows of a task, each time in the order of the columns
    ``order``. Where these are equal, one task makes them, in order. ``plan`` is that of the first slice."""

    records: Callable[[Batches], Iterator[Records]]
    order: tuple[str, ...]
    plan: SlicePlan


def write_in_task(rows: DataFrame, merged: Merged, slice_records: int) -> Written:
    """Write the records of the rows of the only task.

    :raises InvalidQuery, InternalError, StorageError: as the records and ``write_files`` do.
    """
    for row in in_tasks(rows, partial(_write_all, merged, slice_records), ANSWER).collect():
        return outcome(json.loads(row[0]))
    return (), 0


def _write_all(merged: Merged, slice_records: int, batches: Batches) -> Iterator[pa.RecordBatch]:
    dropped = list[int]()

    def tables() -> Iterator[pa.Table]:
        for records in merged.records(batches):
            dropped.append(records.dropped)
            yield from records.tables

    yield answer(lambda: write_files(tables(), merged.plan, slice_records), lambda: sum(dropped))


def write_in_tasks(rows: DataFrame, merged: Merged, slice_records: int) -> Written:
    """Write the same slices in several tasks, as many slices in each, if there are several.

    Offsets are in the files, so each task must know where its slices begin. The runs are kept on the disks of the
    executors, and the records of each range are counted before they are written.

    :raises InvalidQuery, InternalError, StorageError: as ``write_in_task`` does.
    """
    runs = in_tasks(rows, partial(_runs, merged), _RUNS).persist(StorageLevel.DISK_ONLY)
    try:
        about = runs.drop("run").toArrow()
        dropped = _dropped(about.filter(pc.is_valid(about["remark"])), merged.plan.label)
        about = about.filter(pc.is_null(about["remark"]))
        if not about.num_rows:
            return (), dropped
        with _one_at_once(rows.sparkSession):
            return _Ranges.of(runs.where("remark IS NULL"), about, merged, slice_records).write(), dropped
    finally:
        runs.unpersist()


@contextmanager
def _one_at_once(spark: SparkSession) -> Iterator[None]:
    """Give each run to Python alone."""
    name = "spark.sql.execution.arrow.maxRecordsPerBatch"
    before = spark.conf.get(name)
    spark.conf.set(name, "1")
    try:
        yield
    finally:
        spark.conf.set(name, before or "")


def _runs(merged: Merged, batches: Batches) -> Iterator[pa.RecordBatch]:
    number, context = 0, TaskContext.get()
    task = context.partitionId() if context else 0
    try:
        for records in merged.records(batches):
            for run in _of_size(records.tables):
                step = max(1, min(_STEP, run.num_rows // _SAMPLES))
                # Tasks have about the same keys: each begins elsewhere, or their samples would meet at a few places.
                start = int(step * ((task + number) * _GOLDEN % 1))
                places = pa.array(range(start, run.num_rows, step), pa.int64())
                sample = run.select(list(merged.order)).take(places)
                yield _row(number=number, rows=run.num_rows, size=run.nbytes, sample=_bytes(sample), run=_bytes(run))
                number += 1
            if records.dropped:
                yield _row(remark=json.dumps({"dropped": records.dropped}))
    except DifferentRows as e:
        yield _row(sample=_bytes(e.keys), remark=json.dumps({"differ": True}))
    except InvalidQuery as e:
        yield _row(remark=json.dumps({"error": str(e)}))


def _of_size(tables: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """Yield the same records in tables of about RUN bytes."""
    for table in grouped(tables, RUN):
        rows = max(1, 2 * RUN * table.num_rows // max(table.nbytes, 1))
        for start in range(0, table.num_rows, rows):
            yield table.slice(start, rows)


def _row(**values: Any) -> pa.RecordBatch:
    row = dict.fromkeys(_FIELDS.names) | values
    return pa.RecordBatch.from_pylist([row], _FIELDS)


_FIELDS = pa.schema(
    {
        "number": pa.int32(),
        "rows": pa.int64(),
        "size": pa.int64(),
        "sample": pa.binary(),
        "run": pa.binary(),
        "remark": pa.string(),
    }
)


def _bytes(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as writer:
        writer.write_table(table)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def _tables(values: Iterable[pa.BinaryScalar]) -> Iterator[pa.Table]:
    for value in values:
        yield pa.ipc.open_stream(value.as_buffer()).read_all()


def _dropped(remarks: pa.Table, label: str) -> int:
    """Return the number of dropped rows.

    :raises InvalidQuery: a task had an error.
    """
    said = [json.loads(remark) for remark in remarks["remark"].to_pylist()]
    for remark in said:
        if "error" in remark:
            raise InvalidQuery(remark["error"])
    if differing := [*_tables(remarks["sample"].drop_null())]:
        raise DifferentRows(label, pa.concat_tables(differing))
    return sum(remark["dropped"] for remark in said)


@dataclass(frozen=True)
class _Ranges:
    """Runs, and the greatest key of each range but the last.

    ``starts`` has the number of records before each range, and at the end that of all records. Each task writes
    ``task_slices`` slices, from the records of its ranges.
    """

    runs: DataFrame
    merged: Merged
    limits: Sequence[tuple[Any, ...]]
    starts: Sequence[int]
    slice_records: int
    task_slices: int
    tasks: Sequence[range]

    @classmethod
    def of(cls, runs: DataFrame, about: pa.Table, merged: Merged, slice_records: int) -> _Ranges:
        count, size = pc.sum(about["rows"]).as_py(), pc.sum(about["size"]).as_py()
        ranges = min(max(count // min(_RANGE, slice_records), size // _RANGE_BYTES, 1), _MAX_RANGES)
        limits = _limits(about, merged.order, ranges)
        if count <= slice_records:
            return cls(runs, merged, limits, (0, count), slice_records, 1, [range(len(limits) + 1)])
        counted = runs.select("run").mapInArrow(partial(_counts, limits, merged.order), "counts ARRAY<BIGINT>")
        counts = [sum(numbers) for numbers in zip(*(row[0] for row in counted.collect()), strict=True)]
        starts = [*accumulate(counts, initial=0)]
        if starts[-1] != count:
            raise _read_again(merged)
        task_slices = -(-count // (slice_records * _MAX_TASKS))
        firsts = range(0, count, task_slices * slice_records)
        tasks = [_ranges_of(starts, first, first + firsts.step) for first in firsts]
        return cls(runs, merged, limits, starts, slice_records, task_slices, tasks)

    def write(self) -> tuple[NewSlice, ...]:
        """Write the slices."""
        tasks = [
            [task for task, own in enumerate(self.tasks) if number in own] for number in range(len(self.limits) + 1)
        ]
        split = partial(_split, self.limits, self.merged.order, tasks)
        pieces = self.runs.select("number", "run").mapInArrow(split, _PIECES)
        mine = pieces.repartitionById(len(self.tasks), "task").sortWithinPartitions("range", "number")
        firsts = [self.starts[own.start] for own in self.tasks] if len(self.tasks) > 1 else [0]
        write = partial(_write_own, self.merged, firsts, self.task_slices, self.slice_records)
        answers = sorted((json.loads(row[0]) for row in mine.mapInArrow(write, ANSWER).collect()), key=_number)
        written = tuple(new for one in answers for new in outcome(one)[0])
        ends = [self.merged.plan.next_offset - 1, *(new.offset_interval.end for new in written)]
        if any(new.offset_interval.start != end + 1 for new, end in zip(written, ends, strict=False)) or (
            ends[-1] - ends[0] != self.starts[-1]
        ):
            raise _read_again(self.merged)
        return written


def _limits(about: pa.Table, order: Sequence[str], ranges: int) -> list[tuple[Any, ...]]:
    """Return keys that cut the records into ranges of about as many bytes: each sampled key stands for a share of its
    run."""
    samples = [*_tables(about["sample"])]
    shares = [
        size / s.num_rows for size, s in zip(about["size"].to_pylist(), samples, strict=True) for _ in range(len(s))
    ]
    sample = pa.concat_tables(samples)
    places = keys.order(sample, order).to_pylist()
    up_to = [*accumulate(shares[place] for place in places)]
    ends = sorted({bisect_left(up_to, up_to[-1] * number / ranges) for number in range(1, ranges)})
    return [keys.key_at(sample, order, places[end]) for end in ends]


def _read_again(merged: Merged) -> InternalError:
    return InternalError(f"{merged.plan.label}: Spark read other records again than it had counted")


def _ranges_of(starts: Sequence[int], begin: int, end: int) -> range:
    """Return the ranges that have the records from ``begin`` to ``end``, with one before and one after them, by which
    the task sees whether a correction crosses the end of a slice."""
    first = max(number for number, start in enumerate(starts[:-1]) if start < max(begin, 1))
    last = next((number for number, start in enumerate(starts[1:]) if start > end), len(starts) - 2)
    return range(first, last + 1)


def _cuts(run: pa.Table, order: Sequence[str], limits: Sequence[tuple[Any, ...]]) -> list[int]:
    """Return the first place of each range in a run, and at the end its number of records."""
    cuts = [0]
    for limit in limits:
        cuts.append(keys.count_up_to(run, order, limit, cuts[-1]))
    return [*cuts, run.num_rows]


def _counts(limits: Sequence[tuple[Any, ...]], order: Sequence[str], batches: Batches) -> Iterator[pa.RecordBatch]:
    """The task that yields the number of records in each range."""
    counts = [0] * (len(limits) + 1)
    for batch in batches:
        for run in _tables(batch.column("run")):
            for number, (start, end) in enumerate(pairwise(_cuts(run, order, limits))):
                counts[number] += end - start
    yield pa.RecordBatch.from_pydict({"counts": pa.array([counts], pa.list_(pa.int64()))})


def _split(
    limits: Sequence[tuple[Any, ...]], order: Sequence[str], tasks: Sequence[Sequence[int]], batches: Batches
) -> Iterator[pa.RecordBatch]:
    """The task that yields the pieces of runs for the tasks that write them."""
    for batch in batches:
        for run_number, run in zip(batch.column("number").to_pylist(), _tables(batch.column("run")), strict=True):
            for number, (start, end) in enumerate(pairwise(_cuts(run, order, limits))):
                if end > start and tasks[number]:
                    piece = _bytes(run.slice(start, end - start))
                    count = len(tasks[number])
                    yield pa.RecordBatch.from_arrays(
                        [
                            pa.array(tasks[number], pa.int32()),
                            pa.array([number] * count, pa.int32()),
                            pa.array([run_number] * count, pa.int32()),
                            pa.array([piece] * count, pa.binary()),
                        ],
                        ["task", "range", "number", "piece"],
                    )


def _write_own(
    merged: Merged, firsts: Sequence[int], task_slices: int, slice_records: int, batches: Batches
) -> Iterator[pa.RecordBatch]:
    """The task that writes its slices of the pieces that it gets, which begin with record ``firsts[task]``."""
    pieces = (piece for batch in batches for piece in zip(*batch.columns, strict=True))
    if (first := next(pieces, None)) is None:
        return
    task = first[0].as_py()
    ranges = groupby(chain([first], pieces), key=lambda piece: piece[1].as_py())
    whole = (pa.concat_tables(_tables(piece[3] for piece in own)) for _, own in ranges)
    tables = (table.take(keys.order(table, merged.order)) for table in whole)
    own = range(task * task_slices, (task + 1) * task_slices)
    yield answer(lambda: write_files(tables, merged.plan, slice_records, own, firsts[task]), number=task)


_number = itemgetter("number")
