"""The dataset that a page is about, in its store, with its health."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from fastapi.responses import HTMLResponse

from airflow_provider_odf import settings
from airflow_provider_odf.chain.dataset import Dataset
from airflow_provider_odf.chain.kept_history import History, read_history
from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.cycle import rejected
from airflow_provider_odf.errors import OdfError, StorageError
from airflow_provider_odf.ui.airflow_api import Publication
from airflow_provider_odf.ui.health import Health, health, now
from airflow_provider_odf.ui.links import site_path
from airflow_provider_odf.ui.pages import render

if TYPE_CHECKING:
    from airflow_provider_odf.protocol import ContractReport

_TABS = (("", "Overview"), ("/data", "Data"), ("/blocks", "Blocks"), ("/trends", "Trends"), ("/lineage", "Lineage"))


@dataclass(frozen=True)
class Subject:
    """The dataset that a page is about."""

    publication: Publication

    @cached_property
    def store(self) -> Store:
        config = settings.read()
        work_area = Path(config.work_area) if config.work_area else None
        return Store.open(self.publication.store, work_area, config.input_stores)

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

    @cached_property
    def history(self) -> History:
        return read_history(self.dataset, self.store.work_area)

    @cached_property
    def report(self) -> ContractReport | None:
        """The contract report of the last publication, or None if no contract was tested."""
        newest = self.history.newest_data
        return rejected.load_report(self.dataset, newest.block_hash) if newest is not None else None

    @cached_property
    def undecided(self) -> list[rejected.Rejection]:
        """The rejected candidates on the current head that somebody must decide on, oldest first."""
        head = self.history.state.head
        return [
            r
            for r in rejected.rejections(self.dataset)
            if r.base == head and not r.record.is_discarded and not rejected.is_accepted(self.dataset, r.record)
        ]

    @cached_property
    def health(self) -> Health:
        return health(
            self.publication,
            has_data=self.history.state.has_data,
            rejected=len(self.undecided),
            behind=list(self._behind()),
            now=now(),
        )

    def _behind(self) -> Iterator[str]:
        """Yield the names of inputs with records that the dataset was not computed from. Inputs that cannot be read are
        left out: the next run reports them."""
        state = self.history.state
        for declared in state.transform.inputs if state.transform is not None else ():
            try:
                dataset = self.store.find(declared.dataset_ref)
                source = read_history(dataset, self.store.work_area).state if dataset is not None else None
            except (OdfError, OSError, ValueError):
                continue
            position = state.query_inputs.get(source.dataset_id) if source is not None else None
            if source is not None and source.has_data and (position is None or position.offset != source.last_offset):
                yield self.store.input_name(declared.dataset_ref, declared.alias)

    def path(self, page: str = "") -> str:
        """Return the path of a page about the dataset."""
        return site_path(f"/datasets/{quote(self.publication.dag_id, safe='')}{page}")

    def render(self, template: str, tab: str, **values: Any) -> HTMLResponse:
        """Return a page with the dataset's name, health and tabs."""
        tabs = [(self.path(page), label, page == tab) for page, label in _TABS]
        return render(template, subject=self, name=self.publication.alias, tabs=tabs, **values)
