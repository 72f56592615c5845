"""Draw the graph of lineage events as SVG: ``python -m docs.lineage_picture EVENTS.jsonl > lineage.svg``.

Datasets are boxes with round corners, jobs have sharp ones, failed jobs are red. A job that has the same datasets as
the job above it, such as a Spark application below its task, is not drawn.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any, TypeAlias

Node: TypeAlias = tuple[str, str]
"""``dataset`` or ``job``, and its name."""

WIDTH, HEIGHT, GAP, LINE = 200, 30, 40, 44
STYLE = """\
<style>
text { font: 12px sans-serif; text-anchor: middle } rect { fill: #fff; stroke: #555 }
.dataset { fill: #d7ecf2 } .failed { stroke: #c00; stroke-width: 2 } path { fill: none; stroke: #888 }
</style>
"""


def draw(events: Iterable[Mapping[str, Any]], prefixes: Sequence[str] = ()) -> str:
    """Return the picture. Names of datasets lose these prefixes."""
    arrows, failed = _arrows(events, prefixes)
    layers = defaultdict(list)
    for node, layer in sorted(_layers(arrows).items()):
        layers[layer].append(node)
    at = {
        node: (layer * (WIDTH + GAP), row * LINE) for layer, nodes in layers.items() for row, node in enumerate(nodes)
    }
    width = len(layers) * (WIDTH + GAP) - GAP
    height = max(map(len, layers.values())) * LINE
    size = f'width="{width + 4}" height="{height + 4}" viewBox="-2 -2 {width + 4} {height + 4}"'
    shapes = [_arrow(at[start], at[end]) for start, end in sorted(arrows)]
    shapes += [_box(node, *at[node], is_failed=node in failed) for node in sorted(at)]
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>\n{STYLE}{"".join(shapes)}</svg>\n'


def _arrows(events: Iterable[Mapping[str, Any]], prefixes: Sequence[str]) -> tuple[set[tuple[Node, Node]], set[Node]]:
    """Return the arrows between jobs and datasets, and the jobs that failed."""
    datasets: defaultdict[str, set[tuple[str, str]]] = defaultdict(set)
    above: defaultdict[str, set[str]] = defaultdict(set)
    failed = set()
    for event in events:
        name = event["job"]["name"]
        for side in ("inputs", "outputs"):
            datasets[name] |= {(side, _short(item["name"], prefixes)) for item in event.get(side) or ()}
        if parent := event["run"]["facets"].get("parent"):
            above[name].add(parent["job"]["name"])
        if event["eventType"] == "FAIL":
            failed.add(("job", name))
    arrows: set[tuple[Node, Node]] = set()
    for name, sides in datasets.items():
        if not sides <= _of_ancestors(name, above, datasets):
            pairs = ((("dataset", other), ("job", name), side) for side, other in sides)
            arrows |= {(a, b) if side == "inputs" else (b, a) for a, b, side in pairs}
    return arrows, failed


def _of_ancestors(
    name: str, above: Mapping[str, set[str]], datasets: Mapping[str, set[tuple[str, str]]]
) -> set[tuple[str, str]]:
    parents = above.get(name, set())
    return {side for parent in parents for side in (*datasets.get(parent, ()), *_of_ancestors(parent, above, datasets))}


def _short(name: str, prefixes: Sequence[str]) -> str:
    return next((name.removeprefix(prefix) for prefix in prefixes if name.startswith(prefix)), name)


def _layers(arrows: set[tuple[Node, Node]]) -> dict[Node, int]:
    """Return the column of each node: after all nodes before it, and a node without any just before the next."""
    layers = {node: 0 for arrow in arrows for node in arrow}
    for _ in layers:
        for start, end in arrows:
            layers[end] = max(layers[end], min(layers[start] + 1, len(layers)))
    firsts = layers.keys() - {end for _, end in arrows}
    return layers | {node: min(layers[end] for start, end in arrows if start == node) - 1 for node in firsts}


def _box(node: Node, x: int, y: int, *, is_failed: bool) -> str:
    kind, name = node
    corner = 12 if kind == "dataset" else 0
    classes = f"{kind} failed" if is_failed else kind
    return (
        f'<rect class="{classes}" x="{x}" y="{y}" width="{WIDTH}" height="{HEIGHT}" rx="{corner}"/>'
        f'<text x="{x + WIDTH // 2}" y="{y + 19}">{escape(name)}</text>\n'
    )


def _arrow(start: tuple[int, int], end: tuple[int, int]) -> str:
    (x1, y1), (x2, y2) = start, end
    x1, y1, y2 = x1 + WIDTH, y1 + HEIGHT // 2, y2 + HEIGHT // 2
    middle = (x1 + x2) // 2
    return f'<path d="M{x1} {y1} C{middle} {y1} {middle} {y2} {x2 - 5} {y2} l-5 -4 m5 4 l-5 4"/>\n'


if __name__ == "__main__":
    print(draw(map(json.loads, Path(sys.argv[1]).read_text().splitlines()), sys.argv[2:]), end="")
