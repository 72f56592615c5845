"""Iceberg tables over slices, by pyiceberg's ``add_files``. The files have no field ids: each table has a name mapping.

Tables of the history must neither delete the files of the dataset nor retry a commit: pyiceberg's retry would add the
files again that another writer has just added. Slices have times in milliseconds, which Iceberg for Spark reads as
microseconds where a dictionary encodes them, except without its vectorized reader (apache/iceberg#17135).
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pyarrow as pa

from airflow_provider_odf import closed_files, object_stores
from airflow_provider_odf.error_conversion import extra_not_installed, storage_errors
from airflow_provider_odf.errors import CommitConflict, InvalidInput, StorageError
from airflow_provider_odf.reading import tables as shared
from airflow_provider_odf.reading.scan import CurrentScan, HistoryScan
from airflow_provider_odf.reading.tables import BLOCK, ExportedTable, Source, Tables
from airflow_provider_odf.redaction import redact
from airflow_provider_odf.wording import listed

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.io import FileIO
    from pyiceberg.table import Table, Transaction
    from pyiceberg.table.snapshots import Snapshot

    from airflow_provider_odf.reading.scan import Scan

_DATASET_ID = "odf.dataset-id"
_ROWS = "odf.rows"
_DAY = 24 * 60 * 60 * 1000
_EXPIRY = "history.expire.max-snapshot-age-ms"
_PROPERTIES = {
    "commit.retry.num-retries": "0",
    "commit.manifest-merge.enabled": "true",
    "write.metadata.delete-after-commit.enabled": "true",
}
"""Properties of each table, which each export sets again."""
_OF_HISTORY = {**_PROPERTIES, "gc.enabled": "false", "read.parquet.vectorization.enabled": "false"}
_MAPPING = "schema.name-mapping.default"
_ADVICE = ". In Spark, compare times by unix_millis(column): see apache/iceberg#18173"
_ACCESS = {
    "region": "s3.region",
    "endpoint": "s3.endpoint",
    "skip_signature": "s3.anonymous",
    "access_key_id": "s3.access-key-id",
    "secret_access_key": "s3.secret-access-key",
    "token": "s3.session-token",
}


@contextmanager
def tables(source: Source, folder: str | None, catalog: str | None, properties: Mapping[str, str]) -> Iterator[Tables]:
    """Yield the tables of a catalog: one of pyiceberg's configuration or of these properties, else that in SQLite in a
    folder of this machine.

    :raises InvalidInput: pyiceberg is not installed, or there is no such catalog.
    :raises CommitConflict: another writer changed a table first.
    :raises StorageError: the catalog cannot be reached, or a file cannot be written.
    """
    try:
        from pyiceberg.catalog import list_catalogs, load_catalog
    except ImportError:
        raise extra_not_installed("pyiceberg", "iceberg") from None
    own = dict(properties)
    path = None
    if catalog is None and not properties:
        path = _folder(shared.default_folder(source, folder))
        own = {"type": "sql", "uri": f"sqlite:///{path}/catalog.db", "warehouse": f"file://{path}"}
    elif folder is not None:
        raise InvalidInput("the catalog says where its tables lie: name a folder or a catalog")
    elif catalog is not None and not properties and catalog.lower() not in list_catalogs():
        raise InvalidInput(
            f"pyiceberg's configuration has no catalog {catalog} (known: {listed(list_catalogs())}): describe it in "
            f".pyiceberg.yaml or by variables such as PYICEBERG_CATALOG__{catalog.upper()}__URI"
        )
    access = shared.access_to(source.uri, _ACCESS)
    with _errors(catalog or "odf"), load_catalog(catalog or "odf", **{**access, **own}) as opened:
        yield IcebergTables(opened, path)


def _folder(folder: str) -> Path:
    if object_stores.is_object(folder) or "://" in folder:
        raise InvalidInput(
            f"{folder}: the catalog in SQLite needs a folder of this machine: name one, or a catalog of pyiceberg"
        )
    path = Path(folder).expanduser().resolve() / "iceberg"
    if re.search("[#%;?]", str(path)):
        raise InvalidInput(f"{path}: a path of pyiceberg cannot have #, %, ; or ?: name another folder")
    with storage_errors(path):
        closed_files.make_folders(path)
    return path


@contextmanager
def _errors(catalog: str) -> Iterator[None]:
    from pyiceberg import exceptions
    from sqlalchemy.exc import SQLAlchemyError

    conflicts = exceptions.CommitFailedException, exceptions.TableAlreadyExistsError
    try:
        yield
    except (*conflicts, SQLAlchemyError) as e:
        if isinstance(e, SQLAlchemyError) and "already exists" not in str(e):  # of a catalog that both were to make
            raise StorageError(f"Iceberg catalog {catalog}: {redact(str(e))}") from e
        raise CommitConflict(f"Iceberg catalog {catalog}: another writer came first: run again: {e}") from e
    except (exceptions.RESTError, exceptions.WaitingForLockException, OSError) as e:
        raise StorageError(f"Iceberg catalog {catalog}: {redact(str(e))}") from e
    except (exceptions.ValidationError, exceptions.NotInstalledError, ValueError, TypeError) as e:
        advice = ": give the catalog a `warehouse`, where its tables lie" if "No default path" in str(e) else ""
        raise InvalidInput(f"Iceberg catalog {catalog}: {redact(str(e))}{advice}") from e
    except KeyError as e:  # of lists whose elements have the old name `item`
        raise InvalidInput(f"pyiceberg cannot read the column {e} of a slice: export --as delta") from e


class IcebergTables(Tables):
    """Tables of a catalog. If it is our own one in a folder, each gets a ``version-hint.text`` there, by which DuckDB
    finds the newest metadata."""

    format = "Iceberg"
    types = (pa.time64("us"),)

    def __init__(self, catalog: Catalog, folder: Path | None) -> None:
        self._catalog = catalog
        self._folder = folder

    def history(self, name: tuple[str, str], source: Source) -> ExportedTable:
        table = self._load(name, source, HistoryScan.kind)  # before the chain is read, which then is no older
        before = table.metadata_location if table is not None else None
        scan = source.history()
        columns = self.columns(scan)
        tasks = [*table.scan().plan_files()] if table is not None else []
        whole = {task.file.file_path for task in tasks if not task.delete_files}
        files = shared.slice_files(scan, whole, _uri)
        stale = [task.file for task in tasks if task.delete_files or task.file.file_path in files.stale]
        files = files._replace(stale=[file.file_path for file in stale])
        with self._transaction(name, table, scan, columns) as open_table:
            about = {BLOCK: scan.block}
            if stale:
                with open_table.update_snapshot(about if not files.new else {}).overwrite() as overwrite:
                    for file in stale:
                        overwrite.delete_data_file(file)
            if files.new:
                open_table.add_files([*files.new], about, check_duplicate_files=False)
        made = self._exported(name, scan, files.change(table), slices=len(files.new), records=files.records)
        return made._replace(change="unchanged") if made.location == before else made

    def current(self, name: tuple[str, str], source: Source) -> ExportedTable:
        from pyiceberg.expressions import AlwaysTrue

        table = self._load(name, source, CurrentScan.kind)
        scan = source.current()
        columns = self.columns(scan)
        newest = table.current_snapshot() if table is not None else None
        if newest is not None and newest.summary is not None and newest.summary.get(BLOCK) == scan.block:
            return self._exported(name, scan, "unchanged")
        rows = scan.to_table().cast(columns)
        with self._transaction(name, table, scan, columns) as open_table:
            if newest is not None:
                open_table.delete(AlwaysTrue())
            open_table.append(rows, {BLOCK: scan.block})
        return self._exported(name, scan, "created" if table is None else "replaced", records=len(rows))

    def _load(self, name: tuple[str, str], source: Source, kind: str) -> Table | None:
        from pyiceberg.exceptions import NoSuchTableError

        try:
            table = self._catalog.load_table(name)
        except NoSuchTableError:
            return None
        except FileNotFoundError as e:
            raise InvalidInput(
                f"table {'.'.join(name)}: the catalog names a metadata file that is missing: {e}; if the tables have "
                "moved, drop the table, or remove its folder with catalog.db, and export again"
            ) from e
        has = table.properties.get(_ROWS) if table.properties.get(_DATASET_ID) == source.id else None
        shared.check_owner(".".join(name), has, source, kind)
        if self._folder is not None and not _path(table.metadata_location).is_relative_to(self._folder):
            raise InvalidInput(
                f"table {'.'.join(name)}: the catalog in {self._folder} is a copy: it names {table.metadata_location}; "
                "remove the folder, and export again"
            )
        if table.spec().fields or table.format_version != 2:
            raise InvalidInput(
                f"table {'.'.join(name)}: another program has given it partitions or another version of the format: "
                "drop the table, and export again"
            )
        return table

    @contextmanager
    def _transaction(
        self, name: tuple[str, str], table: Table | None, scan: Scan, columns: pa.Schema
    ) -> Iterator[Transaction]:
        """Yield a transaction on a table, which makes the table if need be, and gives it our columns and properties."""
        is_history = scan.kind == HistoryScan.kind
        own = _OF_HISTORY if is_history else _PROPERTIES
        if table is not None:
            transaction = table.transaction()
        else:
            self._catalog.create_namespace_if_not_exists(name[0])
            comment = f"{scan.kind} of Open Data Fabric dataset {scan.dataset.alias}{_ADVICE if is_history else ''}"
            of_rows = {_DATASET_ID: scan.state.dataset_id, _ROWS: scan.kind, "comment": comment}
            properties = {**own, _EXPIRY: str((30 if is_history else 1) * _DAY), **of_rows}
            transaction = self._catalog.create_table_transaction(name, columns, properties=properties)
        with transaction as open_table:
            with open_table.update_schema() as update:
                update.union_by_name(columns)
                for field in table.schema().fields if table is not None else ():
                    if field.name not in columns.names:
                        update.delete_column(field.name)
            kept = {**own, _MAPPING: open_table.table_metadata.schema().name_mapping.model_dump_json()}
            if kept.items() - open_table.table_metadata.properties.items():
                open_table.set_properties(kept)
            yield open_table

    def _exported(
        self, name: tuple[str, str], scan: Scan, change: str, slices: int = 0, records: int = 0
    ) -> ExportedTable:
        table = self._catalog.load_table(name)
        if change != "unchanged":
            _expire(table, has_own_files=scan.kind == CurrentScan.kind)
        location = table.metadata_location
        if self._folder is not None:
            file = _path(location)
            hint = file.with_name("version-hint.text")
            with storage_errors(hint):
                pending = hint.with_suffix(".new")
                pending.write_text(file.name.removesuffix(".metadata.json"))
                pending.replace(hint)
        return ExportedTable(".".join(name), location, scan.block, slices, records, change)


def _expire(table: Table, *, has_own_files: bool) -> None:
    """Remove the snapshots of a table that are too old by its properties, and their files, of which slices stay."""
    from pyiceberg.utils.properties import property_as_int

    oldest = time.time() * 1000 - (property_as_int(table.properties, _EXPIRY, 5 * _DAY) or 0)
    named = {ref.snapshot_id for ref in table.metadata.refs.values()}
    expired = [s for s in table.snapshots() if s.timestamp_ms < oldest and s.snapshot_id not in named]
    if expired:
        table.maintenance.expire_snapshots().by_ids([s.snapshot_id for s in expired]).commit()
        for file in _files(table.io, expired, has_own_files) - _files(table.io, table.snapshots(), has_own_files):
            table.io.delete(file)


def _files(io: FileIO, snapshots: Iterable[Snapshot], with_data: bool) -> set[str]:
    """Return the manifests of snapshots, their lists, and the data files that they name."""
    manifests = {manifest.manifest_path: manifest for s in snapshots for manifest in s.manifests(io)}
    files = {*manifests, *(s.manifest_list for s in snapshots)}
    if with_data:
        files |= {e.data_file.file_path for m in manifests.values() for e in m.fetch_manifest_entry(io)}
    return files


def _path(uri: str) -> Path:
    """Return the path in a URI, which other programs write with one or three slashes."""
    return Path(urlsplit(uri).path)


def _uri(path_or_uri: str) -> str:
    """Return how Iceberg names a file: readers differ in what a path without a scheme means."""
    return path_or_uri if object_stores.is_object(path_or_uri) else f"file://{os.path.realpath(path_or_uri)}"
