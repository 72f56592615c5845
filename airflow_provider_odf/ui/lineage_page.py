"""Datasets, their sources and derivatives as a graph, and which column comes from which."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated
from urllib.parse import urlencode

from fastapi import Depends, Query, Request
from fastapi.responses import HTMLResponse

from airflow_provider_odf.errors import InvalidInput, OdfError
from airflow_provider_odf.lineage.column_graph import (
    Graph,
    Member,
    downstream,
    graph_of,
    related,
    upstream,
    uses_of_columns,
)
from airflow_provider_odf.ui.airflow_api import Publication, connected, publications
from airflow_provider_odf.ui.catalog_page import CatalogQuery
from airflow_provider_odf.ui.dataset_pages import SubjectOf
from airflow_provider_odf.ui.graph_drawing import draw
from airflow_provider_odf.ui.pages import render
from airflow_provider_odf.ui.subject import Subject
from airflow_provider_odf.wording import suggestion

MOST = 100
"""Datasets of a graph."""

WAYS = {"IDENTITY": "unchanged", "TRANSFORMATION": "computed", "AGGREGATION": "aggregated"}
"""How a column is made of another one -> in words."""


@dataclass(frozen=True)
class Place:
    """A column of a node for readers: name of the node, column, how it is made of it, and the address of its own
    lineage, empty if the reader cannot open it."""

    label: str
    column: str
    way: str = ""
    link: str = ""


@dataclass(frozen=True)
class ColumnRow:
    """A column of a dataset: what it is made of directly, the columns of sources that it comes from, and the columns
    that are made of it."""

    name: str
    link: str
    direct: tuple[Place, ...]
    sources: tuple[Place, ...]
    uses: tuple[Place, ...]


async def _connected(request: Request, dag_id: str) -> list[Publication]:
    return await connected(request, dag_id, MOST)


async def _listed(request: Request, query: Annotated[CatalogQuery, Query()]) -> tuple[list[Publication], int]:
    offset = (max(1, query.page) - 1) * MOST
    return await publications(request, limit=MOST, offset=offset, name=query.name, tag=query.keyword, owner=query.owner)


def lineage(
    subject: SubjectOf, found: Annotated[list[Publication], Depends(_connected)], column: Annotated[str, Query()] = ""
) -> HTMLResponse:
    """Return the graph around a dataset. ``column`` is one of its columns to follow."""
    key = subject.publication.dag_id
    graph = related(_graph(found), key)
    if column and column not in graph[key].columns:
        raise InvalidInput(
            f"dataset {subject.publication.alias} has no column {column!r} ({suggestion(column, graph[key].columns)})"
        )
    followed = upstream(graph, key, column) | downstream(graph, key, column) if column else set()
    return subject.render(
        "lineage.html",
        "/lineage",
        graph=graph,
        drawing=draw(graph, _links(graph, found), key, frozenset(followed)),
        column=column,
        columns=list(_rows(graph, key, found)),
        is_limited=len(found) >= MOST,
    )


def all_lineage(
    query: Annotated[CatalogQuery, Query()], listed: Annotated[tuple[list[Publication], int], Depends(_listed)]
) -> HTMLResponse:
    """Return the graph of all datasets of DAGs that the user may read, some on a page."""
    found, total = listed
    graph = _graph([publication for publication in found if publication.uri])
    drawing = draw(graph, _links(graph, found), "", frozenset())
    last = max(1, -(-total // MOST))
    return render("all_lineage.html", graph=graph, drawing=drawing, query=query, total=total, last=last)


def _graph(found: Sequence[Publication]) -> Graph:
    return graph_of({publication.dag_id: _member(publication) for publication in found})


def _member(publication: Publication) -> Member:
    """Return a dataset for the graph; without its state if it does not exist yet or cannot be read, which its own page
    explains."""
    subject = Subject(publication)
    inputs = tuple(i.dag_id or i.name for i in publication.inputs)
    try:
        state = subject.history.state
    except (OdfError, OSError):
        return Member(publication.alias, inputs=inputs)
    return Member(publication.alias, state, lambda ref: subject.store.input_name(ref, None), inputs)


def _links(graph: Graph, found: Sequence[Publication]) -> dict[str, str]:
    return {p.dag_id: Subject(p).path("/lineage") for p in found if p.dag_id in graph}


def _rows(graph: Graph, key: str, found: Sequence[Publication]) -> Iterator[ColumnRow]:
    links, uses = _links(graph, found), uses_of_columns(graph)

    def place(at: str, name: str, way: str = "") -> Place:
        link = f"{links[at]}?{urlencode({'column': name})}" if at in links else ""
        return Place(graph[at].label, name, WAYS.get(way, ""), link)

    for name in graph[key].columns:
        direct = tuple(place(o.key, o.column, o.way) for o in graph[key].origins.get(name, ()))
        first = sorted(at for at in upstream(graph, key, name) if graph[at[0]].kind == "Source")
        used = tuple(place(*at) for at in uses.get((key, name), ()) if at[0] in graph)
        yield ColumnRow(name, place(key, name).link, direct, tuple(place(*at) for at in first), used)
