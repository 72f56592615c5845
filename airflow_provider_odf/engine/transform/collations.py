"""Refuse results in which a collation decides which of several equal texts is shown.

Under a collation such as UTF8_LCASE, texts that differ are equal. Which of them a group, a minimum or the first row of
an order shows depends on the order of the rows. Conditions only compare, so filters and joins may use collations.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from airflow_provider_odf.engine.plan_nodes import class_name
from airflow_provider_odf.engine.transform.fault import Fault
from airflow_provider_odf.engine.transform.plan_tree import Node, subplans

_CHOOSES = ("Aggregate", "Distinct", "Window", "GlobalLimit", "Offset", "Intersect", "Except", "Deduplicate")
"""Kinds of plan nodes that choose among equal rows."""

_COMPARES = ("Filter", "Join")


def is_collated(kind: Any) -> bool:
    """Whether texts of a type that differ can be equal. ``kind`` is a type from the JSON of a plan."""
    return "collat" in (kind if isinstance(kind, str) else json.dumps(kind)).lower()


def faults(root: Node) -> Iterator[Fault]:
    """Yield the faults of a query that chooses among rows and has columns with a collation."""
    nodes = [*root.all_nodes()]
    if not any(node.kind in _CHOOSES for node in nodes):
        return
    for node in nodes:
        if node.kind in _COMPARES:
            continue
        if any(_has_collation(part) for part in subplans({**node.fields, "plan": None})):
            yield Fault(
                "collate",
                "under a collation, texts that differ are equal, and which of them the result shows depends on the "
                "order of the rows",
                "group, sort and compare by a function of the text without a collation, such as lower(…)",
            )
            return


def _has_collation(expression: Mapping[str, Any]) -> bool:
    return class_name(expression) == "Collate" or is_collated(expression.get("dataType", ""))
