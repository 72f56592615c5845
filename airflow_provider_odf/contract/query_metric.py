"""Quality rules whose number is that of a query, with the columns that the number tells about.

A number that only counts rows tells nothing about values, as in ``count(*) … WHERE email IS NULL``. Any other number
tells about each column that goes into it or decides about it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from airflow_provider_odf.contract import queries
from airflow_provider_odf.contract.metric import Metric, Rule

if TYPE_CHECKING:
    from airflow_provider_odf.contract.model import Model

ANY_COLUMN = "*"
"""Stands for columns that cannot be resolved, as those of other models."""


def of_query(query: str, thresholds: Mapping[str, Any], rule: Rule) -> Metric:
    """Return the metric of the query of a rule. Its argument ``uses`` has the columns that its number tells about.

    :raises RuleError: the query has a placeholder without a meaning.
    """
    sql = queries.of_rule(query, rule.model.name, rule.field)
    return Metric("query", {"query": sql, "thresholds": thresholds, "uses": columns_of_number(sql, rule.model)})


def columns_of_number(query: str, model: Model) -> list[str]:
    """Return the columns of a model that the number of a query tells about, in lower case."""
    from airflow_provider_odf.lineage.column_uses import DIRECT
    from airflow_provider_odf.lineage.columns import column_lineage
    from airflow_provider_odf.lineage.expression_uses import MASKS
    from airflow_provider_odf.protocol import SqlQueryStep

    tables = {model.name: [field.name for field in model.fields]}
    lineage = column_lineage("spark", [SqlQueryStep(query.rstrip("; \t\n"))], tables)
    uses = lineage.relation.everything
    only_counts = MASKS.isdisjoint(re.findall(r"\w+", query.lower()))  # a hash that is a number can be looked up
    if all(use.way not in DIRECT or (use.is_masking and only_counts) for use in uses):
        return []
    sources = {use.source for use in (*uses, *lineage.relation.rows)}
    return sorted({lineage.spelled[at].column.lower() if at in lineage.spelled else ANY_COLUMN for at in sources})
