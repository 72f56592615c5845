"""Export of a scan as a stream of bytes, or as a file that appears only when it is complete."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import secrets
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from airflow_provider_odf.chain import json_rows
from airflow_provider_odf.error_conversion import storage_errors
from airflow_provider_odf.errors import InvalidInput

if TYPE_CHECKING:
    from airflow_provider_odf.reading.scan import Scan


def export(scan: Scan, form: str, target: BinaryIO) -> int:
    """Write the rows of a scan to a stream as ``parquet``, ``csv`` or ``ndjson``, batch by batch. Return their number.

    CSV and NdJson have the values of ``odf state --format csv`` and JSON; Parquet has the dataset's types.

    :raises InvalidInput: no columns are known yet.
    :raises ChainCorrupted: a slice is missing, or differs from its hash.
    """
    if not scan.schema.names:
        raise InvalidInput(f"dataset {scan.dataset.alias} has no columns yet: run it first")
    return FORMS[form](scan, target)


def export_file(scan: Scan, form: str, path: Path) -> int:
    """Write the rows of a scan to a file, which is replaced when the new one is complete. Return their number.

    :raises StorageError: the file cannot be written.
    :raises InvalidInput: as `export`, or there is no such folder.
    """
    if not path.parent.is_dir() or path.is_dir():
        raise InvalidInput(f"{path}: the folder of the file must exist, and the file cannot be a folder")
    pending = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    with storage_errors(path), contextlib.ExitStack() as cleanup:
        cleanup.callback(pending.unlink, missing_ok=True)
        with pending.open("xb") as target:
            rows = export(scan, form, target)
            target.flush()
            os.fsync(target.fileno())
        pending.replace(path)
    return rows


def _parquet(scan: Scan, target: BinaryIO) -> int:
    import pyarrow.parquet as pq

    count = 0
    with pq.ParquetWriter(target, scan.schema) as writer:
        for batch in scan.to_arrow():
            writer.write_batch(batch)
            count += batch.num_rows
    return count


def _csv(scan: Scan, target: BinaryIO) -> int:
    from airflow_provider_odf.text_table import cell

    with _text(target) as text:
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(scan.schema.names)
        return _count(_rows(scan), lambda row: writer.writerow(map(cell, row.values())))


def _ndjson(scan: Scan, target: BinaryIO) -> int:
    with _text(target) as text:
        return _count(_rows(scan), lambda row: text.write(json.dumps(row, ensure_ascii=False) + "\n"))


def _count(rows: Iterator[Mapping[str, Any]], write: Callable[[Mapping[str, Any]], object]) -> int:
    count = 0
    for row in rows:
        write(row)
        count += 1
    return count


def _rows(scan: Scan) -> Iterator[dict[str, Any]]:
    import pyarrow as pa

    for batch in scan.to_arrow():
        yield from json_rows.rows(pa.Table.from_batches([batch]), scan.state.vocab.operation_type_column)


@contextlib.contextmanager
def _text(target: BinaryIO) -> Iterator[io.TextIOWrapper]:
    text = io.TextIOWrapper(target, encoding="utf-8", newline="")
    try:
        yield text
    finally:
        text.detach()  # flushes, and leaves the stream open for its owner


FORMS: Mapping[str, Callable[[Scan, BinaryIO], int]] = {"parquet": _parquet, "csv": _csv, "ndjson": _ndjson}
"""Name of a form -> its writer."""
