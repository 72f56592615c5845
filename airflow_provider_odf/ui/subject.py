"""The dataset that a page is about, in its store, with its health."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import Depends, Request, status
from fastapi.responses import HTMLResponse, RedirectResponse

from airflow_provider_odf.chain import publications
from airflow_provider_odf.chain.dataset import Dataset, is_hash
from airflow_provider_odf.cycle import candidates, tested
from airflow_provider_odf.cycle.sensitive import SensitiveColumns
from airflow_provider_odf.errors import InvalidInput, StorageError
from airflow_provider_odf.health.facts import Candidates, Newest, facts_of, read_candidates, read_inputs
from airflow_provider_odf.health.health import Health, Runs, health
from airflow_provider_odf.hooks.odf import open_store
from airflow_provider_odf.operators.decision import run_prefix
from airflow_provider_odf.operators.links import dataset_path
from airflow_provider_odf.ui.airflow_api import Publication, PublishTask, Readers, publication, readers
from airflow_provider_odf.ui.catalog_index import CatalogIndex, Entry, entry_of
from airflow_provider_odf.ui.chain_cache import History, Positions, pages_folder, read_history, read_positions
from airflow_provider_odf.ui.pages import render

if TYPE_CHECKING:
    from airflow_provider_odf.chain.publications import Publication as Published
    from airflow_provider_odf.chain.store import Store
    from airflow_provider_odf.cycle.candidates import Record, Rejection
    from airflow_provider_odf.manifest.model import MetadataBlock
    from airflow_provider_odf.protocol import ContractReport

_TABS = (
    ("", "Overview"),
    ("/data", "Data"),
    ("/columns", "Columns"),
    ("/blocks", "Blocks"),
    ("/publications", "Publications"),
    ("/contract", "Contract"),
    ("/rejected", "Rejected"),
    ("/completeness", "Completeness"),
    ("/trends", "Trends"),
    ("/lineage", "Lineage"),
)

_NEWEST_TESTS = 20


@dataclass(frozen=True)
class Subject:
    """The dataset that a page is about. A page about many has an index of their store; without one, chains are read."""

    publication: Publication
    index: CatalogIndex | None = None

    @cached_property
    def store(self) -> Store:
        return self.index.store if self.index is not None else open_store(self.publication.store)

    @cached_property
    def dataset(self) -> Dataset:
        """The dataset in its store.

        :raises DatasetGone: the store had the dataset.
        :raises DatasetNotFound: no run has created it yet.
        :raises StorageError: there is no such store on this machine.
        """
        if (dataset := self.store.get(self.publication.alias)) is not None:
            return dataset
        if self.publication.has_published and not self.store.storage.exists():
            raise StorageError(
                f"The store of dataset {self.publication.alias} does not exist on the API server: a run has published "
                "to it before, so it is not mounted, or it was removed"
            )
        return self.store.for_readers(self.publication.alias)

    @property
    def cached(self) -> Dataset:
        """The dataset with the caches of pages, whose users may be others than the writers of the dataset."""
        return replace(self.dataset, cache=self.pages_folder)

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
        return self._entry_of(self.dataset, None if self.index is not None else self.history)

    @cached_property
    def newest_record(self) -> tuple[str, Record] | None:
        """The block and the record of the newest data, None if it was not tested."""
        return tested.newest_record(self.dataset, self.history.state.head)

    @property
    def newest_report(self) -> tuple[str, ContractReport] | None:
        """The contract report on the newest data and its block, or None if no contract was tested."""
        if self.newest_record is None or self.newest_record[1].report is None:
            return None
        return self.newest_record[0], self.newest_record[1].report

    @cached_property
    def candidates(self) -> Candidates:
        """The candidates on the current head."""
        return read_candidates(self.dataset, self.entry.head)

    @cached_property
    def positions(self) -> Positions:
        """The blocks of the chain, and when they were published."""
        return read_positions(self.dataset, self.history.state.head, self.store.work_area)

    def publication_of(self, block_hash: str, block: MetadataBlock | None = None) -> Published | None:
        """Return who published a block, when and why; None if it is not published, or if that is not recorded.

        :param block: the block, if it was read.
        """
        number = (block or self.dataset.block(block_hash)).sequence_number
        hashes, history = self.positions.hashes, self.positions.published
        entry = history.entry(number) if number < len(hashes) and hashes[number] == block_hash else None
        return publications.read(self.dataset, entry) if entry is not None else None

    @cached_property
    def tests(self) -> list[tested.Tested]:
        """The newest publications and candidates that a contract was tested on, newest first."""
        return tested.newest(self.positions.published, _NEWEST_TESTS)

    @cached_property
    def sensitive(self) -> frozenset[str]:
        """Columns whose values pages do not show, in lower case."""
        now = SensitiveColumns(self.store).names(self.dataset, self.history.state)
        return tested.sensitive_columns(self.tests) | now

    @cached_property
    def health(self) -> Health:
        """The health of the dataset.

        :raises DatasetNotFound: no run has created it yet.
        """
        entry = self.entry
        inputs = read_inputs(self.store, entry.inputs, entry.positions.get, self._newest)
        facts = facts_of(entry.facts, entry.last_offset is not None, self.candidates, inputs)
        return health(facts, self._runs, datetime.now(UTC))

    @property
    def next_run_words(self) -> str | None:
        """How the next run starts, None if `Publication.next_run` says when."""
        dag, is_running = self.publication, self._runs.is_running
        if dag.is_paused:
            return "the DAG is paused"
        if dag.next_run is not None and not (is_running and datetime.fromisoformat(dag.next_run) < datetime.now(UTC)):
            return None
        if dag.schedule is None:
            return "by an event or by hand"
        return f"{'after the run that is running now, ' if is_running else ''}by the schedule {dag.schedule}"

    @cached_property
    def _runs(self) -> Runs:
        dag, task = self.publication, self.publication.newest_task
        next_run = datetime.fromisoformat(dag.next_run) if dag.next_run is not None else None
        if task is None:
            return Runs(dag.run_state, dag.is_paused, next_run)
        due = datetime.fromisoformat(task.run_after)
        is_active = task.state not in ("success", "failed", "upstream_failed", "skipped", "removed")
        prefixes = [run_prefix(rejection.block_hash) for rejection in self.candidates.undecided]
        deciding = task.run_id if is_active and any(map(task.run_id.startswith, prefixes)) else None
        if dag.run_state == "failed":
            return Runs(dag.run_state, dag.is_paused, next_run, due=due, deciding=deciding)
        unpublished = task.run_id if self._has_not_published(task) else None
        state = "running" if is_active else dag.run_state
        return Runs(state, dag.is_paused, next_run, unpublished, due, deciding)

    def _has_not_published(self, task: PublishTask) -> bool:
        """Whether a run succeeded, by a user's mark, although its task that publishes did not publish."""
        if task.state in ("failed", "upstream_failed"):
            return True
        published = self.entry.facts.published
        is_older = published is None or published.to_datetime() < datetime.fromisoformat(task.run_after)
        return task.state == "success" and is_older and self.entry.facts.run_id != task.run_id

    def _newest(self, dataset: Dataset) -> Newest:
        entry = self._entry_of(dataset)
        return Newest(entry.dataset_id, entry.last_offset, entry.published)

    def _entry_of(self, dataset: Dataset, history: History | None = None) -> Entry:
        if self.index is not None:
            return self.index.entry(dataset)
        return entry_of(dataset, self.store.work_area, history)

    def path(self, page: str = "") -> str:
        """Return the path of a page about the dataset."""
        return dataset_path(self.publication.dag_id, page)

    def render(self, template: str, tab: str, **values: Any) -> HTMLResponse:
        """Return a page with the dataset's name, health and tabs."""
        tabs = [(self.path(page), label, page == tab) for page, label in _TABS]
        return render(template, subject=self, name=self.publication.alias, tabs=tabs, **values)

    def redirect(self, page: str) -> RedirectResponse:
        """Return an answer that leads to another page about the dataset."""
        return RedirectResponse(self.path(page), status.HTTP_303_SEE_OTHER)

    def rejection(self, block_hash: str) -> Rejection | None:
        """Return the rejected candidate that ends in a block, or None if there is none."""
        return next((r for r in candidates.rejections(self.dataset) if r.block_hash == block_hash), None)


async def _subject(request: Request, dag_id: str) -> Subject:
    return Subject(await publication(request, dag_id))


SubjectOf = Annotated[Subject, Depends(_subject)]


async def _readers(request: Request, subject: SubjectOf) -> Readers:
    return await readers(request, subject.publication)


ReadersOf = Annotated[Readers, Depends(_readers)]


def _hash(block_hash: str) -> str:
    if not is_hash(block_hash):
        raise InvalidInput(f"{block_hash[:80]!r} is not the hash of a block")
    return block_hash


HashOf = Annotated[str, Depends(_hash)]
"""The hash of a block in the path of a page."""
