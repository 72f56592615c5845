"""The state of a dataset: its current rows, or only their keys, computed from the history.

The state cache is a directory of Parquet files and ``state.json``, and can be deleted. Later records are read from the
slices. A cache that is missing, incomplete or has other columns is not used. The names of the Parquet files are hashes
of their bytes. The coordinator checks the bytes of a cache on its disk before the request; those of a cache in an
object store are compared with their names when they are copied.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame
from pyspark.sql import types as T  # noqa: N812

from airflow_provider_odf import object_stores
from airflow_provider_odf.engine.arrow_tasks import in_tasks
from airflow_provider_odf.engine.column_layout import Columns, Layout
from airflow_provider_odf.engine.spark_errors import storage_failure
from airflow_provider_odf.errors import StorageError
from airflow_provider_odf.merge_strategies import CACHED_BYTES, CACHED_SLICES, StateNeeded
from airflow_provider_odf.protocol import (
    STATE_FILE,
    DatasetVocabulary,
    HistorySlice,
    MergeRequest,
    MergeStrategy,
    StateCache,
)
from airflow_provider_odf.records import files
from airflow_provider_odf.records import schema as schemas
from airflow_provider_odf.records.slice_file import HashedFile, count_changes, row_groups

MAX_CHANGED = 0.2
"""Ratio of records after a cache to its rows, above which a large cache is rewritten."""


@dataclass(frozen=True)
class Cache:
    """A complete cache: its Parquet files, its number of rows, its size in bytes and its last offset."""

    files: tuple[str, ...]
    rows: int
    size: int
    last_offset: int


@dataclass(frozen=True)
class History:
    """The source of a dataset's state: a cache and the slices after it, or all slices without a cache."""

    merge: MergeStrategy
    vocab: DatasetVocabulary
    layout: Layout
    types: T.StructType
    """Spark types of the layout's columns."""
    cache: Cache | None
    slices: tuple[HistorySlice, ...]
    has_one_input: bool = False
    """Whether all records are certainly of one input, so that they are its rows."""

    @property
    def paths(self) -> tuple[str, ...]:
        """Files of the cache and of the slices after it."""
        return (*(self.cache.files if self.cache else ()), *(s.path for s in self.slices))

    @property
    def records(self) -> int:
        """Number of records after the cache."""
        return sum(s.offset_interval.count for s in self.slices)

    @property
    def size(self) -> int:
        return (self.cache.size if self.cache else 0) + files.total_size(s.path for s in self.slices)

    @property
    def rows(self) -> int:
        """Number of rows of the state, from the operations of the slices."""
        operation = self.vocab.operation_type_column
        changes = (count_changes(files.read_parquet(s.path, [operation]).column(0)) for s in self.slices)
        return (self.cache.rows if self.cache else 0) + sum(change.added - change.removed for change in changes)

    @property
    def last_offset(self) -> int:
        return self.slices[-1].offset_interval.end if self.slices else self.cache.last_offset if self.cache else -1

    @property
    def has_only_keys(self) -> bool:
        """Whether the state has only the keys."""
        return self.merge.traits.state is StateNeeded.KEYS

    def with_slices(self, new: Sequence[HistorySlice]) -> History:
        """Return the history after the slices of one more input."""
        is_first = self.cache is None and not self.slices
        return replace(self, slices=(*self.slices, *new), has_one_input=is_first)

    def in_columns(self, new: Columns) -> History:
        """Return the history with the columns of later rows. Earlier files have null in new columns."""
        return replace(self, layout=new.layout, types=new.types)

    def is_worth_caching(self) -> bool:
        """Whether the cost of reading the history again justifies a new cache."""
        if not self.merge.traits.has_state or not self.slices:
            return False
        if len(self.slices) >= CACHED_SLICES:
            return True
        rows = self.cache.rows if self.cache else 0
        return not self.has_only_keys and self.size > CACHED_BYTES and self.records > MAX_CHANGED * rows


def history(request: MergeRequest, first: Columns) -> History:
    """Return a dataset's history: the cache, if it is valid and matches the slices, and the slices after it."""
    without = History(request.merge, request.vocab, first.layout, first.types, None, request.history)
    if not request.merge.traits.has_state:
        return replace(without, slices=())
    cache = _open(request.prev_state, without) if request.prev_state else None
    if cache is None or all(s.offset_interval.end != cache.last_offset for s in request.history):
        return without
    later = tuple(s for s in request.history if s.offset_interval.start > cache.last_offset)
    return replace(without, cache=cache, slices=later)


# --- the cache ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Part:
    """A Parquet file of a cache. The seal of the cache has its SHA-256."""

    name: str
    size: int
    rows: int
    sha256: str


class _PartFile(HashedFile):
    """A file that also computes its SHA-256."""

    def __init__(self, directory: str, unfinished: Path, file: BinaryIO) -> None:
        super().__init__(directory, unfinished, file)
        self.sha256 = hashlib.sha256()

    def _write(self, block: bytearray) -> None:
        self.sha256.update(block)
        super()._write(block)


def save(
    history: History, directory: str, rows: Callable[[], Iterator[pa.Table] | DataFrame | None]
) -> StateCache | None:
    """Write the state after a history to a directory, a path or the URI of a folder of an object store. ``rows``
    computes its rows; tasks of Spark write those that they compute.

    Return None if the disk or the object store does not allow it: a missing cache is no failure.
    """
    try:
        parts = _link(history, directory) or _write_all(rows(), history, directory)
        if not parts:
            return None
        about = {
            **_about(history),
            "lastOffset": history.last_offset,
            "files": {part.name: [part.size, part.rows, part.sha256] for part in parts},
        }
        _put(directory, json.dumps(about).encode())
    except Exception as e:
        if not object_stores.is_object(directory):
            shutil.rmtree(directory, ignore_errors=True)
        if not isinstance(e, OSError | StorageError) and storage_failure(e, "") is None:
            raise
        return None
    return StateCache(directory, history.last_offset)


def _write_all(rows: Iterator[pa.Table] | DataFrame | None, history: History, directory: str) -> list[_Part]:
    if not isinstance(rows, DataFrame):
        return list(_write(rows or iter(()), directory))
    types = _types(history)

    def task(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        tables = (pa.Table.from_batches([batch]).cast(types) for batch in batches)
        yield from (pa.RecordBatch.from_pylist([asdict(part)]) for part in _write(tables, directory))

    answers = in_tasks(rows, task, "name STRING, size BIGINT, rows BIGINT, sha256 STRING").collect()
    return [_Part(**answer.asDict()) for answer in answers]


def _write(tables: Iterator[pa.Table], directory: str) -> Iterator[_Part]:
    """Write rows to one file and yield it; yield nothing without rows."""
    groups, count = row_groups(tables), 0
    if (first := next(groups, None)) is None:
        return
    file = _PartFile.create(directory)
    try:
        with pq.ParquetWriter(file, first.schema) as writer:
            for table in chain([first], groups):
                writer.write_table(table)
                count += table.num_rows
        name = file.finish().rpartition("/")[2]
        yield _Part(name, file.size, count, file.sha256.hexdigest())
    finally:
        file.close()


def _types(history: History) -> pa.Schema:
    """Return the columns of a state in the types of the dataset."""
    kinds, layout = schemas.readable(history.layout.schema), history.layout
    names = layout.keys if history.has_only_keys else layout.columns
    return pa.schema([kinds.field(name).with_nullable(True) for name in names])


def _link(history: History, directory: str) -> list[_Part]:
    """Link the slices of a dataset's first input as its state. Return nothing if that is not possible.

    They have only +A, and one row for each key, in the order of the keys.
    """
    if history.has_only_keys or not history.has_one_input or object_stores.is_object(directory):
        return []
    parts = []
    try:
        Path(directory).mkdir(parents=True, exist_ok=True)
        for path in (Path(one.path) for one in history.slices):
            os.link(path, target := Path(directory, path.name))
            with target.open("rb") as file:
                sha256 = hashlib.file_digest(file, "sha256").hexdigest()
            parts.append(_Part(target.name, target.stat().st_size, pq.read_metadata(target).num_rows, sha256))
    except OSError:
        shutil.rmtree(directory, ignore_errors=True)
        return []
    return parts


def _put(directory: str, about: bytes) -> None:
    if object_stores.is_object(directory):
        object_stores.put(f"{directory}/{STATE_FILE}", about, len(about))
    else:
        Path(directory, STATE_FILE).write_bytes(about)


def _get(directory: str) -> bytes:
    if object_stores.is_object(directory):
        return b"".join(object_stores.chunks(f"{directory}/{STATE_FILE}"))
    return Path(directory, STATE_FILE).read_bytes()


def _open(cache: StateCache, history: History) -> Cache | None:
    """Return the cache if it is complete and has these columns, else None.

    The last columns may be missing, since datasets only gain columns.
    """
    try:
        about = json.loads(_get(cache.path))
        parts = [_Part(name, *facts) for name, facts in about["files"].items()]
        paths = [f"{cache.path}/{part.name}" for part in parts]
        is_whole = object_stores.is_object(cache.path) or all(map(_is_whole, map(Path, paths), parts))
    except (OSError, StorageError, ValueError, KeyError, TypeError, AttributeError):
        return None
    columns = about.get("columns")
    expected = _about(history) | {"lastOffset": cache.last_offset, "files": about["files"], "columns": columns}
    if not is_whole or about != expected or not _starts_with(history.types, columns):
        return None
    rows, size = sum(part.rows for part in parts), sum(part.size for part in parts)
    return Cache(tuple(paths), rows, size, cache.last_offset)


def _is_whole(path: Path, part: _Part) -> bool:
    """Whether a file on disk has the size and the rows of a part."""
    return path.stat().st_size == part.size and pq.read_metadata(path).num_rows == part.rows


def _starts_with(types: T.StructType, columns: object) -> bool:
    return any(columns == T.StructType(types.fields[:count]).simpleString() for count in range(1, len(types) + 1))


def _about(history: History) -> dict[str, object]:
    columns = history.types.simpleString()
    return {"version": 2, "kind": history.merge.kind, "keys": list(history.layout.keys), "columns": columns}
