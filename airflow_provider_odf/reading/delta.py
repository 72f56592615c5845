"""Delta tables over slices.

The library reads tables, and writes those of current rows, but the log of a history is written here: the library has no
commit that removes one file and keeps another. The files of a history have paths from the folder of its table, in which
``../`` leads to the slices, for readers that resolve a path as a URI (Spark, DuckDB, DataFusion). The table must lie
outside of the dataset: VACUUM removes from the folder of a table all that its log does not name. So that nobody else
takes a slice out of the table, which VACUUM then removes too, its protocol names a feature that no other writer has.
"""

from __future__ import annotations

import json
import os
import posixpath
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import quote
from uuid import uuid4

import pyarrow as pa

from airflow_provider_odf import object_stores
from airflow_provider_odf.chain.storages import open_storage
from airflow_provider_odf.error_conversion import extra_not_installed
from airflow_provider_odf.errors import CommitConflict, InvalidInput, StorageError
from airflow_provider_odf.manifest.model import DataSlice
from airflow_provider_odf.reading import tables as shared
from airflow_provider_odf.reading.scan import CurrentScan, HistoryScan
from airflow_provider_odf.reading.tables import BLOCK, ExportedTable, Source, Tables
from airflow_provider_odf.redaction import redact

if TYPE_CHECKING:
    from deltalake import DeltaTable, Schema

    from airflow_provider_odf.reading.scan import Scan

_ACCESS = {
    "region": "aws_region",
    "endpoint": "aws_endpoint",
    "skip_signature": "aws_skip_signature",
    "access_key_id": "aws_access_key_id",
    "secret_access_key": "aws_secret_access_key",
    "token": "aws_session_token",
    "allow_http": "aws_allow_http",
}


@contextmanager
def tables(source: Source, folder: str | None) -> Iterator[Tables]:
    """Yield the tables below a folder or URI.

    :raises InvalidInput: deltalake is not installed, or the folder is in another bucket than the store.
    :raises CommitConflict: another writer changed a table first.
    :raises StorageError: a file cannot be written.
    """
    try:
        from deltalake import exceptions
    except ImportError:
        raise extra_not_installed("deltalake", "delta") from None
    root = shared.default_folder(source, folder)
    bucket = _bucket(root)
    if bucket is None:
        root = os.path.expanduser(root)
    if bucket != _bucket(source.uri):
        raise InvalidInput(f"{root}: Delta tables name slices by relative paths: name a folder beside {source.uri}")
    root = os.path.realpath(f"{root}/delta") if bucket is None else f"{root}/delta"
    if bucket is None and "%" in root:
        raise InvalidInput(f"{root}: deltalake cannot open a folder with % in its path: name another one")
    try:
        yield DeltaTables(root, shared.access_to(root, _ACCESS))
    except exceptions.CommitFailedError as e:
        raise CommitConflict(f"{root}: another writer came first: run again: {e}") from e
    except (exceptions.DeltaError, OSError) as e:
        if "A table already exists" in str(e):
            raise CommitConflict(f"{root}: another writer came first: run again: {e}") from e
        raise StorageError(f"{root}: {redact(str(e))}") from e


def _bucket(uri: str) -> str | None:
    """Return the bucket of a URI, None for a folder."""
    return object_stores.split(uri)[0] if object_stores.is_object(uri) else None


class DeltaTables(Tables):
    """Tables below a folder, which is a path or a URI."""

    format = "Delta"

    def __init__(self, root: str, options: Mapping[str, str]) -> None:
        self._root = root
        self._options = dict(options)

    def history(self, name: tuple[str, str], source: Source) -> ExportedTable:
        from deltalake import DeltaTable, Schema

        location, table = self._load(name, source, HistoryScan.kind)  # before the chain, which then is no older
        scan = source.history()
        schema = Schema.from_arrow(self.columns(scan))
        present = pa.table(table.get_add_actions()).to_pylist() if table is not None else []
        sizes = {file["path"]: file["size_bytes"] for file in present}
        files = shared.slice_files(scan, sizes, lambda file: quote(_relative(location, file)))
        actions = [_removed(file, sizes[file]) for file in files.stale]
        actions += [_added(file, part) for file, part in files.new.items()]
        if table is None or table.schema() != schema:
            actions = [_PROTOCOL, _metadata(name, schema, table), *actions]
        version = table.version() + 1 if table is not None else 0
        if actions:
            about = {"timestamp": _now(), "operation": "WRITE" if version else "CREATE TABLE"}
            commit: dict[str, Any] = {"commitInfo": {**about, "operationParameters": {}, **_named_block(scan)}}
            owner = {"txn": {"appId": _owner(source, scan.kind), "version": scan.state.sequence_number}}
            lines = "\n".join(map(json.dumps, (commit, owner, *actions)))
            if not open_storage(location).put_if_absent(f"_delta_log/{version:020}.json", lines.encode()):
                raise CommitConflict(f"{location}: another writer came first: run again")
            if version % _CHECKPOINT == _CHECKPOINT - 1:
                written = DeltaTable(location, storage_options=self._options)
                written.create_checkpoint()
                written.cleanup_metadata()
        change = files.change(table) if actions else "unchanged"
        return ExportedTable(".".join(name), location, scan.block, len(files.new), files.records, change)

    def current(self, name: tuple[str, str], source: Source) -> ExportedTable:
        from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake

        location, table = self._load(name, source, CurrentScan.kind)
        commits = (c for c in (table.history(100) if table is not None else ()) if c["operation"][:6] != "VACUUM")
        newest = next(commits, {}).get(BLOCK)
        scan = source.current()
        columns = self.columns(scan)
        if newest == scan.block:
            return ExportedTable(".".join(name), location, scan.block, 0, 0, "unchanged")
        rows = scan.to_table().cast(columns)
        owner = Transaction(_owner(source, scan.kind), scan.state.sequence_number)
        write_deltalake(
            location if table is None else table,
            rows,
            mode="error" if table is None else "overwrite",
            schema_mode=None if table is None else "overwrite",
            name=".".join(name),
            configuration={"delta.deletedFileRetentionDuration": "interval 1 day"},
            storage_options=self._options,
            commit_properties=CommitProperties(_named_block(scan), 0, [owner]),
        )
        DeltaTable(location, storage_options=self._options).vacuum(dry_run=False)
        change = "created" if table is None else "replaced"
        return ExportedTable(".".join(name), location, scan.block, 0, len(rows), change)

    def _load(self, name: tuple[str, str], source: Source, kind: str) -> tuple[str, DeltaTable | None]:
        from deltalake import DeltaTable

        location = posixpath.join(self._root, *name)
        if not DeltaTable.is_deltatable(location, self._options):
            return location, None
        table = DeltaTable(location, storage_options=self._options)
        kinds = (
            k for k in (HistoryScan.kind, CurrentScan.kind) if table.transaction_version(_owner(source, k)) is not None
        )
        shared.check_owner(location, next(kinds, None), source, kind)
        return location, table


_CHECKPOINT = 100
"""Commits after which readers find the files of a table in one file."""
_PROTOCOL = {"protocol": {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": ["onlyOdfExportWrites"]}}


def _now() -> int:
    return int(time.time() * 1000)


def _named_block(scan: Scan) -> dict[str, str]:
    """Return what a commit says of its block. Of such properties, Spark shows only ``userMetadata``."""
    return {BLOCK: scan.block, "userMetadata": scan.block}


def _owner(source: Source, kind: str) -> str:
    """Return the application of the log's transactions: by it, a table is known as that of a dataset's rows."""
    return f"{source.id}/{kind}"


def _metadata(name: tuple[str, str], schema: Schema, table: DeltaTable | None) -> Mapping[str, Any]:
    return {
        "metaData": {
            "id": str(table.metadata().id if table is not None else uuid4()),
            "name": ".".join(name),
            "format": {"provider": "parquet", "options": {}},
            "schemaString": schema.to_json(),
            "partitionColumns": [],
            "createdTime": _now(),
            "configuration": {},
        }
    }


def _added(file: str, part: DataSlice) -> Mapping[str, Any]:
    stats = json.dumps({"numRecords": shared.records_in(part)})
    of_file = {"path": file, "partitionValues": {}, "size": part.size}
    return {"add": {**of_file, "modificationTime": _now(), "dataChange": True, "stats": stats}}


def _removed(file: str, size: int) -> Mapping[str, Any]:
    of_file = {"path": file, "extendedFileMetadata": True, "partitionValues": {}, "size": size}
    return {"remove": {**of_file, "deletionTimestamp": _now(), "dataChange": True}}


def _relative(location: str, file: str) -> str:
    """Return the path of a file from the folder of a table, both in one file system or one bucket."""
    return posixpath.relpath(file if object_stores.is_object(file) else os.path.realpath(file), location)
