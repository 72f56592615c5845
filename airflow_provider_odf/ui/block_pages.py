"""Pages about the blocks of a dataset, and the access to what the link of a task leads to.

A link is signed and names the store that its task used. Where the DAG publishes this dataset, the link leads to the
dataset's pages. A DAG without an asset has only the pages of its links.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Annotated, NamedTuple

from fastapi import Depends, HTTPException, Query, Request
from fastapi.responses import HTMLResponse, Response

from airflow_provider_odf.chain.dataset import Dataset, is_hash
from airflow_provider_odf.chain.dataset_facts import event_summary
from airflow_provider_odf.cycle.candidates import load_record
from airflow_provider_odf.errors import DatasetNotFound, InvalidInput, OdfError
from airflow_provider_odf.hooks.odf import open_store
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest import public_source
from airflow_provider_odf.manifest.model import MetadataBlock
from airflow_provider_odf.operators.links import Ticket
from airflow_provider_odf.ui.airflow_api import (
    Failure,
    ManifestNotValid,
    failure_of,
    merged_block,
    publication,
    published_block,
    publishing_run,
    run_state,
)
from airflow_provider_odf.ui.block_view import BlockView, block_text, counts_of
from airflow_provider_odf.ui.pages import render
from airflow_provider_odf.ui.subject import Subject, SubjectOf
from airflow_provider_odf.ui.trends_page import records_chart

_BLOCKS_OF_A_PAGE = 50


class Entry(NamedTuple):
    """One block. ``counts`` are numbers of records by operation (``+A``), empty for a block without records, None if
    its slice cannot be read."""

    block_hash: str
    number: int
    system_time: Instant
    kind: str
    summary: str
    counts: Mapping[str, int] | None


def blocks(subject: SubjectOf, start: Annotated[str, Query(alias="from")] = "") -> HTMLResponse:
    """Return the chain as a timeline, newest block first."""
    state = subject.history.state
    if start:
        if not is_hash(start):
            raise InvalidInput(f"{start!r} is not the hash of a block")
        _check_known(subject, start)
    newest_first = list(islice(subject.dataset.walk(start or state.head), _BLOCKS_OF_A_PAGE))
    entries = [_entry(subject, block_hash, block) for block_hash, block in newest_first]
    with_data = [entry for entry in reversed(entries) if entry.counts != {}]
    labels = tuple(f"block {entry.number:,}" for entry in with_data)
    chart = records_chart(labels, [entry.counts for entry in with_data])
    older = newest_first[-1][1].prev_block_hash
    return subject.render("blocks.html", "/blocks", entries=entries, older=older, state=state, chart=chart)


def _entry(subject: Subject, block_hash: str, block: MetadataBlock) -> Entry:
    counts = counts_of(subject, subject.history.state, block)
    summary = event_summary(public_source.dump(block.event), subject.store.input_name).partition("\n")[0]
    return Entry(block_hash, block.sequence_number, block.system_time, block.event.kind, summary, counts)


def block(subject: SubjectOf, block_hash: str, run_id: Annotated[str | None, Depends(publishing_run)]) -> HTMLResponse:
    """Return what one block changed and why, with the run that published it; the block as YAML comes last."""
    _check_known(subject, block_hash)
    view = BlockView(subject, block_hash, subject.dataset.block(block_hash))
    return subject.render("block.html", "/blocks", view=view, run_id=run_id)


class RunOutcome(NamedTuple):
    """What became of a run: the block that it published, else the candidate that it merged, its state, and why it
    failed."""

    published: str | None
    merged: str | None = None
    state: str = ""
    failure: Failure | None = None


async def _outcome(request: Request, dag_id: str, run_id: str) -> RunOutcome:
    if (block_hash := await published_block(request, dag_id, run_id)) is not None:
        return RunOutcome(block_hash)
    failure = await failure_of(request, dag_id, run_id)
    merged = await merged_block(request, dag_id, run_id)
    return RunOutcome(None, merged, await run_state(request, dag_id, run_id), failure)


def run(subject: SubjectOf, run_id: str, outcome: Annotated[RunOutcome, Depends(_outcome)]) -> Response:
    """Return the page of the block that a run published, that of its candidate, or one that says why it has none."""
    if outcome.published is not None:
        return subject.redirect(f"/blocks/{outcome.published}")
    if outcome.merged is not None and load_record(subject.dataset, outcome.merged) is not None:
        return subject.redirect(f"/rejected/{outcome.merged}")
    return subject.render("run.html", "", run_id=run_id, state=outcome.state, failure=outcome.failure)


def _check_known(subject: Subject, block_hash: str) -> None:
    """Check that a dataset has a block.

    :raises DatasetNotFound: it has not.
    """
    if not is_hash(block_hash) or subject.dataset.storage.stat(f"blocks/{block_hash}") is None:
        raise DatasetNotFound(f"dataset {subject.publication.alias} has no block {block_hash}")


class Linked(NamedTuple):
    """What the link of a task leads to."""

    uri: str
    """URI of the dataset."""
    dataset: Dataset
    block_hash: str
    block: MetadataBlock

    def render(self, template: str, **values: object) -> HTMLResponse:
        """Return a page about the block that leads to no others."""
        about = {
            "block": self.block,
            "block_hash": self.block_hash,
            "blocks_path": None,
            "published": None,
            "publication": None,
        }
        return render(template, name=self.dataset.alias, tabs=[], **about, **values)


def _linked(dag_id: str, ticket: str) -> Linked:
    try:
        content = Ticket.read(ticket, dag_id)
        dataset = open_store(content.store).dataset(content.dataset)
        block = dataset.block(content.block_hash)
    except OdfError as e:
        raise HTTPException(404, "The link is not valid, or its block no longer exists.") from e
    return Linked(f"{content.store.rstrip('/')}/{content.dataset}", dataset, content.block_hash, block)


LinkedOf = Annotated[Linked, Depends(_linked)]


async def _published(request: Request, dag_id: str, linked: LinkedOf) -> Subject | None:
    """Return the dataset of a link if the DAG publishes it, and the user may see that it does."""
    try:
        published = await publication(request, dag_id)
    except (HTTPException, ManifestNotValid):
        return None
    return Subject(published) if published.uri.lower() == linked.uri.lower() else None


PublishedOf = Annotated[Subject | None, Depends(_published)]


def linked_block(linked: LinkedOf, subject: PublishedOf) -> Response:
    """Return the block of a link as YAML."""
    if subject is not None:
        return subject.redirect(f"/blocks/{linked.block_hash}")
    return linked.render("linked_block.html", text=block_text(linked.block))
