"""The graph in lineage events, by the OpenLineage specification alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

Event = Mapping[str, Any]
Node = tuple[str, str, str]
"""``dataset`` or ``job``, namespace and name."""


def dataset(node: Mapping[str, Any]) -> Node:
    return "dataset", node["namespace"], node["name"]


def job(node: Mapping[str, Any]) -> Node:
    return "job", node["namespace"], node["name"]


def edges(events: Iterable[Event]) -> set[tuple[Node, Node]]:
    """Inputs to jobs, jobs to outputs, parents to jobs, and names of one dataset to each other."""
    found = set()
    for event in events:
        own = job(event["job"])
        for name in ("inputs", "outputs"):
            for item in event.get(name) or ():
                pair = (dataset(item), own) if name == "inputs" else (own, dataset(item))
                found.add(pair)
                links = item.get("facets", {}).get("symlinks", {}).get("identifiers", ())
                found |= {(dataset(item), dataset(link)) for link in links}
        if parent := event["run"].get("facets", {}).get("parent"):
            found.add((job(parent["job"]), own))
            if root := parent.get("root"):
                found.add((job(root["job"]), job(parent["job"])))
    return {(a, b) for a, b in found if a != b}


def components(events: Iterable[Event]) -> list[set[Node]]:
    """The connected parts of the graph."""
    near = defaultdict(set)
    for a, b in edges(events):
        near[a].add(b)
        near[b].add(a)
    parts, left = [], set(near)
    while left:
        part, new = set(), {left.pop()}
        while new:
            part |= new
            new = {other for node in new for other in near[node]} - part
        parts.append(part)
        left -= part
    return parts


def faults(events: Iterable[Event]) -> list[str]:
    """What is wrong with the runs: a run starts at least once and ends exactly once, and its parent's run is known."""
    states, jobs, parents = defaultdict(list), {}, {}
    for event in events:
        run = event["run"]["runId"]
        states[run].append(event["eventType"])
        jobs.setdefault(run, set()).add(job(event["job"]))
        if parent := event["run"].get("facets", {}).get("parent"):
            parents.setdefault(run, set()).add((parent["run"]["runId"], job(parent["job"])))
    found = []
    for run, seen in states.items():
        name = f"{run} of {jobs[run]}"
        if "START" not in seen or sum(state in ("COMPLETE", "FAIL", "ABORT") for state in seen) != 1:
            found.append(f"{name}: {seen}")
        if len(jobs[run]) != 1 or len(parents.get(run, ())) > 1:
            found.append(f"{name}: several jobs or parents")
        found += [
            f"{name}: parent {parent} of {above} is unknown"
            for parent, above in parents.get(run, ())
            if above not in jobs.get(parent, ())
        ]
    return found
