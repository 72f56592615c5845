"""Graphs of the datasets that DAGs publish, with their sources."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from pydantic import BaseModel

from airflow_provider_odf.errors import OdfError
from airflow_provider_odf.lineage.column_graph import Graph, Member, graph_of
from airflow_provider_odf.ui.airflow_api import Publication
from airflow_provider_odf.ui.subject import Subject


class GraphQuery(BaseModel):
    """Parameters of a graph: how many datasets away others may be, empty for any number; the size of the drawing in
    percent; and whether sources are left out."""

    levels: Literal["", "1", "2", "3"] = ""
    zoom: Literal["100", "75", "50", "25"] = "100"
    sources: Literal["shown", "hidden"] = "shown"


def graph_of_publications(members: Iterable[Publication]) -> Graph:
    """Return the graph of datasets by dag_id, with their sources and inputs."""
    return graph_of({publication.dag_id: _member(publication) for publication in members})


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


def links_of(graph: Graph, members: Iterable[Publication]) -> dict[str, str]:
    """Return the addresses of the lineage of datasets that a graph has, by dag_id."""
    return {p.dag_id: Subject(p).path("/lineage") for p in members if p.dag_id in graph}


def without_hidden(graph: Graph, view: GraphQuery) -> Graph:
    """Return the nodes of a graph that a page shows."""
    return {key: node for key, node in graph.items() if view.sources == "shown" or node.kind != "Source"}
