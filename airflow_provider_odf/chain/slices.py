"""Data slices of a dataset: their files, whose physical hash is compared, and their rows as Arrow in the dataset's
columns, in bounded memory.

A record of the slices that were compared lies with the disposable caches of the dataset. It has the size and the
version (`FileInfo.version`) of each file at its check. Any write to the file changes them, as does replacing it by
a copy. Only ``verify``, which reads every file, detects bit rot of a disk.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow_provider_odf import closed_files, object_stores
from airflow_provider_odf.chain import cache_file
from airflow_provider_odf.chain.dataset import RESTORE, Dataset
from airflow_provider_odf.chain.local_storage import LocalStorage
from airflow_provider_odf.chain.storage import FileInfo
from airflow_provider_odf.error_conversion import storage_error, system_error
from airflow_provider_odf.errors import ChainCorrupted, StorageError
from airflow_provider_odf.manifest.model import Checkpoint, DataSlice
from airflow_provider_odf.merge_strategies import OPERATION_NAMES
from airflow_provider_odf.protocol import OffsetInterval, StoredFile
from airflow_provider_odf.records.stored_file import MISSING, bytes_fault, pieces, size_fault
from airflow_provider_odf.wording import counted

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.compute as pc


RECORD = "checked-slices"
_FORMAT = "checked-slices 1"
_THREADS = os.cpu_count() or 1
_REQUESTS = 8
"""Objects that are copied at once."""
_BATCH = 65_536
"""Most rows of a batch."""
_SMALL = 1 << 20
"""Bytes of a slice up to which threads take more time than they save."""


# --- files ----------------------------------------------------------------------------------------------------------


def name(part: DataSlice | Checkpoint) -> str:
    """Return the name of a slice's or checkpoint's file in its dataset."""
    folder = "data" if isinstance(part, DataSlice) else "checkpoints"
    return f"{folder}/{part.physical_hash}"


def location(dataset: Dataset, part: DataSlice | Checkpoint) -> str:
    """Return the path or URI of a slice's or checkpoint's file."""
    return dataset.storage.location(name(part))


def path(dataset: Dataset, part: DataSlice | Checkpoint) -> str:
    """Return the path of a slice's or checkpoint's file on this machine: of one elsewhere, that of a copy in the
    dataset's cache.

    :raises ChainCorrupted: there is no such object, or it has other bytes.
    :raises StorageError: it cannot be read, or the copy cannot be written.
    """
    if isinstance(dataset.storage, LocalStorage):
        return location(dataset, part)
    from airflow_provider_odf.records import files

    with read_errors(location(dataset, part)):
        folder = Path(_on_this_machine(dataset).location(name(part))).parent
        return files.local(location(dataset, part), folder, lambda: dataset.storage.open(name(part)))


def _on_this_machine(dataset: Dataset) -> LocalStorage:
    """Return the storage of a dataset, or that of copies from elsewhere."""
    if isinstance(dataset.storage, LocalStorage):
        return dataset.storage
    return LocalStorage(dataset.cache or closed_files.user_cache())


def adopt(dataset: Dataset, part: DataSlice, source: str) -> None:
    """Take a finished file as that of a slice: one of this machine, which may be moved, or an object of the store's
    bucket.

    :raises StorageError: the object has another size than the slice.
    """
    if object_stores.is_object(source):
        dataset.storage.adopt(name(part), source)
        if (size := stat(dataset, part).size) != part.size:
            raise StorageError(f"{source}: the copy has {size} bytes instead of {part.size}: run again")
        return
    file, copies = Path(source), _on_this_machine(dataset)
    dataset.storage.adopt(name(part), file)
    if copies != dataset.storage:
        with contextlib.suppress(StorageError):  # else it is copied from there
            copies.adopt(name(part), file)


def stat(dataset: Dataset, part: DataSlice | Checkpoint) -> FileInfo:
    """Return size and version of a slice's or checkpoint's file.

    :raises ChainCorrupted: the file is missing.
    :raises StorageError: the file cannot be read.
    """
    info = dataset.storage.stat(name(part))
    if info is None:
        raise damaged(dataset, stored_file(dataset, part), MISSING)
    return info


def check(dataset: Dataset, part: DataSlice | Checkpoint) -> None:
    """Compare the file of a slice or checkpoint with the size and physical hash in its block.

    :raises ChainCorrupted: the file is missing or has other bytes.
    :raises StorageError: the file cannot be read.
    """
    file = stored_file(dataset, part)
    fault = size_fault(file, stat(dataset, part).size)
    if fault is None:
        with dataset.storage.open(name(part)) as stream:
            fault = bytes_fault(file, pieces(stream))
    if fault is not None:
        raise damaged(dataset, file, fault)


def stored_file(dataset: Dataset, part: DataSlice | Checkpoint) -> StoredFile:
    """Return the file of a slice or checkpoint as its block has it."""
    file = StoredFile(location(dataset, part), part.physical_hash, part.size)
    if isinstance(part, Checkpoint):
        return file
    offsets = OffsetInterval(part.offset_interval.start, part.offset_interval.end)
    return replace(file, logical_hash=part.logical_hash, offset_interval=offsets)


def damaged(dataset: Dataset, file: StoredFile, fault: str) -> ChainCorrupted:
    """Return the error of a file with a fault."""
    if fault == MISSING:
        return ChainCorrupted(f"{file.path}: {MISSING}; {RESTORE}")
    advice = f"the file is damaged: {RESTORE}, then run `{dataset.command('verify', '{}')}`"
    return ChainCorrupted(f"{file.path}: {fault}; {advice}")


def check_unrecorded(
    dataset: Dataset,
    dataset_id: str,
    data_slices: Sequence[DataSlice],
    progress: Callable[[str], None] = lambda _: None,
) -> None:
    """Compare slices with their physical hash, except those that are unchanged by the record in the dataset's cache.
    Of slices in an object store, copies on this machine are made and compared.

    :raises ChainCorrupted: a slice is missing or has other bytes.
    :raises StorageError: a slice cannot be read.
    """
    record = _recorded(dataset, dataset_id)
    local = replace(dataset, storage=_on_this_machine(dataset))
    if local.storage != dataset.storage:
        _copy(dataset, [s for s in data_slices if local.storage.stat(name(s)) is None], progress)
    stamps: dict[str, list[int | str]] = {}
    for part in data_slices:
        info = stat(local, part)
        stamps[part.physical_hash] = [info.size, *info.version]
    changed = [s for s in data_slices if record.get(s.physical_hash) != stamps[s.physical_hash]]
    if not changed:
        return
    progress(f"checking {counted(len(changed), 'slice')}, {counted(sum(s.size for s in changed), 'byte')}")
    large = [s for s in changed if s.size > _SMALL]
    with ThreadPoolExecutor(min(_THREADS, len(large) or 1)) as pool:
        checks = pool.map(lambda s: _check_copy(dataset, local, s), large)
        for part in changed:
            if part.size <= _SMALL:
                _check_copy(dataset, local, part)
        list(checks)
    if dataset.cache is not None:
        content = {"dataset": dataset_id, "slices": record | stamps}
        cache_file.write(dataset.cache / RECORD, _FORMAT, json.dumps(content).encode())


def _copy(dataset: Dataset, data_slices: Sequence[DataSlice], progress: Callable[[str], None]) -> None:
    if not data_slices:
        return
    size = counted(sum(s.size for s in data_slices), "byte")
    progress(f"copying {counted(len(data_slices), 'slice')} of {dataset.alias} to this machine, {size}")
    with ThreadPoolExecutor(min(_REQUESTS, len(data_slices))) as pool:
        list(pool.map(lambda s: path(dataset, s), data_slices))


def _check_copy(dataset: Dataset, local: Dataset, data_slice: DataSlice) -> None:
    """Compare a slice; a copy that is damaged is made again, and compared meanwhile."""
    try:
        check(local, data_slice)
    except ChainCorrupted:
        if local.storage == dataset.storage:
            raise
        local.storage.remove(name(data_slice), inf)
        path(dataset, data_slice)


def _recorded(dataset: Dataset, dataset_id: str) -> dict[str, list[int | str]]:
    """Return the stamps of the slices that were compared, by their hashes."""
    data = cache_file.read(dataset.cache / RECORD, _FORMAT) if dataset.cache is not None else None
    content = json.loads(data) if data is not None else {}
    return content["slices"] if content.get("dataset") == dataset_id else {}


# --- rows -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class OffsetRange:
    """Offsets from ``first`` to ``last``, in the offset column of a dataset."""

    column: str
    first: int
    last: int

    def overlaps(self, data_slice: DataSlice) -> bool:
        interval = data_slice.offset_interval
        return interval.end >= self.first and interval.start <= self.last

    def covers(self, data_slice: DataSlice) -> bool:
        interval = data_slice.offset_interval
        return self.first <= interval.start and interval.end <= self.last

    def condition(self) -> pc.Expression:
        import pyarrow.compute as pc

        offset = pc.field(self.column)
        return (offset >= self.first) & (offset <= self.last)


@contextlib.contextmanager
def read_errors(file: str) -> Iterator[None]:
    """Raise errors of a Parquet file as errors that name the file.

    :raises ChainCorrupted: the file is missing or damaged.
    :raises StorageError: the file cannot be read.
    """
    import pyarrow as pa

    try:
        yield
    except FileNotFoundError as e:
        raise ChainCorrupted(f"{file}: the slice is missing; {RESTORE}") from e
    except (pa.ArrowException, MemoryError, OSError) as e:
        # pyarrow also calls damaged pages an OSError, and a lack of memory an ArrowException.
        refused = system_error(e) or (e if isinstance(e, OSError) and e.errno is not None else None)
        if refused is None:
            raise ChainCorrupted(f"{file}: cannot read the slice: {e}; {RESTORE}") from e
        raise storage_error(refused, Path(file)) from e


def read(dataset: Dataset, data_slice: DataSlice, schema: pa.Schema, newest: int | None = None) -> pa.Table:
    """Return the rows of a slice, or the ``newest`` of them, from as few row groups as possible.

    Columns are those of ``schema``, in its types; a column that was added after the slice is null.

    :raises ChainCorrupted: the file is missing, damaged, or does not match the schema.
    :raises StorageError: the file cannot be read.
    """
    from airflow_provider_odf.records.files import open_parquet
    from airflow_provider_odf.records.schema import conform

    with read_errors(location(dataset, data_slice)), open_parquet(path(dataset, data_slice)) as file:
        first, rows = file.num_row_groups, 0
        while first and (newest is None or rows < newest):
            first -= 1
            rows += file.metadata.row_group(first).num_rows
        table = file.read_row_groups(list(range(first, file.num_row_groups)))
        return conform(table if newest is None else table.slice(max(0, table.num_rows - newest)), schema)


def scan(
    dataset: Dataset,
    data_slice: DataSlice,
    schema: pa.Schema,
    columns: Sequence[str],
    condition: pc.Expression | None = None,
    offsets: OffsetRange | None = None,
) -> Iterator[pa.RecordBatch]:
    """Yield columns of the rows of a slice that meet a condition and have these offsets, in the order of offsets.

    It raises as `read`. Only a scan with a condition imports ``pyarrow.dataset``, which takes a second.
    """
    if offsets is not None and offsets.covers(data_slice):
        offsets = None
    source = path(dataset, data_slice)
    with read_errors(location(dataset, data_slice)):
        if condition is None:
            yield from _batches(source, data_slice, schema, columns, offsets)
        else:
            where = condition if offsets is None else condition & offsets.condition()
            yield from _filtered(source, schema, columns, where)


def _batches(
    source: str, data_slice: DataSlice, schema: pa.Schema, columns: Sequence[str], offsets: OffsetRange | None
) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    from airflow_provider_odf.records.files import open_parquet
    from airflow_provider_odf.records.schema import conform

    selected = pa.schema([schema.field(name) for name in columns])
    start = data_slice.offset_interval.start
    with open_parquet(source, pre_buffer=False) as file:  # else all of the columns would be in memory
        names = file.schema_arrow.names
        present = [name for name in names if name in set(columns)]
        # A file without any of the columns still says how many rows there are.
        use_threads = data_slice.size > _SMALL
        for batch in file.iter_batches(_BATCH, columns=present or names[:1], use_threads=use_threads):
            table = pa.Table.from_batches([batch])
            if len(present) < len(columns) or not (table := table.select(columns)).schema.equals(selected):
                table = conform(table, selected)
            if offsets is not None:
                first, last = max(0, offsets.first - start), max(0, offsets.last + 1 - start)
                table = table.slice(first, max(0, last - first))
            start += batch.num_rows
            yield from table.to_batches()


def _filtered(
    source: str, schema: pa.Schema, columns: Sequence[str], condition: pc.Expression
) -> Iterator[pa.RecordBatch]:
    """Yield the rows that meet a condition. Row groups that cannot have such rows are not read."""
    import pyarrow as pa

    from airflow_provider_odf.records.files import fragment

    file = fragment(source)
    options: dict[str, Any] = {"batch_size": _BATCH, "batch_readahead": 1, "fragment_readahead": 1}
    views = {pa.string_view(), pa.binary_view()}
    if views.isdisjoint(file.physical_schema.types):
        scanner = file.scanner(schema=schema, columns=list(columns), filter=condition, **options)
        yield from (batch for batch in scanner.to_batches() if batch.num_rows)
        return
    for batch in file.scanner(schema=schema, **options).to_batches():  # pyarrow cannot filter views
        yield from pa.Table.from_batches([batch]).filter(condition).select(list(columns)).to_batches()


def count_in_all(dataset: Dataset, data_slices: Iterable[DataSlice], operation_column: str) -> Mapping[str, int] | None:
    """Return the numbers of records of several slices by operation, or None if a file cannot be read."""
    total: Counter[str] = Counter()
    for data_slice in data_slices:
        counts = count_operations(dataset, data_slice, operation_column)
        if counts is None:
            return None
        total.update(counts)
    return total


def count_operations(dataset: Dataset, data_slice: DataSlice, operation_column: str) -> Mapping[str, int] | None:
    """Return the numbers of records of a slice by operation, or None if its file cannot be read. Only the column of the
    operation is read."""
    import pyarrow.compute as pc

    from airflow_provider_odf.records.files import open_parquet

    counts = dict.fromkeys(OPERATION_NAMES, 0)
    try:
        with read_errors(location(dataset, data_slice)), open_parquet(path(dataset, data_slice)) as file:
            for batch in file.iter_batches(columns=[operation_column]):
                for entry in pc.value_counts(batch.column(0)).to_pylist():
                    counts[OPERATION_NAMES[entry["values"]]] += entry["counts"]
    except (ChainCorrupted, StorageError, IndexError, TypeError):
        return None
    return {name: number for name, number in counts.items() if number}
