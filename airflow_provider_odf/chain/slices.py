"""Data slices of a dataset as files: their physical hash, and their rows as Arrow tables with the dataset's columns."""

from __future__ import annotations

import contextlib
from array import array
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from airflow_provider_odf import multiformats
from airflow_provider_odf.chain.dataset import RESTORE, Dataset
from airflow_provider_odf.chain.storage import FileInfo
from airflow_provider_odf.error_conversion import storage_error, system_error
from airflow_provider_odf.errors import ChainCorrupted
from airflow_provider_odf.manifest.model import Checkpoint, DataSlice

if TYPE_CHECKING:
    import pyarrow as pa


def name(part: DataSlice | Checkpoint) -> str:
    """Return the name of a slice's or checkpoint's file in its dataset."""
    folder = "data" if isinstance(part, DataSlice) else "checkpoints"
    return f"{folder}/{part.physical_hash}"


def location(dataset: Dataset, data_slice: DataSlice) -> str:
    """Return the path or URI of a slice's file for engines."""
    return dataset.storage.location(name(data_slice))


def stat(dataset: Dataset, part: DataSlice | Checkpoint) -> FileInfo:
    """Return size and version of a slice's or checkpoint's file.

    :raises ChainCorrupted: the file is missing.
    :raises StorageError: the file cannot be read.
    """
    info = dataset.storage.stat(name(part))
    if info is None:
        file = dataset.storage.location(name(part))
        raise ChainCorrupted(f"{file}: the file is missing; {RESTORE}")
    return info


def check(dataset: Dataset, part: DataSlice | Checkpoint) -> None:
    """Compare the file of a slice or checkpoint with the size and physical hash in its block.

    :raises ChainCorrupted: the file is missing or has other bytes.
    :raises StorageError: the file cannot be read.
    """
    file, size = dataset.storage.location(name(part)), stat(dataset, part).size
    if size != part.size:
        raise ChainCorrupted(f"{file}: has {size} bytes, but its block records {part.size}{_advice(dataset)}")
    with dataset.storage.open(name(part)) as stream:
        actual = multiformats.hash_stream(stream)
    if actual != part.physical_hash:
        raise ChainCorrupted(f"{file}: checksum mismatch: the content has the hash {actual}{_advice(dataset)}")


def _advice(dataset: Dataset) -> str:
    return f"; the file is damaged: {RESTORE}, then run `{dataset.command('verify', '{}')}`"


def read(dataset: Dataset, data_slice: DataSlice, schema: pa.Schema, newest: int | None = None) -> pa.Table:
    """Return the rows of a slice, or the ``newest`` of them, from as few row groups as possible.

    Columns are those of ``schema``, in its types; a column that was added after the slice is null.

    :raises ChainCorrupted: the file is missing, damaged, or does not match the schema.
    :raises StorageError: the file cannot be read.
    """
    import pyarrow.parquet as pq

    source = location(dataset, data_slice)
    with read_errors(source), pq.ParquetFile(source) as file:
        first, rows = file.num_row_groups, 0
        while first and (newest is None or rows < newest):
            first -= 1
            rows += file.metadata.row_group(first).num_rows
        table = file.read_row_groups(list(range(first, file.num_row_groups)))
        return conform(table if newest is None else table.slice(max(0, table.num_rows - newest)), schema)


def read_file(path: str, schema: pa.Schema) -> pa.Table:
    """Return the rows of a slice that is not in a dataset yet, with the columns of ``schema``."""
    import pyarrow.parquet as pq

    return conform(pq.read_table(path), schema)


def int64_array(values: Iterable[int]) -> pa.Array:
    """Return numbers as Arrow. From a list pyarrow would create them with pandas, whose import takes a second."""
    import pyarrow as pa

    numbers = array("q", values)
    return pa.Array.from_buffers(pa.int64(), len(numbers), [None, pa.py_buffer(numbers)])


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


def conform(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return a table of a slice with the columns of a schema, in its types; columns that it lacks are null."""
    import pyarrow as pa

    present = set(table.column_names)
    columns = {
        field.name: table[field.name].cast(field.type)
        if field.name in present
        else pa.nulls(table.num_rows, field.type)
        for field in schema
    }
    return pa.table(columns, schema=schema)
