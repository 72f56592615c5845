"""A dataset with its sources, inputs and derivatives as a graph, and which column comes from which."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, NamedTuple
from urllib.parse import quote, urlencode

from fastapi import Depends, Query, Request
from fastapi.responses import HTMLResponse

from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.lineage.column_graph import (
    ColumnOrigin,
    Graph,
    GraphNode,
    downstream,
    related,
    upstream,
    uses_of_columns,
)
from airflow_provider_odf.operators.links import airflow_path
from airflow_provider_odf.ui.airflow_api import Publication, connected
from airflow_provider_odf.ui.graph_drawing import Column, draw
from airflow_provider_odf.ui.published_graph import GraphQuery, graph_of_publications, links_of, without_hidden
from airflow_provider_odf.ui.subject import SubjectOf
from airflow_provider_odf.wording import suggestion

_DATASETS = 100
"""Datasets of a graph."""
_WAYS = {
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


class Place(NamedTuple):
    """A column of a node for readers: name of the node, column, how it is used, and the address of its own lineage,
    empty if the reader cannot open it."""

    label: str
    column: str
    way: str
    link: str


class LineageQuery(GraphQuery):
    """Parameters of the graph of a dataset, and the column to follow in it."""

    column: str = ""


async def _connected(request: Request, dag_id: str, view: Annotated[LineageQuery, Query()]) -> list[Publication]:
    return await connected(request, dag_id, _DATASETS, int(view.levels) if view.levels else None)


def lineage(
    subject: SubjectOf,
    around: Annotated[list[Publication], Depends(_connected)],
    view: Annotated[LineageQuery, Query()],
) -> HTMLResponse:
    """Return the graph around a dataset."""
    key, column = subject.publication.dag_id, view.column
    members = [publication for publication in around if publication.uri]
    graph = related(graph_of_publications(members), key)
    columns = graph[key].columns
    if column and column not in columns:
        known = suggestion(column, columns)
        raise InvalidInput(f"dataset {subject.publication.alias} has no column {column!r} ({known})")
    followed = upstream(graph, key, column) | downstream(graph, key, column) if column else set()
    links, uses = links_of(graph, members), uses_of_columns(graph)
    readers = {node.key: node for node in _readers(graph, around)}
    shown = without_hidden({**graph, **readers}, view)
    links |= {node.key: airflow_path(f"/dags/{quote(node.label, safe='')}") for node in readers.values()}
    return subject.render(
        "lineage.html",
        "/lineage",
        graph=shown,
        drawing=draw(shown, links, {key}, frozenset(followed)),
        view=view,
        column=column,
        columns=[(_place(graph, links, (key, name)), *_places_of(graph, links, uses, (key, name))) for name in columns],
        rows=_places(graph, links, graph[key].rows),
        is_limited=len(around) >= _DATASETS,
    )


def _readers(graph: Graph, around: Iterable[Publication]) -> Iterator[GraphNode]:
    """Yield the DAGs that datasets of a graph start and that publish no dataset."""
    for reader in (publication for publication in around if not publication.uri):
        read = tuple(p.dag_id for p in around if p.dag_id in graph and reader.dag_id in p.derivatives)
        if read:
            yield GraphNode(f"dag {reader.dag_id}", reader.dag_id, "DAG", inputs=read)


def _places_of(
    graph: Graph, links: Mapping[str, str], uses: Mapping[Column, Iterable[Column]], column: Column
) -> Iterator[Sequence[Place]]:
    """Yield what a column is made of, without what decides about the rows; the columns of sources that it comes from;
    and the columns that it affects."""
    key, name = column
    sources = sorted(at for at in upstream(graph, key, name, is_direct=True) if graph[at[0]].kind == "Source")
    yield _places(graph, links, graph[key].origins.get(name, ()))
    yield [_place(graph, links, at) for at in sources]
    yield [_place(graph, links, at) for at in uses.get(column, ()) if at[0] in graph]


def _places(graph: Graph, links: Mapping[str, str], origins: Iterable[ColumnOrigin]) -> list[Place]:
    ways: dict[Column, list[str]] = {}
    for origin in origins:
        word = f"{_WAYS[origin.way]}, masked" if origin.is_masking else _WAYS[origin.way]
        ways.setdefault((origin.key, origin.column), []).append(word)
    return [_place(graph, links, at, ", ".join(words)) for at, words in ways.items()]


def _place(graph: Graph, links: Mapping[str, str], column: Column, way: str = "") -> Place:
    key, name = column
    link = f"{links[key]}?{urlencode({'column': name})}" if key in links else ""
    return Place(graph[key].label, name, way, link)
