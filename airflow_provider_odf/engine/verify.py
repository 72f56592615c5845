"""Compare files of a dataset with their blocks in tasks of Spark, by the function that does it on one machine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

import pyarrow as pa
from pyspark.sql import SparkSession

from airflow_provider_odf.errors import StorageError
from airflow_provider_odf.protocol import FileFault, StoredFile, VerifyRequest, VerifySuccess
from airflow_provider_odf.records.stored_file import fault
from airflow_provider_odf.wording import counted

_TASK = 32 << 20
"""Bytes of the files of a task, unless one has more."""

_FAULTS = "number INT, fault STRING, refused STRING"
"""The number of a file, and what is wrong with it, or why it could not be read."""


def execute(spark: SparkSession, request: VerifyRequest, progress: Callable[[str], None]) -> VerifySuccess:
    """Return the faults of files.

    :raises StorageError: a file cannot be read.
    """
    tasks = _tasks(request.files)
    size = counted(sum(file.size for file in request.files), "byte")
    progress(f"comparing {counted(len(request.files), 'file')}, {size}, in {counted(len(tasks), 'task')} of Spark")
    numbers = spark.range(0, len(tasks), 1, len(tasks))
    rows = numbers.mapInArrow(partial(_faults, tasks, request.is_quick), _FAULTS).collect()
    for row in rows:
        if row["refused"] is not None:
            raise StorageError(row["refused"])
    return VerifySuccess(tuple(FileFault(row["number"], row["fault"]) for row in rows))


def _tasks(files: Sequence[StoredFile]) -> list[list[tuple[int, StoredFile]]]:
    """Return the files of each task with their numbers, in order."""
    tasks, room = [list[tuple[int, StoredFile]]()], _TASK
    for number, file in enumerate(files):
        if file.size > room and tasks[-1]:
            tasks.append([])
            room = _TASK
        tasks[-1].append((number, file))
        room -= file.size
    return tasks


def _faults(
    tasks: Sequence[Sequence[tuple[int, StoredFile]]], is_quick: bool, numbers: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """The task that compares files."""
    for task in (task for batch in numbers for task in batch.column(0).to_pylist()):
        for number, file in tasks[task]:
            found = refused = None
            try:
                found = fault(file, is_quick=is_quick)
            except StorageError as e:  # Spark does not pass exceptions to the driver as they are
                refused = str(e)
            if found or refused:
                row = {"number": [number], "fault": [found], "refused": [refused]}
                yield pa.RecordBatch.from_pydict(row, _SCHEMA)


_SCHEMA = pa.schema({"number": pa.int32(), "fault": pa.string(), "refused": pa.string()})
