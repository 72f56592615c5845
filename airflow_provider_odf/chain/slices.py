"""Reads the data slices of a dataset as Arrow tables, in the dataset's columns."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from airflow_provider_odf.chain.dataset import Dataset
from airflow_provider_odf.errors import ChainCorrupted
from airflow_provider_odf.failures import storage_error
from airflow_provider_odf.manifest.model import DataSlice

if TYPE_CHECKING:
    import pyarrow as pa


def read(dataset: Dataset, data_slice: DataSlice, schema: pa.Schema, newest: int | None = None) -> pa.Table:
    """The rows of a slice, or the ``newest`` of them, from as few row groups as hold them.

    Columns are those of ``schema``, in its types; one that came after the slice is null.

    :raises ChainCorrupted: the file is missing, damaged, or not in the schema.
    :raises StorageError: it cannot be read.
    """
    import pyarrow.parquet as pq

    path = dataset.storage.local_path(f"data/{data_slice.physical_hash}")
    with read_errors(path), pq.ParquetFile(path) as file:
        first, rows = file.num_row_groups, 0
        while first and (newest is None or rows < newest):
            first -= 1
            rows += file.metadata.row_group(first).num_rows
        table = file.read_row_groups(list(range(first, file.num_row_groups)))
        return _conform(table if newest is None else table.slice(max(0, table.num_rows - newest)), schema)


@contextlib.contextmanager
def read_errors(path: Path) -> Iterator[None]:
    """What goes wrong with a Parquet file becomes an error that names it."""
    import pyarrow as pa

    try:
        yield
    except FileNotFoundError as e:
        raise ChainCorrupted(f"{path}: the slice is missing") from e
    except pa.ArrowException as e:
        raise ChainCorrupted(f"{path}: not a readable slice of the dataset: {e}") from e
    except OSError as e:
        # pyarrow also calls damaged pages an OSError; only one of the operating system has a number.
        if e.errno is None:
            raise ChainCorrupted(f"{path}: not a readable slice of the dataset: {e}") from e
        raise storage_error(e, path) from e


def _conform(table: pa.Table, schema: pa.Schema) -> pa.Table:
    import pyarrow as pa

    present = set(table.column_names)
    columns = {
        field.name: table[field.name].cast(field.type)
        if field.name in present
        else pa.nulls(table.num_rows, field.type)
        for field in schema
    }
    return pa.table(columns)
