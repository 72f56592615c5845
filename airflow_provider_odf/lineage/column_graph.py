"""Datasets and sources as a graph, and the columns that each column is made of, as chains record them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias, TypeVar

from airflow_provider_odf.lineage.column_uses import DIRECT, Way
from airflow_provider_odf.lineage.columns import INPUT, Origin, column_lineage, reading_of, transform_of
from airflow_provider_odf.manifest import model, public_source

if TYPE_CHECKING:
    from airflow_provider_odf.chain.state import ChainState

Kind: TypeAlias = Literal["Root", "Derivative", "Source", "Dataset", "Datasets", "DAG"]
"""``Dataset`` is one of which only the name is known, ``Datasets`` are several that are alike, ``DAG`` is a DAG of
Airflow that a dataset starts."""

_Place = TypeVar("_Place")


@dataclass(frozen=True)
class Member:
    """A dataset of a graph: its name, its state, and how to name an input that is not in the graph, by its reference in
    the chain. Without state only the names of its inputs are known."""

    label: str
    state: ChainState | None = None
    input_name: Callable[[str], str] = str
    inputs: tuple[str, ...] = ()
    """Inputs of a dataset without state: keys of members, or names."""


@dataclass(frozen=True, order=True)
class ColumnOrigin:
    """A column of the node ``key`` that another column is made of, or that decides about it, and how."""

    key: str
    column: str
    way: Way
    is_masking: bool = False


@dataclass(frozen=True)
class GraphNode:
    """A dataset or a source. ``inputs`` are keys of nodes; ``origins`` has those of its columns, as far as they can be
    derived, and ``rows`` the columns that decide which rows it has."""

    key: str
    label: str
    kind: Kind
    columns: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    origins: Mapping[str, tuple[ColumnOrigin, ...]] = field(default_factory=dict)
    rows: tuple[ColumnOrigin, ...] = ()

    def of(self, column: str) -> tuple[ColumnOrigin, ...]:
        """Return what a column is made of, and what decides about it, as about all columns."""
        return (*self.origins[column], *self.rows) if column in self.origins else ()


Graph: TypeAlias = Mapping[str, GraphNode]
"""Nodes by key."""


def graph_of(members: Mapping[str, Member]) -> Graph:
    """Return the graph of datasets by key, with their sources and inputs."""
    ids = {member.state.dataset_id: key for key, member in members.items() if member.state is not None}
    nodes: dict[str, GraphNode] = {}
    for key, member in members.items():
        if member.state is None:
            made = _without_state(key, member, members)
        elif member.state.transform is None:
            made = _root(key, member.label, member.state)
        else:
            made = _derivative(key, member, member.state.transform, members, ids)
        nodes |= {node.key: node for node in made}
    return nodes


def upstream(graph: Graph, key: str, column: str, *, is_direct: bool = False) -> set[tuple[str, str]]:
    """Return keys and columns that a column is made of, or, unless ``is_direct``, that decide about it; itself
    included."""

    def above(at: tuple[str, str]) -> Iterator[tuple[str, str]]:
        origins = graph[at[0]].of(at[1]) if at[0] in graph else ()
        return ((o.key, o.column) for o in origins if o.way in DIRECT or not is_direct)

    return _reach((key, column), above)


def downstream(graph: Graph, key: str, column: str) -> set[tuple[str, str]]:
    """Return keys and columns that a column affects, itself included."""
    uses = uses_of_columns(graph)
    return _reach((key, column), lambda at: uses.get(at, ()))


def uses_of_columns(graph: Graph) -> Mapping[tuple[str, str], Sequence[tuple[str, str]]]:
    """Return keys and columns that a column affects, by its key and name."""
    uses: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for node in graph.values():
        for name in node.columns:
            for at in dict.fromkeys((origin.key, origin.column) for origin in node.of(name)):
                uses.setdefault(at, []).append((node.key, name))
    return uses


def related(graph: Graph, key: str) -> Graph:
    """Return a node with all nodes above and below it."""
    below: dict[str, list[str]] = {}
    for node in graph.values():
        for above in node.inputs:
            below.setdefault(above, []).append(node.key)
    keys = _reach(key, lambda at: graph[at].inputs) | _reach(key, lambda at: below.get(at, ()))
    return {at: node for at, node in graph.items() if at in keys}


def depths(graph: Graph) -> Mapping[str, int]:
    """Return the length of the longest path to each node. Of a circle, one edge does not count."""
    lengths: dict[str, int] = {}

    def visit(key: str, above: frozenset[str]) -> int:
        if key not in lengths:
            inputs = [visit(i, above | {key}) for i in graph[key].inputs if i in graph and i not in above | {key}]
            lengths[key] = max(inputs, default=-1) + 1
        return lengths[key]

    for key in graph:
        visit(key, frozenset())
    return lengths


def groups(neighbors: Mapping[str, Iterable[str]]) -> Iterator[set[str]]:
    """Yield the keys of nodes that are connected with each other, in the order of their first; ``neighbors`` has each
    edge in both directions."""
    seen: set[str] = set()
    for key in neighbors:
        if key not in seen:
            group = _reach(key, lambda at: neighbors[at])
            seen |= group
            yield group


def _reach(start: _Place, step: Callable[[_Place], Iterable[_Place]]) -> set[_Place]:
    seen, queue = {start}, [start]
    for at in queue:
        new = [other for other in dict.fromkeys(step(at)) if other not in seen]
        seen.update(new)
        queue += new
    return seen


def _named(name: str) -> GraphNode:
    """Return the node of a dataset that is no member."""
    return GraphNode(f"name {name}", name, "Dataset")


def _without_state(key: str, member: Member, members: Mapping[str, Member]) -> list[GraphNode]:
    unknown = {name: _named(name) for name in member.inputs if name not in members}
    inputs = tuple(unknown[name].key if name in unknown else name for name in member.inputs)
    return [*unknown.values(), GraphNode(key, member.label, "Dataset", inputs=inputs)]


def _root(key: str, label: str, state: ChainState) -> list[GraphNode]:
    """Return a root and its sources. Columns of a source are the declared ones, or those that the root has from it."""
    own = _columns(state)
    sources: list[GraphNode] = []
    origins: dict[str, tuple[ColumnOrigin, ...]] = {}
    rows: tuple[ColumnOrigin, ...] = ()
    for number, (name, source) in enumerate(_sources(state)):
        at = f"{key} source {number}"
        reading = reading_of(source, state.vocab)
        lineage = reading.lineage(own)
        read = [column for column in own if column not in reading.added]
        made = {column: _at(lineage.of(column), {INPUT: at}) for column in read if lineage.has(column)}
        origins |= {column: (*origins.get(column, ()), *more) for column, more in made.items()}
        rows += _at(lineage.rows, {INPUT: at})
        used = dict.fromkeys(o.column for some in (*made.values(), rows) for o in some if o.key == at)
        sources.append(GraphNode(at, name, "Source", reading.columns or tuple(used)))
    return [*sources, GraphNode(key, label, "Root", own, tuple(source.key for source in sources), origins, rows)]


def _at(origins: Iterable[Origin], keys: Mapping[str, str]) -> tuple[ColumnOrigin, ...]:
    """Return origins in nodes, whose keys are by table."""
    return tuple(ColumnOrigin(keys[o.table], o.column, o.way, o.is_masking) for o in origins)


def _sources(state: ChainState) -> Iterator[tuple[str, model.SetPollingSource | model.AddPushSource]]:
    if state.polling_source is not None:
        yield public_source.fetch(state.polling_source.fetch), state.polling_source
    yield from ((f"push source {name}", source) for name, source in state.push_sources.items())


def _derivative(
    key: str, member: Member, transform: model.SetTransform, members: Mapping[str, Member], ids: Mapping[str, str]
) -> list[GraphNode]:
    """Return a derivative, and those of its inputs that are no members."""
    unknown, inputs, tables = [], [], {}
    for declared in transform.inputs:
        at = ids.get(declared.dataset_ref)
        if at is None:
            unknown.append(_named(member.input_name(declared.dataset_ref)))
        else:
            tables[declared.alias or members[at].label] = at
        inputs.append(at or unknown[-1].key)
    query, own = transform_of(transform.transform), _columns(member.state)
    added = member.state.vocab.columns[:3] if member.state is not None else ()
    known = {alias: _columns(members[at].state) for alias, at in tables.items()}
    lineage = column_lineage(query.engine, query.queries, known)
    made = [column for column in own if column not in added and lineage.has(column)]
    origins = {column: _at(lineage.of(column), tables) for column in made}
    keys = tuple(dict.fromkeys(inputs))
    return [*unknown, GraphNode(key, member.label, "Derivative", own, keys, origins, _at(lineage.rows, tables))]


def _columns(state: ChainState | None) -> tuple[str, ...]:
    schema = state.row_schema() if state is not None else None
    return tuple(schema.names) if schema is not None else ()
