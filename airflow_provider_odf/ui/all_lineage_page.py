"""The datasets of all DAGs that the user may read as one graph.

Datasets that are alike, with the same inputs and the same derivatives, are one box, so that a thousand datasets can be
seen at once. Who reads from whom is known to Airflow; chains are read only of datasets that have a box of their own.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Annotated
from urllib.parse import urlencode

from fastapi import Depends, Query, Request
from fastapi.responses import HTMLResponse

from airflow_provider_odf.lineage.column_graph import Graph, GraphNode, groups
from airflow_provider_odf.operators.links import site_path
from airflow_provider_odf.ui.airflow_api import Publication
from airflow_provider_odf.ui.catalog_page import CatalogQuery, rows_of
from airflow_provider_odf.ui.graph_drawing import draw
from airflow_provider_odf.ui.pages import render
from airflow_provider_odf.ui.published_graph import GraphQuery, graph_of_publications, links_of, without_hidden
from airflow_provider_odf.ui.subject import Subject
from airflow_provider_odf.wording import counted

SIZE = 100
"""Boxes of datasets on a page."""
_LEAST_ALIKE = 4
"""Fewer datasets that are alike have boxes of their own."""


class AllLineageQuery(GraphQuery):
    """Parameters of the page: words to search for, as in the catalog; the dag_id of a dataset whose box shall have only
    itself, as all of its kind. ``page`` counts from 1."""

    q: str = ""
    open: str = ""
    page: int = 1

    def link(self, **changed: str | int) -> str:
        """Return the address of the page with other parameters."""
        parameters = {**self.model_dump(), **changed}
        return f"{site_path('/lineage')}?{urlencode({name: value for name, value in parameters.items() if value})}"


async def _listed(request: Request) -> list[Publication]:
    listed, _ = await CatalogQuery().publications(request, None)
    return [publication for publication in listed if publication.uri]


def all_lineage(
    query: Annotated[AllLineageQuery, Query()], listed: Annotated[list[Publication], Depends(_listed)]
) -> HTMLResponse:
    """Return the graph of the datasets that a search finds, or of all, some boxes on a page."""
    known = {publication.dag_id: publication for publication in listed}
    near = _neighbors(known)
    found = _found(query, listed)
    shown = set(found) if not query.q else _within(near, found, int(query.levels) if query.levels else None)
    boxes = _boxes(known, near, shown, query.open)
    last = max(1, -(-len(boxes) // SIZE))
    page = min(max(1, query.page), last)
    on_page = boxes[(page - 1) * SIZE : page * SIZE]
    members = [known[box[0]] for box in on_page if len(box) == 1]
    alike = _alike(on_page)
    graph = without_hidden(_with_alike(graph_of_publications(members), known, on_page), query)
    links = links_of(graph, members) | {key: query.link(open=box[0], page=1) for key, box in alike.items()}
    names = {key: [(known[d].alias, Subject(known[d]).path("/lineage")) for d in box] for key, box in alike.items()}
    marked = {*found, *(key for key, box in alike.items() if set(found).intersection(box))} if query.q else set()
    return render(
        "all_lineage.html",
        graph=graph,
        drawing=draw(graph, links, marked, frozenset()),
        alike=names,
        query=query,
        shown=len(shown),
        total=len(known),
        page=page,
        last=last,
    )


def _found(query: AllLineageQuery, listed: Sequence[Publication]) -> list[str]:
    """Return the dag_ids of the datasets that have the words."""
    search = CatalogQuery(q=query.q)
    if not search.needs_index:
        return [publication.dag_id for publication in listed]
    return [row.subject.publication.dag_id for row in rows_of(listed) if search.matches(row)]


def _neighbors(known: Mapping[str, Publication]) -> Mapping[str, Collection[str]]:
    """Return the dag_ids of known inputs and derivatives, by dag_id."""
    near: dict[str, set[str]] = {dag_id: set() for dag_id in known}
    for dag_id, publication in known.items():
        for other in (*(neighbor.dag_id for neighbor in publication.inputs), *publication.derivatives):
            if other is not None and other in known:
                near[dag_id].add(other)
                near[other].add(dag_id)
    return near


def _within(near: Mapping[str, Collection[str]], start: Iterable[str], levels: int | None) -> set[str]:
    """Return the datasets that are at most so many others away, or that are connected at all."""
    reached, newest, level = set(start), set(start), 0
    while newest and (levels is None or level < levels):
        newest = {other for dag_id in newest for other in near[dag_id]} - reached
        reached |= newest
        level += 1
    return reached


def _boxes(
    known: Mapping[str, Publication], near: Mapping[str, Collection[str]], shown: Collection[str], opened: str
) -> list[tuple[str, ...]]:
    """Return the dag_ids of each box: those that belong together follow each other, the largest group first."""
    by_neighbors = defaultdict[tuple[frozenset[str], frozenset[str]], list[str]](list)
    for dag_id in sorted(shown):
        publication = known[dag_id]
        inputs = frozenset(neighbor.dag_id or neighbor.name for neighbor in publication.inputs)
        by_neighbors[inputs, frozenset(shown).intersection(publication.derivatives)].append(dag_id)
    boxes: list[tuple[str, ...]] = []
    for alike in by_neighbors.values():
        is_one = len(alike) >= _LEAST_ALIKE and opened not in alike
        boxes += [tuple(alike)] if is_one else [(dag_id,) for dag_id in alike]
    among = {dag_id: [other for other in near[dag_id] if other in shown] for dag_id in shown}
    group_of = {dag_id: group for group in groups(among) for dag_id in group}
    return sorted(boxes, key=lambda box: (-len(group_of[box[0]]), min(group_of[box[0]]), box))


def _alike(boxes: Iterable[Sequence[str]]) -> dict[str, Sequence[str]]:
    """Return the boxes of several datasets by the keys of their nodes."""
    return {f"alike {box[0]}": box for box in boxes if len(box) > 1}


def _with_alike(graph: Graph, known: Mapping[str, Publication], boxes: Sequence[Sequence[str]]) -> Graph:
    """Return a graph, in the order of the boxes, with a node for datasets that are alike, from which others read in
    their place."""
    alike = _alike(boxes)
    key_of = {dag_id: key for key, box in alike.items() for dag_id in box}
    names = {f"name {known[dag_id].alias}": key for dag_id, key in key_of.items()}

    def inputs(keys: Iterable[str]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(names.get(key, key_of.get(key, key)) for key in keys))

    nodes = {
        key: dataclasses.replace(node, inputs=inputs(node.inputs)) for key, node in graph.items() if key not in names
    }
    for key, box in alike.items():
        read = inputs(neighbor.dag_id or f"name {neighbor.name}" for neighbor in known[box[0]].inputs)
        nodes[key] = GraphNode(key, counted(len(box), "dataset"), "Datasets", inputs=read)
    place = {key_of.get(box[0], box[0]): n for n, box in enumerate(boxes)}
    for node in nodes.values():
        for key in node.inputs:
            place.setdefault(key, place[node.key])
    return dict(sorted(nodes.items(), key=lambda entry: place[entry[0]]))
