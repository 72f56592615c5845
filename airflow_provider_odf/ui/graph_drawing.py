"""Graphs of datasets and sources as drawings: boxes in columns, from sources on the left, and lines.

Nodes that are connected with each other lie together; groups of them follow each other from top to bottom.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from airflow_provider_odf.lineage.column_graph import Graph, GraphNode, depths, groups

BOX, GAP = 220, 80
"""Width of a box, and between boxes."""
_LINE, _HEAD, _MARGIN = 20, 44, 14

Column = tuple[str, str]
"""Key of a node, and name of its column."""


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


def draw(graph: Graph, links: Mapping[str, str], current: Collection[str], selected: frozenset[Column]) -> Drawing:
    """Return the drawing of a graph.

    :param links: addresses of nodes by key.
    :param current: keys of the nodes that the page is about.
    :param selected: keys and columns to show in the boxes, and to connect.
    """
    boxes: dict[str, Box] = {}
    top, deepest = _MARGIN, 0
    for group in groups(_neighbors(graph)):
        layers = _layers({key: node for key, node in graph.items() if key in group})
        bottom = top
        for depth, layer in enumerate(layers):
            y = top
            for key in layer:
                names = [name for name in graph[key].columns if (key, name) in selected]
                rows = tuple((name, _HEAD + n * _LINE + 14) for n, name in enumerate(names))
                height = _HEAD + _LINE * len(rows) + (8 if rows else 0)
                x = _MARGIN + depth * (BOX + GAP)
                boxes[key] = Box(graph[key], x, y, height, links.get(key, ""), key in current, rows)
                y += height + _MARGIN
            bottom = max(bottom, y)
        top, deepest = bottom, max(deepest, len(layers))
    width = 2 * _MARGIN + deepest * (BOX + GAP) - GAP
    return Drawing(width, top, tuple(boxes.values()), tuple(_lines(boxes, selected)))


def _neighbors(graph: Graph) -> Mapping[str, Sequence[str]]:
    """Return the keys with a line to each node."""
    near: dict[str, list[str]] = {key: [] for key in graph}
    for key, node in graph.items():
        for other in node.inputs:
            if other in graph:
                near[key].append(other)
                near[other].append(key)
    return near


def _layers(graph: Graph) -> Sequence[Sequence[str]]:
    """Return the keys of each column of boxes, in the order of the middle of their inputs, else of the graph."""
    depth_of = depths(graph)
    layers: list[list[str]] = [[] for _ in range(max(depth_of.values()) + 1)]
    for key in graph:
        layers[depth_of[key]].append(key)
    place: dict[str, float] = {}
    for layer in layers:
        middles = {
            key: sum(above) / len(above) if (above := [place[i] for i in graph[key].inputs if i in place]) else 0.0
            for key in layer
        }
        layer.sort(key=lambda key: middles[key])
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
