"""Make a document readable whose values have wrong types: each of them is a clause that cannot be evaluated."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pydantic import ValidationError

from airflow_provider_odf.contract.document_spot import Path, Spot
from airflow_provider_odf.contract.model import Clause, pointer
from airflow_provider_odf.contract.problems import of_detail, steps_of
from airflow_provider_odf.errors import Problem
from airflow_provider_odf.manifest.document import Document

MOST_REPAIRS = 20
"""Maximum number of times that a document is repaired: what is inside a repaired value shows in the next round only."""

_MAPPINGS = ("model_type", "dict_type")
"""Kinds of errors of pydantic at a value that must be a mapping."""

_CAUTIOUS = {"pii": True, "classification": "restricted"}
"""A field is sensitive if nobody can read whether it is."""


class Repair:
    """The repair of one document. ``problems`` are by the path of the wrong value, and of a missing one."""

    def __init__(self) -> None:
        self.problems: dict[Path, list[Problem]] = {}

    def repaired(self, document: Document, error: ValidationError) -> Document:
        """Return the document without the values that an error is about.

        A wrong mapping is empty, and a missing value is an empty text. A list with a wrong item is missing, because the
        items after it would have other positions.
        """

        def change(root: Any) -> None:
            earlier, repaired = {*self.problems}, set[Path]()
            for detail in error.errors():
                steps = steps_of(detail)
                # A list with two wrong items is missing after the first.
                path = _within(steps, repaired) or _repair(root, steps, detail["type"])
                repaired.add(path)
                if _within(path, earlier) is None:
                    self.problems.setdefault(path, []).append(of_detail(Spot(document), detail))

        return document.repaired(change)

    @property
    def clauses(self) -> tuple[Clause, ...]:
        """The wrong and missing values as clauses."""
        return tuple(invalid(pointer(*path), problems) for path, problems in self.problems.items())


def invalid(path: str, problems: list[Problem]) -> Clause:
    """Return the clause at a pointer whose value has problems. They are its value, as text."""
    return Clause(path.rpartition("/")[2], "; ".join(map(str, problems)), path, problems[0].place)


def _repair(root: Any, steps: Path, kind: str) -> Path:
    """Repair the value that an error is about, and return its path."""
    nodes, path = [root], list[str | int]()
    for step in steps:
        if not _has(nodes[-1], step):
            break
        path.append(step)
        nodes.append(nodes[-1][step])
    if kind == "missing":
        nodes[-1][steps[-1]] = ""
        return (*path, steps[-1])
    if kind in _MAPPINGS:
        nodes[-2][path[-1]] = {}
        return tuple(path)
    while isinstance(path[-1], int):
        path.pop()
    key, parent = path[-1], nodes[len(path) - 1]
    if key in _CAUTIOUS:
        parent[key] = _CAUTIOUS[str(key)]
    else:
        parent.pop(key, None)
    return tuple(path)


def _within(path: Path, others: Iterable[Path]) -> Path | None:
    """Return the one of other paths at which, or inside of which, a path is."""
    return next((other for other in others if path[: len(other)] == other), None)


def _has(node: Any, step: str | int) -> bool:
    if isinstance(node, dict):
        return step in node
    return isinstance(node, list) and isinstance(step, int) and step < len(node)
