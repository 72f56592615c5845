"""``open_store``: the datasets of a store for Python programs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.errors import ChainError, InvalidInput
from airflow_provider_odf.reading.dataset import PublishedDataset
from airflow_provider_odf.wording import listed

if TYPE_CHECKING:
    from airflow_provider_odf.reading.sql import QueryResult


class PublishedStore:
    """The datasets of a store by name: ``store["acme.scooters"]`` is one of them, and iteration yields all names."""

    def __init__(self, store: Store) -> None:
        self._store = store

    @property
    def uri(self) -> str:
        """URI of the store."""
        return self._store.uri

    def __getitem__(self, name: str) -> PublishedDataset:
        """Return the dataset of a name, ignoring case.

        :raises DatasetNotFound: the store has no such dataset.
        :raises DatasetGone: the store had the dataset, but it is missing.
        :raises InvalidInput: not a name of a dataset.
        """
        if not isinstance(name, str):
            raise InvalidInput(f"{name!r} is no name of a dataset (known: {listed(list(self))})")
        return PublishedDataset(self._store, self._store.for_readers(name))

    def keys(self) -> list[str]:
        """Return the names of the datasets."""
        return list(self)

    def sql(self, query: str) -> QueryResult:
        """Return the rows of a query over current rows (``FROM "bike-stations"``), histories (``FROM
        history."bike-stations"``) and rows as of a time or block (``FROM as_of('bike-stations', '2026-05-01')``)::

            store.sql('SELECT origin, avg(price) FROM "coffee-prices" GROUP BY origin').to_pandas()

        :raises InvalidInput: the query is not valid, or no query.
        :raises DatasetNotFound: the store has no such dataset.
        """
        from airflow_provider_odf.reading.sql import Sql

        return Sql({"store": self}).query(query)

    def __iter__(self) -> Iterator[str]:
        return (str(dataset.alias) for dataset in self._store.datasets())

    def __len__(self) -> int:
        return sum(1 for _ in self._store.datasets())

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._store.get(name) is not None

    def __repr__(self) -> str:
        return f"<store {self._store.location}: {', '.join(self) or 'no datasets yet'}>"

    def _repr_html_(self) -> str:
        """Return the datasets with their descriptions for notebooks."""
        rows = "".join(f"<tr><td>{escape(name)}</td><td>{escape(self._about(name))}</td></tr>" for name in self)
        return (
            f"<p>store {escape(self._store.location)}</p><table>{rows or '<tr><td>no datasets yet</td></tr>'}</table>"
        )

    def _about(self, name: str) -> str:
        try:
            return self[name].description or ""
        except ChainError as e:
            return str(e)


def open_store(uri: str | os.PathLike[str], *, work_area: str | os.PathLike[str] | None = None) -> PublishedStore:
    """Return the datasets of a store::

        scooters = open_store("file:///data/odf")["acme.scooters"]
        scooters.current().to_pandas()
        scooters.changes(since="2026-05-01T00:00:00Z").to_arrow()

    Only published data is visible.

    :param uri: path or ``file:`` URI of the store.
    :param work_area: folder of disposable caches, by default ``.work`` in the store. It need not be writable.
    :raises InvalidInput: there is no such folder, it is that of a dataset, or the URI has an unknown scheme.
    """
    if not os.fspath(uri):
        raise InvalidInput("the path of the store is empty: name its folder, such as 'odf-store'")
    store = Store.open(os.fspath(uri), Path(work_area) if work_area is not None else None)
    store.require("check the path of the store, and that it is mounted")
    return PublishedStore(store)
