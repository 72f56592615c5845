"""Iceberg tables over slices, by pyiceberg's ``add_files``. The files have no field ids: each table has a name mapping.

Tables of the history must neither delete the files of the dataset nor retry a commit: pyiceberg's retry would add the
files again that another writer has just added. Slices have times in milliseconds, which Iceberg for Spark reads as
microseconds where a dictionary encodes them, except without its vectorized reader (apache/iceberg#17135).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

import pyarrow as pa

from airflow_provider_odf import closed_files, object_stores
from airflow_provider_odf.error_conversion import extra_not_installed, storage_errors
from airflow_provider_odf.errors import CommitConflict, InvalidInput, StorageError
from airflow_provider_odf.reading import tables as shared
from airflow_provider_odf.reading.tables import BLOCK, DATASET_ID, ExportedTable, Source, Tables
from airflow_provider_odf.redaction import redact
from airflow_provider_odf.wording import listed

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table, Transaction

    from airflow_provider_odf.reading.scan import Scan

_PROPERTIES = {"commit.retry.num-retries": "0", "commit.manifest-merge.enabled": "true"}
_OF_HISTORY = {"gc.enabled": "false", "read.parquet.vectorization.enabled": "false"}
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
        yield IcebergTables(opened, path is not None)


def _folder(folder: str) -> Path:
    if object_stores.is_object(folder) or "://" in folder:
        raise InvalidInput(
            f"{folder}: the catalog in SQLite needs a folder of this machine: name one, or a catalog of pyiceberg"
        )
    path = Path(folder).expanduser().absolute() / "iceberg"
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
    except conflicts as e:
        raise CommitConflict(f"Iceberg catalog {catalog}: another writer came first: run again: {e}") from e
    except (exceptions.RESTError, exceptions.WaitingForLockException, SQLAlchemyError, OSError) as e:
        raise StorageError(f"Iceberg catalog {catalog}: {redact(str(e))}") from e
    except (exceptions.ValidationError, exceptions.NotInstalledError, ValueError, TypeError) as e:
        raise InvalidInput(f"Iceberg catalog {catalog}: {redact(str(e))}") from e


class IcebergTables(Tables):
    """Tables of a catalog. ``has_hints`` says whether each gets a ``version-hint.text``, by which DuckDB finds the
    newest metadata in a folder."""

    format = "Iceberg"
    types = (pa.time64("us"),)

    def __init__(self, catalog: Catalog, has_hints: bool) -> None:
        self._catalog = catalog
        self._has_hints = has_hints

    def history(self, name: tuple[str, str], source: Source) -> ExportedTable:
        from pyiceberg.expressions import AlwaysTrue

        table = self._load(name, source)  # before the chain is read, which then is no older
        before = table.metadata_location if table is not None else None
        scan = source.history()
        columns, present, has_deletes = self.columns(scan), set[str](), False
        for task in table.scan().plan_files() if table is not None else ():
            present.add(task.file.file_path)
            has_deletes |= bool(task.delete_files)
        files = shared.slice_files(scan, {*present, *(["deleted rows"] if has_deletes else [])}, _uri)
        about = {BLOCK: scan.block}
        transaction = table.transaction() if table is not None else self._create(name, scan, columns, _OF_HISTORY)
        with transaction as open_table:
            with open_table.update_schema() as update:
                update.union_by_name(columns)
            if present and files.is_rewritten:
                open_table.delete(AlwaysTrue(), about)
            if files.new:
                open_table.add_files(list(files.new), about, check_duplicate_files=False)
        change = "created" if table is None else "replaced" if files.is_rewritten else "appended"
        made = self._exported(name, scan, change, slices=len(files.new), records=files.records)
        return made._replace(change="unchanged") if made.location == before else made

    def current(self, name: tuple[str, str], source: Source) -> ExportedTable:
        table = self._load(name, source)
        scan = source.current()
        columns = self.columns(scan)
        newest = table.current_snapshot() if table is not None else None
        if newest is not None and newest.summary is not None and newest.summary.get(BLOCK) == scan.block:
            return self._exported(name, scan, "unchanged")
        rows, about = scan.to_table().cast(columns), {BLOCK: scan.block}
        transaction = table.transaction() if table is not None else self._create(name, scan, columns, {})
        with transaction as open_table:
            with open_table.update_schema() as update:
                update.union_by_name(columns)
            if newest is None:
                open_table.append(rows, about)
            else:
                open_table.overwrite(rows, snapshot_properties=about)
        return self._exported(name, scan, "created" if table is None else "replaced", records=len(rows))

    def _load(self, name: tuple[str, str], source: Source) -> Table | None:
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
        if table.properties.get(DATASET_ID) != source.id:
            raise shared.not_ours(".".join(name), source)
        return table

    def _create(self, name: tuple[str, str], scan: Scan, columns: pa.Schema, own: Mapping[str, str]) -> Transaction:
        self._catalog.create_namespace_if_not_exists(name[0])
        comment = f"{scan.kind} of Open Data Fabric dataset {scan.dataset.alias}{_ADVICE if own else ''}"
        properties = {**_PROPERTIES, **own, DATASET_ID: scan.state.dataset_id, "comment": comment}
        return self._catalog.create_table_transaction(name, columns, properties=properties)

    def _exported(
        self, name: tuple[str, str], scan: Scan, change: str, slices: int = 0, records: int = 0
    ) -> ExportedTable:
        location = self._catalog.load_table(name).metadata_location
        if self._has_hints:
            file = Path(unquote(urlsplit(location).path))
            hint = file.with_name("version-hint.text")
            with storage_errors(hint):
                pending = hint.with_suffix(".new")
                pending.write_text(file.name.removesuffix(".metadata.json"))
                pending.replace(hint)
        return ExportedTable(".".join(name), location, scan.block, slices, records, change)


def _uri(path_or_uri: str) -> str:
    """Return how Iceberg names a file: readers differ in what a path without a scheme means."""
    return path_or_uri if object_stores.is_object(path_or_uri) else f"file://{path_or_uri}"
