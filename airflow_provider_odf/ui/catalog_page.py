"""The catalog: the datasets of all DAGs that the user may read, a page at a time.

Airflow's REST API lists and searches the DAGs, so that only datasets of the page are read from their stores.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import Depends, Query, Request
from fastapi.responses import HTMLResponse
from pydantic import BaseModel

from airflow_provider_odf.errors import DatasetNotFound, OdfError
from airflow_provider_odf.ui.airflow_api import Publication, publications
from airflow_provider_odf.ui.health import NEVER_RUN
from airflow_provider_odf.ui.links import site_path
from airflow_provider_odf.ui.pages import render
from airflow_provider_odf.ui.problem_page import public
from airflow_provider_odf.ui.subject import Subject

SIZE = 50
"""Datasets of a page."""


class CatalogQuery(BaseModel):
    """Parameters of the page: a part of a name, a keyword, an owner. ``page`` counts from 1."""

    name: str = ""
    keyword: str = ""
    owner: str = ""
    page: int = 1

    def link(self, page: int, path: str = "/datasets") -> str:
        """Return the address of another page of the catalog."""
        parameters = {**self.model_dump(), "page": page}
        return f"{site_path(path)}?{urlencode({name: text for name, text in parameters.items() if text})}"


@dataclass(frozen=True)
class Row:
    """A dataset in the catalog, or why it cannot be shown."""

    subject: Subject
    facts: dict[str, Any]
    problem: str = ""
    word: str = "unreadable"
    """Why there are no facts, in a word."""


async def _publications(request: Request, query: Annotated[CatalogQuery, Query()]) -> tuple[list[Publication], int]:
    offset = (max(1, query.page) - 1) * SIZE
    return await publications(request, limit=SIZE, offset=offset, name=query.name, tag=query.keyword, owner=query.owner)


def catalog(
    query: Annotated[CatalogQuery, Query()],
    listed: Annotated[tuple[list[Publication], int], Depends(_publications)],
) -> HTMLResponse:
    """Return the datasets with health, last publication, watermark, records and contract result."""
    page, total = listed
    last = max(1, -(-total // SIZE))
    return render("catalog.html", rows=list(_rows(page)), query=query, total=total, last=last)


def _rows(page: list[Publication]) -> Iterator[Row]:
    for publication in page:
        subject = Subject(publication)
        if not publication.uri:
            yield Row(subject, {}, "The DAG publishes no dataset: its manifest is not valid. The DAG shows the errors.")
            continue
        try:
            yield Row(subject, _facts(subject))
        except DatasetNotFound:
            yield Row(subject, {}, "No run has created the dataset yet.", NEVER_RUN)
        except OdfError as e:
            yield Row(subject, {}, public(str(e)))
        except OSError as e:
            yield Row(subject, {}, e.strerror or type(e).__name__)


def _facts(subject: Subject) -> dict[str, Any]:
    state = subject.history.state
    return {
        "health": subject.health,
        "kind": state.kind,
        "newest": subject.history.newest_data,
        "watermark": state.watermark,
        "records": state.next_offset,
        "report": subject.report,
    }
