"""Export of rows as a stream of bytes, or as a file that appears only when it is complete."""

from __future__ import annotations

import contextlib
import io
import json
import os
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from airflow_provider_odf.closed_files import as_user
from airflow_provider_odf.error_conversion import storage_errors
from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.records import json_rows

if TYPE_CHECKING:
    from airflow_provider_odf.chain.dataset import Dataset
    from airflow_provider_odf.chain.state import ChainState

_ROWS, _BYTES = 65_536, 64 << 20
"""Rows and bytes of a row group of Parquet."""


class Rows(Protocol):
    """What can be exported: a `Scan`, or some of its rows."""

    @property
    def dataset(self) -> Dataset: ...

    @property
    def state(self) -> ChainState: ...

    @property
    def schema(self) -> pa.Schema: ...

    def to_arrow(self) -> pa.RecordBatchReader: ...


def export(rows: Rows, form: str, target: BinaryIO, tell: Callable[[int], None] | None = None) -> int:
    """Write rows to a stream as ``parquet``, ``csv`` or ``ndjson``, batch by batch. Return their number.

    CSV and NdJson have the values of ``odf state --format csv`` and JSON; Parquet has the dataset's types.

    :param tell: called with the number of rows that are written, after each batch.
    :raises InvalidInput: no columns are known yet.
    :raises ChainCorrupted: a slice is missing, or differs from its hash.
    """
    count = 0
    for written in _written(rows, form, target):
        count += written
        if tell is not None:
            tell(count)
    return count


def stream(rows: Rows, form: str) -> Iterator[bytes]:
    """Yield the content of a file with rows, as `export` writes it, a batch at a time.

    Slices are checked before the first part. It raises as `export`.
    """
    pending = _Pending()
    for _ in _written(rows, form, pending):
        yield pending.take()
    yield pending.take()


def _written(rows: Rows, form: str, target: BinaryIO) -> Iterator[int]:
    """Write rows, and yield the number of each batch."""
    if not rows.schema.names:
        raise InvalidInput(f"dataset {rows.dataset.alias} has no columns yet: run it first")
    return FORMS[form](rows, target)


class _Pending(io.BytesIO):
    """Bytes that were written since they were taken last."""

    _taken = 0

    def tell(self) -> int:
        return self._taken + super().tell()

    def take(self) -> bytes:
        content = self.getvalue()
        self._taken += len(content)
        self.seek(0)
        self.truncate()
        return content


def export_file(rows: Rows, form: str, path: Path, tell: Callable[[int], None] | None = None) -> int:
    """Write rows to a file, which is replaced when the new one is complete. Return their number.

    :param tell: as that of `export`.
    :raises StorageError: the file cannot be written.
    :raises InvalidInput: as `export`, or there is no such folder.
    """
    if not path.parent.is_dir() or path.is_dir():
        raise InvalidInput(f"{path}: the folder of the file must exist, and the file cannot be a folder")
    pending = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    with storage_errors(path), contextlib.ExitStack() as cleanup:
        cleanup.callback(pending.unlink, missing_ok=True)
        with pending.open("xb") as target:
            as_user(pending)
            count = export(rows, form, target, tell)
            target.flush()
            os.fsync(target.fileno())
        pending.replace(path)
    return count


def _parquet(rows: Rows, target: BinaryIO) -> Iterator[int]:
    """Write row groups of many batches: a history of small slices would otherwise have one for each slice."""
    with pq.ParquetWriter(target, rows.schema) as writer:
        for group in _groups(rows.to_arrow()):
            writer.write_table(pa.Table.from_batches(group, rows.schema))
            yield sum(batch.num_rows for batch in group)


def _groups(batches: Iterable[pa.RecordBatch]) -> Iterator[list[pa.RecordBatch]]:
    """Yield batches together that have enough rows or bytes for a row group."""
    group: list[pa.RecordBatch] = []
    count = size = 0
    for batch in batches:
        group.append(batch)
        count, size = count + batch.num_rows, size + batch.nbytes
        if count >= _ROWS or size >= _BYTES:
            yield group
            group, count, size = [], 0, 0
    if group:
        yield group


def _csv(rows: Rows, target: BinaryIO) -> Iterator[int]:
    from airflow_provider_odf.records import csv_rows

    target.write(csv_rows.header(rows.schema.names))
    for group in _groups(rows.to_arrow()):
        for batch in pa.Table.from_batches(group, rows.schema).combine_chunks().to_batches():
            target.write(csv_rows.lines(batch, rows.state.vocab.operation_type_column))
            yield batch.num_rows


def _ndjson(rows: Rows, target: BinaryIO) -> Iterator[int]:
    with _text(target) as text:
        yield from _by_batch(rows, text, lambda row: text.write(json.dumps(row, ensure_ascii=False) + "\n"))


def _by_batch(rows: Rows, text: io.TextIOWrapper, write: Callable[[Mapping[str, Any]], object]) -> Iterator[int]:
    for batch in rows.to_arrow():
        for row in json_rows.rows(pa.Table.from_batches([batch]), rows.state.vocab.operation_type_column):
            write(row)
        text.flush()
        yield batch.num_rows


@contextlib.contextmanager
def _text(target: BinaryIO) -> Iterator[io.TextIOWrapper]:
    text = io.TextIOWrapper(target, encoding="utf-8", newline="")
    try:
        yield text
    finally:
        text.detach()  # flushes, and leaves the stream open for its owner


FORMS: Mapping[str, Callable[[Rows, BinaryIO], Iterator[int]]] = {"parquet": _parquet, "csv": _csv, "ndjson": _ndjson}
"""Name of a form -> its writer."""
