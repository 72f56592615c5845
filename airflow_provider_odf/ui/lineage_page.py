"""Datasets, their sources and derivatives as a graph, and which column comes from which."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated
from urllib.parse import urlencode

from fastapi import Depends, Query, Request
from fastapi.responses import HTMLResponse

from airflow_provider_odf.errors import InvalidInput, OdfError
from airflow_provider_odf.lineage.column_graph import (
    ColumnOrigin,
    Graph,
    Member,
    downstream,
    graph_of,
    related,
    upstream,
    uses_of_columns,
)
from airflow_provider_odf.lineage.column_uses import Way
from airflow_provider_odf.ui.airflow_api import Publication, connected, publications
from airflow_provider_odf.ui.catalog_page import CatalogQuery
from airflow_provider_odf.ui.dataset_pages import SubjectOf
from airflow_provider_odf.ui.graph_drawing import draw
from airflow_provider_odf.ui.pages import render
from airflow_provider_odf.ui.subject import Subject
from airflow_provider_odf.wording import suggestion

MOST = 100
"""Datasets of a graph."""

WAYS: Mapping[Way, str] = {
    "IDENTITY": "unchanged",
    "TRANSFORMATION": "computed",
    "AGGREGATION": "aggregated",
    "CONDITIONAL": "condition",
    "WINDOW": "window",
    "SORT": "order",
    "FILTER": "filter",
    "GROUP_BY": "group",
    "JOIN": "join",
}
"""How a column is used for another one, or for the rows -> in words."""


@dataclass(frozen=True)
class Place:
    """A column of a node for readers: name of the node, column, how it is used, and the address of its own lineage,
    empty if the reader cannot open it."""

    label: str
    column: str
    way: str = ""
    link: str = ""


@dataclass(frozen=True)
class ColumnRow:
    """A column of a dataset: what it is made of, without what decides about the rows; the columns of sources that it
    comes from; and the columns that it affects."""

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
        rows=_places(graph, graph[key].rows, _links(graph, found)),
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
    for name in graph[key].columns:
        first = sorted(at for at in upstream(graph, key, name, is_direct=True) if graph[at[0]].kind == "Source")
        used = [at for at in uses.get((key, name), ()) if at[0] in graph]
        yield ColumnRow(
            name,
            _place(graph, key, name, links).link,
            _places(graph, graph[key].origins.get(name, ()), links),
            tuple(_place(graph, *at, links) for at in first),
            tuple(_place(graph, *at, links) for at in used),
        )


def _places(graph: Graph, origins: Iterable[ColumnOrigin], links: Mapping[str, str]) -> tuple[Place, ...]:
    """Return each column of origins once, with all its uses in words."""
    ways: dict[tuple[str, str], list[str]] = {}
    for origin in origins:
        word = f"{WAYS[origin.way]}, masked" if origin.is_masking else WAYS[origin.way]
        ways.setdefault((origin.key, origin.column), []).append(word)
    return tuple(_place(graph, *at, links, ", ".join(words)) for at, words in ways.items())


def _place(graph: Graph, key: str, name: str, links: Mapping[str, str], way: str = "") -> Place:
    link = f"{links[key]}?{urlencode({'column': name})}" if key in links else ""
    return Place(graph[key].label, name, way, link)
