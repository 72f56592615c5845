"""One slice as a Parquet file, named by its physical hash: check the records, number them, hash and write them.

See "Columns", "Physical hash" and "Logical hash" of the on-disk format. Both hashes are computed while the file is
written: the hashes, the encoding and the caller, who makes the next records, run in threads side by side. The file gets
its name when it is complete and on disk, or is uploaded then. Memory is bounded by a few row groups.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import hashlib
import io
import os
import tempfile
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, BinaryIO, Self

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from airflow_provider_odf import closed_files, multiformats, object_stores
from airflow_provider_odf.closed_files import make_folders
from airflow_provider_odf.error_conversion import storage_errors
from airflow_provider_odf.errors import InvalidQuery
from airflow_provider_odf.fsync import fsync
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.merge_strategies import APPEND, CORRECT_FROM, CORRECT_TO, OPERATIONS_TEXT, PRESENT, RETRACT
from airflow_provider_odf.protocol import Changes, NewSlice, OffsetInterval
from airflow_provider_odf.records import schema as schemas
from airflow_provider_odf.records.logical_hash import LogicalHasher
from airflow_provider_odf.records.schema import OP
from airflow_provider_odf.records.threads import Stage
from airflow_provider_odf.wording import counted

ROW_GROUP = 131_072
ROW_GROUP_BYTES = 64 * 1024 * 1024
_HASHED_ROWS = 65_536
_PENDING_GROUPS = 2


@dataclass(frozen=True)
class SlicePlan:
    """Directory, schema and times of a slice to write.

    ``directory`` is a path, or the URI of a folder of an object store. ``schema`` is the dataset's. ``event_time`` is
    the event time of records without one; if it is None, all must have one. ``keys`` must not be null in new rows.
    ``label`` is the name of the input in messages, ``advice`` follows that on a null in a required column. Without
    ``has_pairs``, corrections may be incomplete.
    """

    directory: str
    schema: pa.Schema
    system_time: Instant
    event_time: Instant | None
    next_offset: int
    keys: tuple[str, ...]
    label: str
    advice: str = ""
    has_pairs: bool = True

    def columns(self) -> list[str]:
        return list(self.schema.names[3:])


def write_file(tables: Iterator[pa.Table], plan: SlicePlan) -> NewSlice | None:
    """Write the records, in the order of their offsets, and return the slice. Return None without records.

    :raises InvalidQuery: a null in a key or in a required column, an unknown operation, or half a correction.
    :raises StorageError: the file could not be written.
    """
    writer: _SliceWriter | None = None
    try:
        for table in row_groups(tables):
            with storage_errors(local_folder(plan.directory)):
                writer = writer or _SliceWriter(plan)
                writer.add(table)
        with storage_errors(local_folder(plan.directory)):
            return writer.finish() if writer else None
    finally:
        if writer:
            writer.discard()


def write_files(
    tables: Iterator[pa.Table], plan: SlicePlan, slice_records: int, only: range | None = None, first: int = 0
) -> tuple[NewSlice, ...]:
    """Write the records, in the order of their offsets, to slices of some records each, and return them in order.

    Where a slice ends follows from the records alone: after each ``slice_records`` of them, or one later if that would
    part -C and its +C.

    :param only: numbers of the slices to write, from 0; None: all.
    :param first: number of the first record in the tables: 0, or one before the first slice to write.
    :raises InvalidQuery, StorageError: as ``write_file`` does.
    """
    written, offset = list[NewSlice](), plan.next_offset + first
    for number, numbered in groupby(_numbered(tables, slice_records, first), itemgetter(0)):
        own = (table for _, table in numbered)
        if only is not None and number >= only.stop:
            break
        if only is not None and number < only.start:
            offset += sum(table.num_rows for table in own)
        elif new := write_file(own, replace(plan, next_offset=offset)):
            written.append(new)
            offset = new.offset_interval.end + 1
    return tuple(written)


def _numbered(tables: Iterator[pa.Table], slice_records: int, first: int = 0) -> Iterator[tuple[int, pa.Table]]:
    """Yield the same rows, in tables of one slice each, with the number of the slice."""
    number, done, last = first // slice_records, first, APPEND
    for table in tables:
        while table.num_rows:
            room = (number + 1) * slice_records - done
            if room <= 0 and last != CORRECT_FROM:
                number += 1
                continue
            part = table.slice(0, max(room, 1))
            yield number, part
            table, done, last = table.slice(part.num_rows), done + part.num_rows, part[OP][-1].as_py()
            number += room <= 0


def row_groups(tables: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """Yield the same rows in contiguous tables, one per row group."""
    kept, rows, size = list[pa.Table](), 0, 0
    for table in tables:
        kept.append(table)
        rows, size = rows + table.num_rows, size + table.nbytes
        while rows >= ROW_GROUP or size >= ROW_GROUP_BYTES:
            whole = pa.concat_tables(kept)
            yield whole.slice(0, ROW_GROUP).combine_chunks()
            kept = [whole.slice(ROW_GROUP)]
            rows, size = kept[0].num_rows, kept[0].nbytes
    if rows:
        yield pa.concat_tables(kept).combine_chunks()


class _SliceWriter:
    """Checks records, numbers them and writes them to a file, which ``finish`` completes."""

    def __init__(self, plan: SlicePlan) -> None:
        self._plan, self._written = plan, schemas.plain(plan.schema)
        self._hasher = LogicalHasher(self._written)
        self._file = HashedFile.create(plan.directory)
        self._parquet = pq.ParquetWriter(
            self._file,
            self._written,
            compression="snappy",
            use_dictionary=self._written.names[1:3],
            store_schema=False,
        )
        self._logical, self._encoded = Stage("logical-hash", _PENDING_GROUPS), Stage("parquet", _PENDING_GROUPS)
        self._rows, self._last_op = 0, APPEND
        self._changes = Changes()
        self._newest: dt.datetime | dt.date | None = None

    def add(self, records: pa.Table) -> None:
        """Add records in the order of their offsets, with OP and the columns."""
        self._check(records)
        start = self._plan.next_offset + self._rows
        system_time = pa.scalar(self._plan.system_time.floor_ms().to_datetime(), schemas.MILLISECONDS)
        columns = [
            pa.array(range(start, start + records.num_rows), pa.int64()),
            records[OP],
            pa.repeat(system_time, records.num_rows),
            *(records[name] for name in self._plan.columns()),
        ]
        table = pa.table(columns, names=self._written.names).cast(self._written)
        self._logical.run(self._hash, table)
        self._encoded.run(self._parquet.write_table, table, row_group_size=ROW_GROUP)
        self._rows += table.num_rows
        self._changes += count_changes(records[OP])
        newest = pc.max(table[3]).as_py()
        self._newest = newest if self._newest is None else max(self._newest, newest)

    def _hash(self, table: pa.Table) -> None:
        for batch in table.to_batches(max_chunksize=_HASHED_ROWS):
            self._hasher.update(batch)

    def finish(self) -> NewSlice:
        if self._plan.has_pairs and self._last_op == CORRECT_FROM:
            raise InvalidQuery(_half_correction(self._plan.label))
        self._logical.finish()
        self._encoded.finish()
        self._parquet.close()
        path = self._file.finish()
        return NewSlice(
            path=path,
            physical_hash=path.rpartition("/")[2],
            logical_hash=self._hasher.text(),
            size=self._file.size,
            offset_interval=OffsetInterval(self._plan.next_offset, self._plan.next_offset + self._rows - 1),
            newest_event_time=_rfc3339(self._newest),
            changes=self._changes,
        )

    def discard(self) -> None:
        """Delete an unfinished slice."""
        for stage in (self._logical, self._encoded):
            stage.cancel()
        for file in (self._parquet, self._file):
            with contextlib.suppress(OSError):
                file.close()

    def _check(self, records: pa.Table) -> None:
        ops, label = records[OP].combine_chunks(), self._plan.label
        is_new = pc.is_in(ops, pa.array(PRESENT, ops.type))
        for name in self._plan.columns():
            is_key = name in self._plan.keys
            if records[name].null_count and (is_key or not self._plan.schema.field(name).nullable):
                nulls = pc.and_(is_new, pc.is_null(records[name])) if is_key else pc.is_null(records[name])
                refuse_nulls(records.filter(nulls), name, label, None if is_key else self._plan.advice)
        if not 0 <= (pc.min(ops).as_py() or 0) <= (pc.max(ops).as_py() or 0) <= CORRECT_TO:
            raise InvalidQuery(f"{label}: an operation is not one of {OPERATIONS_TEXT}")
        if self._plan.has_pairs:
            self._check_pairs(ops, label)

    def _check_pairs(self, ops: pa.Array, label: str) -> None:
        before = pa.concat_arrays([pa.array([self._last_op], ops.type), ops[:-1]])
        paired = pc.equal(pc.equal(before, CORRECT_FROM), pc.equal(ops, CORRECT_TO))
        if not pc.all(paired).as_py():
            raise InvalidQuery(_half_correction(label))
        self._last_op = ops[-1].as_py()


def count_changes(ops: pa.ChunkedArray) -> Changes:
    """Return the numbers of rows that records with these operations change."""
    counts = {entry["values"]: entry["counts"] for entry in pc.value_counts(ops).to_pylist()}
    return Changes(*(counts.get(code, 0) for code in (APPEND, RETRACT, CORRECT_TO)))


def _half_correction(label: str) -> str:
    return f"{label}: a correction needs both -C and +C, with the same key and in the same input"


def refuse_nulls(rows: pa.Table, name: str, label: str, advice: str | None = None) -> None:
    """Refuse rows with a null in a required column, or in a column of the key if there is no ``advice``.

    :raises InvalidQuery: there are such rows.
    """
    if not rows.num_rows:
        return
    row = ", ".join(f"{k}={v}" for k, v in rows.slice(0, 1).to_pylist()[0].items() if not k.startswith("odf:"))
    what = f"column {name}, which is NOT NULL in the dataset,"
    if advice is None:
        what = f"the primary key column {name}"
        advice = "; filter such rows out in preprocess, or choose a key that every row has"
    raise InvalidQuery(f"{label}: {what} is null in {counted(rows.num_rows, 'row')}, such as ({row[:300]}){advice}")


def _rfc3339(newest: dt.datetime | dt.date | None) -> str | None:
    if newest is None:
        return None
    if not isinstance(newest, dt.datetime):
        newest = dt.datetime.combine(newest, dt.time(), dt.UTC)
    return str(Instant.from_datetime(newest))


_BLOCK = 1 << 20
"""Bytes that are hashed and written in one call."""

_PENDING_BLOCKS = 16

_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC


def local_folder(directory: str) -> Path:
    """Return the folder of this machine for files on their way to a directory: the directory itself, or one for
    temporary files where it lies in an object store."""
    if not object_stores.is_object(directory):
        return Path(directory)
    # In a task, Spark removes it with the executor.
    return Path(os.environ.get("SPARK_LOCAL_DIRS", "").partition(",")[0] or tempfile.gettempdir())


class HashedFile(io.RawIOBase):
    """A new file that gets the hash of its content as its name. A thread hashes and writes."""

    def __init__(self, directory: str, unfinished: Path, file: BinaryIO) -> None:
        self._directory, self._unfinished, self._file = directory, unfinished, file
        self._hash = hashlib.sha3_256()
        self._stage = Stage("physical-hash", _PENDING_BLOCKS)
        self._block = bytearray()
        self.size = 0

    @classmethod
    def create(cls, directory: str) -> Self:
        """Return a new file.

        :param directory: a path, or the URI of a folder of an object store, to which the complete file is uploaded.
        :raises OSError: it cannot be created.
        """
        folder = local_folder(directory)
        make_folders(folder)
        unfinished = folder / f".{uuid.uuid4().hex}.unfinished"
        file = os.fdopen(os.open(unfinished, _NEW, closed_files.FILE), "w+b")
        if object_stores.is_object(directory):
            unfinished.unlink()  # nobody else would, if this process is killed
        return cls(directory, unfinished, file)

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        view = memoryview(data)
        # A copy: the caller uses its buffer again.
        self._block += view
        if len(self._block) >= _BLOCK:
            self._next_block()
        self.size += view.nbytes
        return view.nbytes

    def _next_block(self) -> None:
        block, self._block = self._block, bytearray()
        self._stage.run(self._write, block)

    def _write(self, block: bytearray) -> None:
        self._hash.update(block)
        self._file.write(block)

    def finish(self) -> str:
        """Complete the file under its name, a multihash text, and return its path or URI."""
        self._next_block()
        self._stage.finish()
        self._file.flush()
        name = multiformats.multihash(multiformats.SHA3_256, self._hash.digest())
        if object_stores.is_object(self._directory):
            self._file.seek(0)
            object_stores.put(uri := f"{self._directory}/{name}", self._file, self.size)
            return uri
        os.fsync(self._file.fileno())
        path = self._unfinished.with_name(name)
        os.replace(self._unfinished, path)
        fsync(path.parent)
        return str(path)

    def close(self) -> None:
        """Close the file, and remove it if it is not complete under its name."""
        self._stage.cancel()
        try:
            self._file.close()
        finally:  # on a full disk, closing fails, and perhaps removing too
            super().close()
            self._unfinished.unlink(missing_ok=True)
