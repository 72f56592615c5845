"""Pages about the dataset of a DAG."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated

from fastapi import Depends, Query, Request, status
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from airflow_provider_odf.chain.dataset import Dataset, is_hash
from airflow_provider_odf.errors import DatasetNotFound, InvalidInput
from airflow_provider_odf.ui.airflow_api import publication
from airflow_provider_odf.ui.asset_events import published_block, publishing_run
from airflow_provider_odf.ui.decision_form import TokenOf
from airflow_provider_odf.ui.overview import overview_of
from airflow_provider_odf.ui.subject import Subject
from airflow_provider_odf.ui.trend_charts import records_chart

BLOCKS_OF_A_PAGE = 50


async def _subject(request: Request, dag_id: str) -> Subject:
    return Subject(await publication(request, dag_id))


SubjectOf = Annotated[Subject, Depends(_subject)]


def overview(subject: SubjectOf, token: TokenOf) -> HTMLResponse:
    """Return the dataset at a glance."""
    try:
        values = overview_of(subject)
    except DatasetNotFound:
        return subject.render("never_run.html", "")
    return subject.render("overview.html", "", token=token, **values)


def blocks(subject: SubjectOf, start: Annotated[str, Query(alias="from")] = "") -> HTMLResponse:
    """Return the chain as a timeline, newest block first."""
    from airflow_provider_odf.chain.timeline import timeline

    state = subject.history.state
    if start:
        if not is_hash(start):
            raise InvalidInput(f"{start!r} is not the hash of a block")
        _check_known(subject, start)
    page = timeline(
        subject.dataset,
        start or state.head,
        BLOCKS_OF_A_PAGE,
        state.vocab.operation_type_column,
        subject.store.input_name,
    )
    with_data = [entry for entry in reversed(page.entries) if entry.counts != {}]
    labels = tuple(f"block {entry.number:,}" for entry in with_data)
    chart = records_chart("records", labels, [entry.counts for entry in with_data])
    return subject.render("blocks.html", "/blocks", page=page, state=state, chart=chart)


def block(subject: SubjectOf, block_hash: str, run_id: Annotated[str | None, Depends(publishing_run)]) -> HTMLResponse:
    """Return one block as YAML, with the run that published it."""
    _check_known(subject, block_hash)
    found = subject.dataset.block(block_hash)
    text = block_text(subject.dataset, block_hash)
    number, positions = found.sequence_number, subject.positions
    is_published = number < len(positions.hashes) and positions.hashes[number] == block_hash
    return subject.render(
        "block.html",
        "/blocks",
        block=found,
        block_hash=block_hash,
        text=text,
        blocks_path=subject.path("/blocks/"),
        published=positions.since(number) if is_published else None,
        run_id=run_id,
    )


def run(subject: SubjectOf, run_id: str, block_hash: Annotated[str | None, Depends(published_block)]) -> Response:
    """Return the page of the block that a run published, or a page that says that it published none."""
    if block_hash is not None:
        return RedirectResponse(subject.path(f"/blocks/{block_hash}"), status.HTTP_303_SEE_OTHER)
    return subject.render("run.html", "", run_id=run_id)


def _check_known(subject: Subject, block_hash: str) -> None:
    """Check that a dataset has a block.

    :raises DatasetNotFound: it has not.
    """
    if not is_hash(block_hash) or subject.dataset.storage.stat(f"blocks/{block_hash}") is None:
        raise DatasetNotFound(f"dataset {subject.publication.alias} has no block {block_hash}")


def block_text(dataset: Dataset, block_hash: str) -> str:
    """Return a block in the manifest's spelling, with its literal secrets masked."""
    from airflow_provider_odf.manifest.public_source import dump
    from airflow_provider_odf.manifest.yaml_source import dump_yaml

    return dump_yaml(dump(dataset.block(block_hash)))


PAGES: Mapping[str, Callable[..., Response]] = {
    "": overview,
    "/blocks": blocks,
    "/blocks/{block_hash}": block,
    "/runs/{run_id:path}": run,
}
"""Path after that of the DAG -> page."""
