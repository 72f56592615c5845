"""The catalog: the datasets of all DAGs that the user may read, a page at a time.

Airflow's REST API lists the DAGs and searches what it knows of them, so that only datasets of the page are looked up. A
search for what only the datasets know asks the index of the catalog about each of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Literal
from urllib.parse import urlencode

from fastapi import Depends, Query, Request
from fastapi.responses import HTMLResponse
from pydantic import BaseModel

from airflow_provider_odf.errors import DatasetNotFound, OdfError
from airflow_provider_odf.health.health import FRESH, MEANINGS, NO_DATA, WORDS, Health
from airflow_provider_odf.hooks.odf import open_store
from airflow_provider_odf.operators.links import site_path
from airflow_provider_odf.ui.airflow_api import Publication, publications
from airflow_provider_odf.ui.catalog_index import CatalogIndex
from airflow_provider_odf.ui.pages import public, render
from airflow_provider_odf.ui.subject import Subject

SIZE = 50
"""Datasets of a page."""

_UNREADABLE = "unreadable"
NOT_WELL = "not well"
"""Stands for all healths but those that need nobody."""


class CatalogQuery(BaseModel):
    """Parameters of the page: words that the name, a column, a description, a keyword or a tag must have; parts of a
    name, of a column, of a license and of an owner, a keyword, a kind, a health. ``page`` counts from 1."""

    q: str = ""
    name: str = ""
    column: str = ""
    keyword: str = ""
    license: str = ""
    owner: str = ""
    kind: Literal["", "Root", "Derivative"] = ""
    health: str = ""
    page: int = 1

    @property
    def needs_index(self) -> bool:
        """Whether only the datasets know the answer."""
        return bool(self.q.strip() or self.column or self.license or self.owner or self.kind or self.health)

    @property
    def has_more_filters(self) -> bool:
        """Whether one of the filters is set that few people need."""
        return bool(self.name or self.column or self.keyword or self.license or self.owner)

    async def publications(self, request: Request, size: int | None) -> tuple[list[Publication], int]:
        """Return the DAGs of a page of so many, or of all, and the number of all; see `airflow_api.publications`."""
        offset = (max(1, self.page) - 1) * (size or 0)
        words = {"name": self.name, "tag": self.keyword}
        return await publications(request, limit=size, offset=offset, **words)

    def link(self, page: int, path: str = "/datasets") -> str:
        """Return the address of another page of the catalog."""
        parameters = {**self.model_dump(), "page": page}
        return f"{site_path(path)}?{urlencode({name: text for name, text in parameters.items() if text})}"

    def matches(self, row: Row) -> bool:
        """Return whether a dataset has the words, the column, the license, the owner, the kind and the health."""
        if self.health and (row.word in (FRESH, NO_DATA) if self.health == NOT_WELL else row.word != self.health):
            return False
        words = self.q.lower().split()
        alias = row.subject.publication.alias.lower()
        owners = row.subject.publication.owners
        if row.health is None:
            is_about_data = self.column or self.license or self.kind
            return not is_about_data and _has(owners, self.owner) and all(word in alias for word in words)
        entry = row.subject.entry
        return (
            all(word in alias or word in entry.words for word in words)
            and _has(entry.columns, self.column)
            and self.license.lower() in entry.license.lower()
            and _has((entry.owner, *owners), self.owner)
            and self.kind in ("", entry.kind)
        )


def _has(names: Iterable[str], part: str) -> bool:
    return not part or any(part.lower() in name.lower() for name in names)


@dataclass(frozen=True)
class Row:
    """A dataset in the catalog; without a health it cannot be shown, because of a problem."""

    subject: Subject
    word: str
    """Its health in a word, or why there is none."""
    health: Health | None = None
    problem: str = ""


async def _publications(request: Request, query: Annotated[CatalogQuery, Query()]) -> tuple[list[Publication], int]:
    return await query.publications(request, None if query.needs_index else SIZE)


def catalog(
    query: Annotated[CatalogQuery, Query()],
    listed: Annotated[tuple[list[Publication], int], Depends(_publications)],
) -> HTMLResponse:
    """Return the datasets with health, last publication, watermark, records and contract result."""
    listed_publications, total = listed
    rows = rows_of(listed_publications)
    if query.needs_index:
        rows = [row for row in rows if query.matches(row)]
        total, start = len(rows), (max(1, query.page) - 1) * SIZE
        rows = rows[start : start + SIZE]
    last = max(1, -(-total // SIZE))
    return render(
        "catalog.html",
        rows=rows,
        query=query,
        total=total,
        last=last,
        health_words=(NOT_WELL, _UNREADABLE, *WORDS),
        meanings={_UNREADABLE: "the dataset, its store or its manifest cannot be read: the row says why"} | MEANINGS,
    )


def rows_of(listed: Iterable[Publication]) -> list[Row]:
    """Return the rows of datasets."""
    indexes: dict[str, CatalogIndex] = {}
    rows = [_row(publication, indexes) for publication in listed]
    for index in indexes.values():
        index.save()
    return rows


async def _all_publications(request: Request) -> list[Publication]:
    listed, _ = await CatalogQuery().publications(request, None)
    return listed


def waiting(listed: Annotated[list[Publication], Depends(_all_publications)]) -> HTMLResponse:
    """Return the rejected candidates of all datasets that wait for a decision, those that wait longest first."""
    rows = rows_of(listed)
    found = [
        (row, rejection) for row in rows if row.health is not None for rejection in row.subject.candidates.undecided
    ]
    found.sort(key=lambda entry: entry[1].system_time)
    problems = [row for row in rows if row.word == _UNREADABLE]
    return render("waiting.html", found=found, problems=problems, total=len(rows))


def _row(publication: Publication, indexes: dict[str, CatalogIndex]) -> Row:
    """Return the row of a dataset, and add the index of its store to others."""
    if not publication.uri:
        problem = public(publication.problem) if publication.problem is not None else "The DAG publishes no dataset."
        return Row(Subject(publication), _UNREADABLE, problem=problem)
    try:
        if publication.store not in indexes:
            indexes[publication.store] = CatalogIndex(open_store(publication.store))
        subject = Subject(publication, indexes[publication.store])
        return Row(subject, subject.health.word, subject.health)
    except DatasetNotFound:
        return Row(Subject(publication), NO_DATA, problem="No run has created the dataset yet.")
    except (OdfError, OSError) as e:
        problem = (e.strerror or type(e).__name__) if isinstance(e, OSError) else public(e)
        return Row(Subject(publication), _UNREADABLE, problem=problem)
