"""The dataset that a page is about, in its store, with its health."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastapi.responses import HTMLResponse

from airflow_provider_odf import settings
from airflow_provider_odf.chain.dataset import Dataset
from airflow_provider_odf.chain.kept_history import History, pages_folder, read_history
from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.cycle import rejected, tested
from airflow_provider_odf.cycle.sensitive import SensitiveColumns
from airflow_provider_odf.errors import OdfError, StorageError
from airflow_provider_odf.ui.airflow_api import Publication
from airflow_provider_odf.ui.catalog_index import CatalogIndex, Entry, entry_of
from airflow_provider_odf.ui.health import Health, health, now
from airflow_provider_odf.ui.links import dataset_path
from airflow_provider_odf.ui.pages import render

if TYPE_CHECKING:
    from airflow_provider_odf.protocol import ContractReport

_TABS = (
    ("", "Overview"),
    ("/data", "Data"),
    ("/blocks", "Blocks"),
    ("/contract", "Contract"),
    ("/rejected", "Rejected"),
    ("/trends", "Trends"),
    ("/lineage", "Lineage"),
)

NEWEST_TESTS = 20


@dataclass(frozen=True)
class Shelf:
    """A store and the index of its datasets, which the subjects of a page share."""

    store: Store
    index: CatalogIndex

    @classmethod
    def open(cls, uri: str) -> Shelf:
        """Return the shelf of a store."""
        store = open_store(uri)
        return cls(store, CatalogIndex(store.work_area))


def open_store(uri: str) -> Store:
    """Return a store as the settings of Airflow describe it."""
    config = settings.read()
    return Store.open(uri, Path(config.work_area) if config.work_area else None, config.input_stores)


@dataclass(frozen=True)
class Subject:
    """The dataset that a page is about. Without a shelf its chain is read."""

    publication: Publication
    shelf: Shelf | None = None

    @cached_property
    def store(self) -> Store:
        return self.shelf.store if self.shelf is not None else open_store(self.publication.store)

    @cached_property
    def dataset(self) -> Dataset:
        """The dataset in its store.

        :raises DatasetGone: the store had the dataset.
        :raises DatasetNotFound: no run has created it yet.
        :raises StorageError: there is no such store on this machine.
        """
        if (dataset := self.store.get(self.publication.alias)) is not None:
            return dataset
        if not self.store.storage.exists():
            raise StorageError(
                f"The store of dataset {self.publication.alias} does not exist on the API server: no run has created "
                "it, or it is not mounted"
            )
        return self.store.dataset(self.publication.alias)

    @property
    def pages_folder(self) -> Path:
        """The folder of what pages keep about the dataset."""
        return pages_folder(self.dataset, self.store.work_area)

    @cached_property
    def history(self) -> History:
        return read_history(self.dataset, self.store.work_area)

    @cached_property
    def entry(self) -> Entry:
        """What the catalog shows of the dataset."""
        if self.shelf is not None:
            return self.shelf.index.entry(self.dataset)
        return entry_of(self.dataset, self.history)

    @cached_property
    def report(self) -> ContractReport | None:
        """The contract report of the last publication, or None if no contract was tested."""
        newest = self.history.newest_data
        return rejected.load_report(self.dataset, newest.block_hash) if newest is not None else None

    @cached_property
    def undecided(self) -> list[rejected.Rejection]:
        """The rejected candidates on the current head that somebody must decide on, oldest first."""
        head = self.entry.head
        return [r for r in rejected.rejections(self.dataset) if tested.status(self.dataset, r, head) == tested.WAITING]

    @cached_property
    def tests(self) -> list[tested.Tested]:
        """The newest publications and candidates that a contract was tested on, newest first."""
        return tested.newest(self.dataset, self.history.state.head, NEWEST_TESTS)

    @cached_property
    def sensitive(self) -> frozenset[str]:
        """Columns whose values pages do not show, in lower case."""
        now = SensitiveColumns(self.store).names(self.dataset, self.history.state)
        return tested.sensitive_columns(self.tests) | now

    @cached_property
    def health(self) -> Health:
        return health(
            self.publication,
            has_data=self.entry.last_offset is not None,
            rejected=len(self.undecided),
            behind=list(self._behind()),
            now=now(),
        )

    def _behind(self) -> Iterator[str]:
        """Yield the names of inputs with records that the dataset was not computed from. Inputs that cannot be read are
        left out: the next run reports them."""
        for ref, alias in self.entry.inputs:
            try:
                dataset = self.store.find(ref)
                source = self._entry_of(dataset) if dataset is not None else None
            except (OdfError, OSError, ValueError):
                continue
            if source is not None and source.last_offset not in (None, self.entry.positions.get(source.dataset_id)):
                yield self.store.input_name(ref, alias)

    def _entry_of(self, dataset: Dataset) -> Entry:
        if self.shelf is not None:
            return self.shelf.index.entry(dataset)
        return entry_of(dataset, read_history(dataset, self.store.work_area))

    def path(self, page: str = "") -> str:
        """Return the path of a page about the dataset."""
        return dataset_path(self.publication.dag_id, page)

    def render(self, template: str, tab: str, **values: Any) -> HTMLResponse:
        """Return a page with the dataset's name, health and tabs."""
        tabs = [(self.path(page), label, page == tab) for page, label in _TABS]
        return render(template, subject=self, name=self.publication.alias, tabs=tabs, **values)
