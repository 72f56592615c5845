"""Delta tables over slices, by add actions of deltalake.

Delta's files have paths from the folder of the table. ``../`` in them leads to the slices, for readers that resolve a
path as a URI (Spark, DuckDB, DataFusion). The table must lie outside of the dataset: VACUUM removes from the folder of
a table all that its log does not name.
"""

from __future__ import annotations

import json
import os
import posixpath
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

import pyarrow as pa

from airflow_provider_odf import object_stores
from airflow_provider_odf.error_conversion import extra_not_installed
from airflow_provider_odf.errors import CommitConflict, InvalidInput, StorageError
from airflow_provider_odf.manifest.model import DataSlice
from airflow_provider_odf.reading import tables as shared
from airflow_provider_odf.reading.tables import BLOCK, ExportedTable, Source, Tables
from airflow_provider_odf.redaction import redact

if TYPE_CHECKING:
    from deltalake import CommitProperties, DeltaTable
    from deltalake.transaction import AddAction

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
        root = os.path.realpath(os.path.expanduser(root))
    if bucket != _bucket(source.uri):
        raise InvalidInput(f"{root}: Delta tables name slices by relative paths: name a folder beside {source.uri}")
    try:
        yield DeltaTables(f"{root}/delta", shared.access_to(root, _ACCESS))
    except exceptions.CommitFailedError as e:
        raise CommitConflict(f"{root}/delta: another writer came first: run again: {e}") from e
    except (exceptions.DeltaError, OSError) as e:
        raise StorageError(f"{root}/delta: {redact(str(e))}") from e


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
        from deltalake import Schema
        from deltalake.transaction import create_table_with_add_actions

        location, table = self._load(name, source)  # before the chain is read, which then is no older
        scan = source.history()
        schema, about = Schema.from_arrow(self.columns(scan)), _properties(scan)
        present = pa.table(table.get_add_actions())["path"].to_pylist() if table is not None else []
        files = shared.slice_files(scan, {*map(unquote, present)}, lambda file: _relative(location, file))
        actions = [_action(file, part) for file, part in files.new.items()]
        if table is None:
            create_table_with_add_actions(
                location, schema, actions, name=".".join(name), storage_options=self._options, commit_properties=about
            )
            change = "created"
        else:
            known = {field.name: field.type for field in table.schema().fields}
            added = [field for field in schema.fields if field.name not in known]
            if any(known[field.name] != field.type for field in schema.fields if field.name in known):
                raise InvalidInput(f"{location}: columns of dataset {source.name} have other types now: drop the table")
            if added:
                table.alter.add_columns(added)
            if actions or files.is_rewritten:
                mode = "overwrite" if files.is_rewritten else "append"
                table.create_write_transaction([*actions], mode, table.schema(), commit_properties=about)
            change = "replaced" if files.is_rewritten else "appended" if added or actions else "unchanged"
        return ExportedTable(".".join(name), location, scan.block, len(actions), files.records, change)

    def current(self, name: tuple[str, str], source: Source) -> ExportedTable:
        from deltalake import write_deltalake

        location, table = self._load(name, source)
        scan = source.current()
        columns = self.columns(scan)
        if table is not None and table.history(1)[0].get(BLOCK) == scan.block:
            return ExportedTable(".".join(name), location, scan.block, 0, 0, "unchanged")
        rows = scan.to_table().cast(columns)
        write_deltalake(
            location,
            rows,
            mode="overwrite",
            schema_mode="overwrite",
            name=".".join(name),
            storage_options=self._options,
            commit_properties=_properties(scan),
        )
        change = "created" if table is None else "replaced"
        return ExportedTable(".".join(name), location, scan.block, 0, len(rows), change)

    def _load(self, name: tuple[str, str], source: Source) -> tuple[str, DeltaTable | None]:
        from deltalake import DeltaTable

        location = posixpath.join(self._root, *name)
        if not DeltaTable.is_deltatable(location, self._options):
            return location, None
        table = DeltaTable(location, storage_options=self._options)
        if table.transaction_version(source.id) is None:
            raise shared.not_ours(location, source)
        return location, table


def _properties(scan: Scan) -> CommitProperties:
    """Return the properties of a commit. Of two commits at once that name one application, here the dataset, Delta
    refuses the second."""
    from deltalake import CommitProperties, Transaction

    return CommitProperties(
        custom_metadata={BLOCK: scan.block},
        max_commit_retries=0,
        app_transactions=[Transaction(scan.state.dataset_id, scan.state.sequence_number)],
    )


def _action(file: str, part: DataSlice) -> AddAction:
    from deltalake.transaction import AddAction

    stats = {"numRecords": shared.records_in(part)}
    return AddAction(quote(file), part.size, {}, int(time.time() * 1000), True, json.dumps(stats))


def _relative(location: str, file: str) -> str:
    """Return the path of a file from the folder of a table, both in one file system or one bucket."""
    return posixpath.relpath(file if object_stores.is_object(file) else os.path.realpath(file), location)
