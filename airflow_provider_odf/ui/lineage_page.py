"""Datasets, their sources and derivatives as a graph, and which column comes from which."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, NamedTuple
from urllib.parse import quote, urlencode

from fastapi import Depends, Query, Request
from fastapi.responses import HTMLResponse
from pydantic import BaseModel

from airflow_provider_odf.errors import InvalidInput, OdfError
from airflow_provider_odf.lineage.column_graph import (
    ColumnOrigin,
    Graph,
    GraphNode,
    Member,
    depths,
    downstream,
    graph_of,
    related,
    upstream,
    uses_of_columns,
)
from airflow_provider_odf.operators.links import airflow_path
from airflow_provider_odf.ui.airflow_api import Publication, connected
from airflow_provider_odf.ui.catalog_page import CatalogQuery
from airflow_provider_odf.ui.pages import render
from airflow_provider_odf.ui.subject import Subject, SubjectOf
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
BOX, GAP = 220, 80
"""Width of a box, and between boxes."""
_LINE, _HEAD, _MARGIN = 20, 44, 14


class Place(NamedTuple):
    """A column of a node for readers: name of the node, column, how it is used, and the address of its own lineage,
    empty if the reader cannot open it."""

    label: str
    column: str
    way: str
    link: str


class GraphQuery(BaseModel):
    """Parameters of a graph: how many datasets away others may be, empty for any number; the size of the drawing in
    percent; and whether sources are left out."""

    levels: Literal["", "1", "2", "3"] = ""
    zoom: Literal["100", "75", "50", "25"] = "100"
    sources: Literal["shown", "hidden"] = "shown"


class LineageQuery(GraphQuery):
    """Parameters of the graph of a dataset, and the column to follow in it."""

    column: str = ""


class ListQuery(CatalogQuery, GraphQuery):
    """Parameters of the graph of all datasets: those of the catalog count, too."""


async def _connected(request: Request, dag_id: str, view: Annotated[LineageQuery, Query()]) -> list[Publication]:
    return await connected(request, dag_id, _DATASETS, int(view.levels) if view.levels else None)


async def _listed(request: Request, query: Annotated[ListQuery, Query()]) -> tuple[list[Publication], int]:
    return await query.publications(request, _DATASETS)


def lineage(
    subject: SubjectOf,
    around: Annotated[list[Publication], Depends(_connected)],
    view: Annotated[LineageQuery, Query()],
) -> HTMLResponse:
    """Return the graph around a dataset."""
    key, column = subject.publication.dag_id, view.column
    members = [publication for publication in around if publication.uri]
    graph = related(_graph(members), key)
    columns = graph[key].columns
    if column and column not in columns:
        known = suggestion(column, columns)
        raise InvalidInput(f"dataset {subject.publication.alias} has no column {column!r} ({known})")
    followed = upstream(graph, key, column) | downstream(graph, key, column) if column else set()
    links, uses = _links(graph, members), uses_of_columns(graph)
    readers = {node.key: node for node in _readers(graph, around)}
    shown = _shown({**graph, **readers}, view)
    links |= {node.key: airflow_path(f"/dags/{quote(node.label, safe='')}") for node in readers.values()}
    return subject.render(
        "lineage.html",
        "/lineage",
        graph=shown,
        drawing=draw(shown, links, key, frozenset(followed)),
        view=view,
        column=column,
        columns=[(_place(graph, links, (key, name)), *_places_of(graph, links, uses, (key, name))) for name in columns],
        rows=_places(graph, links, graph[key].rows),
        is_limited=len(around) >= _DATASETS,
    )


def all_lineage(
    query: Annotated[ListQuery, Query()], listed: Annotated[tuple[list[Publication], int], Depends(_listed)]
) -> HTMLResponse:
    """Return the graph of all datasets of DAGs that the user may read, some on a page."""
    listed_publications, total = listed
    graph = _shown(_graph([publication for publication in listed_publications if publication.uri]), query)
    drawing = draw(graph, _links(graph, listed_publications), "", frozenset())
    last = max(1, -(-total // _DATASETS))
    return render("all_lineage.html", graph=graph, drawing=drawing, query=query, total=total, last=last)


def _graph(members: Iterable[Publication]) -> Graph:
    return graph_of({publication.dag_id: _member(publication) for publication in members})


def _readers(graph: Graph, around: Iterable[Publication]) -> Iterator[GraphNode]:
    """Yield the DAGs that datasets of a graph start and that publish no dataset."""
    for reader in (publication for publication in around if not publication.uri):
        read = tuple(p.dag_id for p in around if p.dag_id in graph and reader.dag_id in p.derivatives)
        if read:
            yield GraphNode(f"dag {reader.dag_id}", reader.dag_id, "DAG", inputs=read)


def _shown(graph: Graph, view: GraphQuery) -> Graph:
    """Return the nodes of a graph that a page shows."""
    return {key: node for key, node in graph.items() if view.sources == "shown" or node.kind != "Source"}


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


def _links(graph: Graph, members: Iterable[Publication]) -> dict[str, str]:
    return {p.dag_id: Subject(p).path("/lineage") for p in members if p.dag_id in graph}


Column = tuple[str, str]
"""Key of a node, and name of its column."""


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


@dataclass(frozen=True)
class Box:
    """A node in the drawing. ``rows`` are its selected columns with their heights from the top of the box; ``link`` is
    empty if the reader cannot open it."""

    node: GraphNode
    x: int
    y: int
    height: int
    link: str
    is_current: bool
    rows: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Drawing:
    """Boxes, and lines as path and whether they connect selected columns."""

    width: int
    height: int
    boxes: tuple[Box, ...]
    lines: tuple[tuple[str, bool], ...]


def draw(graph: Graph, links: Mapping[str, str], current: str, selected: frozenset[Column]) -> Drawing:
    """Return the drawing of a graph.

    :param links: addresses of nodes by key.
    :param current: key of the node that the page is about.
    :param selected: keys and columns to show in the boxes, and to connect.
    """
    boxes: dict[str, Box] = {}
    layers = _layers(graph)
    for depth, layer in enumerate(layers):
        y = _MARGIN
        for key in layer:
            names = [name for name in graph[key].columns if (key, name) in selected]
            rows = tuple((name, _HEAD + n * _LINE + 14) for n, name in enumerate(names))
            height = _HEAD + _LINE * len(rows) + (8 if rows else 0)
            x = _MARGIN + depth * (BOX + GAP)
            boxes[key] = Box(graph[key], x, y, height, links.get(key, ""), key == current, rows)
            y += height + _MARGIN
    width = 2 * _MARGIN + len(layers) * (BOX + GAP) - GAP
    height = max((box.y + box.height for box in boxes.values()), default=0) + _MARGIN
    return Drawing(width, height, tuple(boxes.values()), tuple(_lines(boxes, selected)))


def _layers(graph: Graph) -> Sequence[Sequence[str]]:
    """Return the keys of each column of boxes, in the order of the middle of their inputs."""
    depth_of = depths(graph)
    layers: list[list[str]] = [[] for _ in range(max(depth_of.values(), default=-1) + 1)]
    for key in graph:
        layers[depth_of[key]].append(key)
    place: dict[str, float] = {}
    for layer in layers:
        middles = {
            key: sum(above) / len(above) if (above := [place[i] for i in graph[key].inputs if i in place]) else 0.0
            for key in layer
        }
        layer.sort(key=lambda key: (middles[key], graph[key].label, key))
        place |= {key: n / len(layer) for n, key in enumerate(layer)}
    return layers


def _lines(boxes: Mapping[str, Box], selected: frozenset[Column]) -> Iterator[tuple[str, bool]]:
    for box in boxes.values():
        for key in box.node.inputs:
            if (above := boxes.get(key)) is not None:
                yield _curve(above, _HEAD // 2, box, _HEAD // 2), False
        for name, y in box.rows:
            for key, column in dict.fromkeys((origin.key, origin.column) for origin in box.node.of(name)):
                if (key, column) in selected and key in boxes:
                    at = dict(boxes[key].rows)[column]
                    yield _curve(boxes[key], at - 4, box, y - 4), True


def _curve(start: Box, start_y: int, end: Box, end_y: int) -> str:
    x1, y1, x2, y2 = start.x + BOX, start.y + start_y, end.x, end.y + end_y
    middle = (x1 + x2) // 2
    return f"M{x1} {y1} C{middle} {y1} {middle} {y2} {x2} {y2}"
