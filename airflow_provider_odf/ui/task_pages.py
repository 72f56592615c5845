"""The pages that links of tasks lead to: a block, and the report on a candidate.

A link is signed and names the store that its task used. Where the DAG publishes this dataset, the link leads to the
dataset's pages. A DAG without an asset has only the pages of its links.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated
from urllib.parse import quote

from fastapi import Depends, HTTPException, Request, status
from fastapi.responses import RedirectResponse, Response

from airflow_provider_odf.cycle import rejected
from airflow_provider_odf.errors import OdfError
from airflow_provider_odf.operators.links import Ticket, site_path
from airflow_provider_odf.ui.airflow_api import publication
from airflow_provider_odf.ui.dataset_pages import block_text
from airflow_provider_odf.ui.pages import render

if TYPE_CHECKING:
    from airflow_provider_odf.chain.dataset import Dataset


async def dataset_path(request: Request, dag_id: str, ticket: str) -> str | None:
    """Return the path of the pages of a link's dataset, or None if the DAG does not publish it, or the user may not
    see that it does."""
    with _not_found():
        content = Ticket.read(ticket, dag_id)
    try:
        uri = (await publication(request, dag_id)).uri
    except HTTPException:
        return None
    is_same = uri.lower() == f"{content.store.rstrip('/')}/{content.dataset}".lower()
    return site_path(f"/datasets/{quote(dag_id, safe='')}") if is_same else None


PathOf = Annotated[str | None, Depends(dataset_path)]


def block(dag_id: str, ticket: str, path: PathOf) -> Response:
    """Return a block as YAML, with its literal secrets masked."""
    with _open(dag_id, ticket) as (dataset, block_hash):
        found, text = dataset.block(block_hash), block_text(dataset, block_hash)
    if path is not None:
        return RedirectResponse(f"{path}/blocks/{block_hash}", status.HTTP_303_SEE_OTHER)
    values = {
        "block": found,
        "block_hash": block_hash,
        "text": text,
        "blocks_path": None,
        "published": None,
        "run_id": None,
    }
    return render("block.html", name=dataset.alias, tabs=[], **values)


def report(dag_id: str, ticket: str, path: PathOf) -> Response:
    """Return why the candidate that ends in a block was held back, and its contract report."""
    with _open(dag_id, ticket) as (dataset, block_hash):
        found, record = dataset.block(block_hash), rejected.load(dataset, block_hash)
    if record is None:
        raise HTTPException(404, f"block {block_hash} of {dataset.alias} has no contract report")
    if path is not None:
        return RedirectResponse(f"{path}/contract/{block_hash}", status.HTTP_303_SEE_OTHER)
    values = {"block": found, "block_hash": block_hash, "record": record, "blocks_path": None, "published": None}
    return render("report.html", name=dataset.alias, tabs=[], **values)


@contextmanager
def _open(dag_id: str, text: str) -> Iterator[tuple[Dataset, str]]:
    """Yield the dataset and the block of a link."""
    from airflow_provider_odf.chain.store import Store

    with _not_found():
        ticket = Ticket.read(text, dag_id)
        yield Store.open(ticket.store).dataset(ticket.dataset), ticket.block_hash


@contextmanager
def _not_found() -> Iterator[None]:
    """Raise errors as 404."""
    try:
        yield
    except OdfError as e:
        raise HTTPException(404, "The link is not valid, or its block no longer exists.") from e
