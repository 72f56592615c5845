"""``OdfHook``: the store of an Airflow connection."""

from __future__ import annotations

import os
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from airflow.providers.common.compat.sdk import AirflowNotFoundException, BaseHook
from airflow.sdk import Asset

from airflow_provider_odf import object_stores, settings
from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.get_provider_info import ODF_CONNECTION
from airflow_provider_odf.hooks import connections
from airflow_provider_odf.hooks.connection_form import with_form
from airflow_provider_odf.manifest.names import DatasetAlias
from airflow_provider_odf.source.uris import path_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    import pandas as pd
    import polars as pl
    import pyarrow as pa
    from airflow.sdk import Connection

    from airflow_provider_odf.chain.dataset import Dataset
    from airflow_provider_odf.chain.store import Store
    from airflow_provider_odf.reading.dataset import Position, PublishedDataset
    from airflow_provider_odf.reading.scan import HistoryScan

ASSET_GROUP = "odf"
"""Group of the assets of datasets."""

TAG = "odf"
"""Tag of the DAGs of manifests."""

INVALID_TAG = "invalid manifest"
"""Tag of those whose manifest is not valid: their description and documentation have its problems."""


@with_form(ODF_CONNECTION)
class OdfHook(BaseHook):
    """Opens a store of Open Data Fabric datasets.

    The store is the argument, else the connection's, else ``[odf] store``, else ``$ODF_STORE``, else ``odf-store`` in
    the Airflow home.

    :param odf_conn_id: connection of type ``odf``; its host is the store. The default connection need not exist.
    :param store: path or URI of the store, instead of the connection's.
    """

    conn_name_attr = "odf_conn_id"
    default_conn_name = "odf_default"
    conn_type = "odf"
    hook_name = "Open Data Fabric"

    def __init__(self, odf_conn_id: str = default_conn_name, *, store: str | None = None) -> None:
        super().__init__()
        self.odf_conn_id = odf_conn_id
        self._store = store

    @cached_property
    def location(self) -> str:
        """Path or URI of the store."""
        configured = self._store or (self._connection and self._connection.host) or settings.read().store
        return configured or os.environ.get("ODF_STORE") or str(Path(_airflow_home()) / "odf-store")

    def get_conn(self) -> Store:
        """Return the store."""
        return open_store(self.location, self._extra("work_area"))

    def asset(self, dataset: str) -> Asset:
        """Return the Airflow asset of a dataset, with the URI of the dataset's folder."""
        return Asset(uri=self.dataset_uri(dataset), group=ASSET_GROUP)

    def dataset_uri(self, dataset: str) -> str:
        """Return the URI of a dataset's folder, which need not exist."""
        return f"{_uri(self.location).rstrip('/')}/{DatasetAlias.parse(dataset)}"

    def state(self, dataset: str, *, as_of: str | datetime | None = None) -> pa.Table:
        """Return the current rows of a dataset, as ``odf state`` shows them, without the columns of offset and
        operation. Before the first data the table has no rows and may have no columns.

        :param as_of: a system time, as datetime with time zone or in RFC 3339, for the newest block that is not after
            it; or the hash of a block, such as ``blockHash`` of an asset event. By default the head.
        :raises DatasetNotFound: the store has no such dataset.
        :raises InvalidInput: ``as_of`` is not valid, or the dataset had no data yet at that time.
        :raises ChainCorrupted: a block or slice is missing or damaged.
        """
        published = self._published(dataset)
        return (published.current() if as_of is None else published.as_of(as_of)).to_table()

    def get_df(
        self,
        dataset: str,
        *,
        columns: Sequence[str] | None = None,
        as_of: str | datetime | None = None,
        df_type: Literal["pandas", "polars"] = "pandas",
    ) -> pd.DataFrame | pl.DataFrame:
        """Return the current rows of a dataset as a DataFrame, see `state`. Integers and booleans have pandas' types
        with nulls.

        :param columns: names of the columns to read, by default all.
        :param df_type: ``pandas`` or ``polars``, which must be installed.
        :raises InvalidInput: as `state`, or there is no such column or type of DataFrame.
        """
        published = self._published(dataset)
        scan = published.current() if as_of is None else published.as_of(as_of)
        if columns is not None:
            scan = scan.select(*columns)
        if df_type == "pandas":
            return scan.to_pandas()
        if df_type == "polars":
            return scan.to_polars()
        raise InvalidInput(f"unknown df_type {df_type!r}: use pandas or polars")

    def get_changes(self, dataset: str, *, since: Position | None = None, until: Position | None = None) -> HistoryScan:
        """Return the records of a dataset after ``since`` up to and including ``until``, to be read by its methods
        ``to_arrow()`` (a stream), ``to_pandas()`` or ``to_spark(spark)``. Its ``block`` is the next ``since``.

        :param since: a block by its hash or the start of it, a system time as datetime or in RFC 3339, or an offset. By
            default the records begin with the first one.
        :param until: likewise, such as ``blockHash`` of an asset event; by default the newest block.
        :raises DatasetNotFound: the store has no such dataset, or the dataset no such block.
        :raises InvalidInput: a position is not valid.
        """
        return self._published(dataset).changes(since, until)

    def tail(self, dataset: str, n: int = 10, *, as_of: str | datetime | None = None) -> pa.Table:
        """Return the ``n`` newest records of a dataset's history, in offset order. The operation column has the numbers
        of the slices: 0 is ``+A``, 1 ``-R``, 2 ``-C`` and 3 ``+C``.

        :param as_of: as for `state`.
        :raises DatasetNotFound: the store has no such dataset.
        :raises InvalidInput: ``as_of`` is not valid, or the dataset had no data yet at that time.
        :raises ChainCorrupted: a block or slice is missing or damaged.
        """
        from airflow_provider_odf.chain.record_rows import tail_rows

        store = self.get_conn()
        source = store.for_readers(dataset)
        return tail_rows(source, n, _ref(source, as_of)).arrow()

    def reset(self, dataset: str) -> str:
        """Remove all data of a derivative from its history, as ``odf reset`` does, and return its head. The next run
        computes the dataset anew.

        :raises DatasetNotFound: the store has no such dataset.
        :raises InvalidInput: the dataset is a root.
        :raises CommitConflict: other writers came first, each time.
        """
        from airflow_provider_odf.cycle.reset import reset

        store = self.get_conn()
        return reset(store, store.dataset(dataset)).head

    def test_connection(self) -> tuple[bool, str]:
        """Return whether the store can be read, and the number of its datasets or an error."""
        try:
            count = sum(1 for _ in self.get_conn().datasets())
        except Exception as e:
            return False, str(e)
        return True, f"{count} datasets in {self.location}"

    def _published(self, dataset: str) -> PublishedDataset:
        from airflow_provider_odf.reading.store import PublishedStore

        return PublishedStore(self.get_conn())[dataset]

    @cached_property
    def _connection(self) -> Connection | None:
        if self._store:
            return None
        try:
            return connections.connection_of(self.odf_conn_id)
        except AirflowNotFoundException:
            if self.odf_conn_id == self.default_conn_name:
                return None
            raise

    def _extra(self, key: str) -> Any:
        return self._connection.extra_dejson.get(key) if self._connection else None


def open_store(location: str, work_area: str | None = None) -> Store:
    """Return the store at a path or URI as the settings of Airflow describe it.

    :param work_area: in place of ``[odf] work_area``.
    :raises InvalidInput: the URI or a setting is not valid.
    """
    from airflow_provider_odf.chain.store import Store

    config = settings.read()
    object_stores.connect(connections.access)
    folder = work_area or config.work_area
    return Store.open(location, Path(folder) if folder else None, config.input_stores)


def _ref(dataset: Dataset, as_of: str | datetime | None) -> str:
    from airflow_provider_odf.chain.publications import data_as_of

    return "head" if as_of is None else data_as_of(dataset, as_of)


def _airflow_home() -> str:
    from airflow.providers.common.compat.sdk import conf

    return os.environ.get("AIRFLOW_HOME") or os.path.dirname(conf.get("core", "dags_folder"))


def _uri(location: str) -> str:
    path = None if "://" in location else path_of(str(Path(location).expanduser()))
    return location if path is None else path.as_uri()
