"""The state of a dataset: its current rows, or only their keys, computed from the history.

The state cache is a directory of Parquet files and ``state.json``, and can be deleted. Later records are read from the
slices. A cache that is missing, incomplete or has other columns is not used. The coordinator checks the bytes of the
cache before the request.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame
from pyspark.sql import types as T  # noqa: N812

from airflow_provider_odf.engine.column_layout import Columns, Layout
from airflow_provider_odf.engine.spark_errors import storage_failure
from airflow_provider_odf.merge_strategies import StateNeeded
from airflow_provider_odf.protocol import DatasetVocabulary, HistorySlice, MergeRequest, MergeStrategy, StateCache
from airflow_provider_odf.records import files
from airflow_provider_odf.records.slice_file import count_changes, row_groups

MAX_SLICES = 16
"""Number of slices after a cache from which the cache is rewritten."""

MAX_CHANGED = 0.2
"""Ratio of records after a cache to its rows, above which a large cache is rewritten."""

_ABOUT = "state.json"
_FILE = "part-0.parquet"


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

    def with_slice(self, new: HistorySlice) -> History:
        return replace(self, slices=(*self.slices, new))

    def in_columns(self, new: Columns) -> History:
        """Return the history with the columns of later rows. Earlier files have null in new columns."""
        return replace(self, layout=new.layout, types=new.types)

    def is_worth_caching(self) -> bool:
        """Whether the cost of reading the history again justifies a new cache."""
        if not self.merge.traits.has_state or not self.slices:
            return False
        if len(self.slices) >= MAX_SLICES:
            return True
        rows = self.cache.rows if self.cache else 0
        return not self.has_only_keys and self.size > files.SMALL and self.records > MAX_CHANGED * rows


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


def save(
    history: History, directory: str, rows: Callable[[], Iterator[pa.Table] | DataFrame | None]
) -> StateCache | None:
    """Write the state after a history. ``rows`` computes its rows.

    Return None if the disk does not allow it: a missing cache is no failure.
    """
    target = Path(directory)
    try:
        shutil.rmtree(target, ignore_errors=True)
        if not _link(history, target):
            computed = rows()
            if computed is None:
                return None
            if isinstance(computed, DataFrame):
                computed.write.parquet(str(target))
            else:
                _write(computed, target)
        paths = sorted(target.glob("*.parquet"))
        about = {
            **_about(history),
            "lastOffset": history.last_offset,
            "rows": sum(pq.read_metadata(f).num_rows for f in paths),
            "files": {f.name: f.stat().st_size for f in paths},
        }
        (target / _ABOUT).write_text(json.dumps(about), encoding="utf-8")
    except Exception as e:
        shutil.rmtree(target, ignore_errors=True)
        if not isinstance(e, OSError) and storage_failure(e, "") is None:
            raise
        return None
    return StateCache(str(target), history.last_offset)


def _write(rows: Iterator[pa.Table], target: Path) -> None:
    target.mkdir(parents=True)
    first = next(rows)
    with pq.ParquetWriter(target / _FILE, first.schema) as writer:
        for table in row_groups(chain([first], rows)):
            writer.write_table(table)


def _link(history: History, target: Path) -> bool:
    """Link the only slice of a dataset as its state. Return False if that is not possible.

    The first slice of a merge has only +A and one row for each key.
    """
    is_first = history.cache is None and len(history.slices) == 1 and not history.slices[0].offset_interval.start
    if history.has_only_keys or not is_first:
        return False
    target.mkdir(parents=True)
    try:
        os.link(history.slices[0].path, target / _FILE)
    except OSError:
        target.rmdir()
        return False
    return True


def _open(cache: StateCache, history: History) -> Cache | None:
    """Return the cache if it is complete and has these columns, else None.

    The last columns may be missing, since datasets only gain columns.
    """
    directory = Path(cache.path)
    try:
        about = json.loads((directory / _ABOUT).read_text(encoding="utf-8"))
        paths = [directory / name for name in about["files"]]
        sizes = {f.name: f.stat().st_size for f in paths}
        rows = sum(pq.read_metadata(f).num_rows for f in paths)
    except (OSError, ValueError, KeyError, TypeError):
        return None
    expected = _about(history) | {"lastOffset": cache.last_offset, "rows": rows, "files": sizes}
    columns = about.get("columns")
    if about != expected | {"columns": columns} or not _starts_with(history.types, columns):
        return None
    return Cache(tuple(map(str, paths)), rows, sum(sizes.values()), cache.last_offset)


def _starts_with(types: T.StructType, columns: object) -> bool:
    return any(columns == T.StructType(types.fields[:count]).simpleString() for count in range(1, len(types) + 1))


def _about(history: History) -> dict[str, object]:
    columns = history.types.simpleString()
    return {"version": 1, "kind": history.merge.kind, "keys": list(history.layout.keys), "columns": columns}
