"""Pages about the dataset of a DAG."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote

from fastapi import Depends, Query, Request
from fastapi.responses import HTMLResponse

from airflow_provider_odf import settings
from airflow_provider_odf.chain.as_of import data_as_of
from airflow_provider_odf.chain.dataset import Dataset, is_hash
from airflow_provider_odf.chain.kept_history import History, pages_folder, read_history
from airflow_provider_odf.chain.replay import replay
from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.errors import DatasetNotFound, InvalidInput, StorageError
from airflow_provider_odf.reading.row_page import row_page
from airflow_provider_odf.ui.airflow_api import Publication, publication
from airflow_provider_odf.ui.data_query import DataQuery
from airflow_provider_odf.ui.links import site_path
from airflow_provider_odf.ui.pages import render

if TYPE_CHECKING:
    from airflow_provider_odf.ui.health import Health

BLOCKS_OF_A_PAGE = 50
_TABS = (("", "Overview"), ("/data", "Data"), ("/blocks", "Blocks"))


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
    def health(self) -> Health:
        from airflow_provider_odf.ui.overview import health_of

        return health_of(self)

    def path(self, page: str = "") -> str:
        """Return the path of a page about the dataset."""
        return site_path(f"/datasets/{quote(self.publication.dag_id, safe='')}{page}")

    def render(self, template: str, tab: str, **values: Any) -> HTMLResponse:
        """Return a page with the dataset's name, health and tabs."""
        tabs = [(self.path(page), label, page == tab) for page, label in _TABS]
        return render(template, subject=self, name=self.publication.alias, tabs=tabs, **values)


async def _subject(request: Request, dag_id: str) -> Subject:
    return Subject(await publication(request, dag_id))


SubjectOf = Annotated[Subject, Depends(_subject)]


def overview(subject: SubjectOf) -> HTMLResponse:
    """Return the dataset at a glance."""
    from airflow_provider_odf.ui.overview import overview_of

    try:
        values = overview_of(subject)
    except DatasetNotFound:
        return subject.render("never_run.html", "")
    return subject.render("overview.html", "", **values)


def blocks(subject: SubjectOf, start: Annotated[str, Query(alias="from")] = "") -> HTMLResponse:
    """Return the chain as a timeline, newest block first."""
    from airflow_provider_odf.chain.timeline import timeline

    state = subject.history.state
    if start and not is_hash(start):
        raise InvalidInput(f"{start!r} is not the hash of a block")
    page = timeline(
        subject.dataset,
        start or state.head,
        BLOCKS_OF_A_PAGE,
        state.vocab.operation_type_column,
        subject.store.input_name,
    )
    return subject.render("blocks.html", "/blocks", page=page, state=state)


def block(subject: SubjectOf, block_hash: str) -> HTMLResponse:
    """Return one block as YAML."""
    if not is_hash(block_hash) or subject.dataset.storage.stat(f"blocks/{block_hash}") is None:
        raise DatasetNotFound(f"dataset {subject.publication.alias} has no block {block_hash}")
    found = subject.dataset.block(block_hash)
    text = block_text(subject.dataset, block_hash)
    return subject.render("block.html", "/blocks", block=found, block_hash=block_hash, text=text)


def data(subject: SubjectOf, query: Annotated[DataQuery, Query()]) -> HTMLResponse:
    """Return current rows or the history, a page at a time."""
    dataset = subject.dataset
    state = replay(dataset, data_as_of(dataset, query.as_of)) if query.as_of else subject.history.state
    question = query.question()
    page = row_page(dataset, state, question, pages_folder(dataset, subject.store.work_area))
    link = partial(query.link, subject.path("/data"))
    return subject.render("data.html", "/data", question=question, query=query, page=page, state=state, link=link)


def block_text(dataset: Dataset, block_hash: str) -> str:
    """Return a block in the manifest's spelling, with its literal secrets masked."""
    from airflow_provider_odf.manifest.public_source import dump
    from airflow_provider_odf.manifest.yaml_source import dump_yaml

    return dump_yaml(dump(dataset.block(block_hash)))


PAGES: Mapping[str, Callable[..., HTMLResponse]] = {
    "": overview,
    "/data": data,
    "/blocks": blocks,
    "/blocks/{block_hash}": block,
}
"""Path after that of the DAG -> page."""
