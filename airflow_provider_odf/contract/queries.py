"""SQL of quality rules: placeholders, idioms of other databases that have an exact form in Spark, and the columns that
the number of a query tells about.

A number that only counts rows tells nothing about values, as in ``count(*) … WHERE email IS NULL``. Any other number
tells about each column that goes into it or decides about it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from airflow_provider_odf.contract.metric import Metric, Rule
from airflow_provider_odf.contract.thresholds import RuleError
from airflow_provider_odf.wording import nearest

if TYPE_CHECKING:
    from sqlglot import exp

    from airflow_provider_odf.contract.model import Model

ANY_COLUMN = "*"
"""Stands for columns that cannot be resolved, as those of other models."""

_OF_MODELS = ("model", "table", "object", "schema")
_OF_FIELDS = ("field", "column", "property")
_PLACEHOLDER = re.compile(rf"\$?\{{\s*({'|'.join((*_OF_MODELS, *_OF_FIELDS))})\s*\}}", re.IGNORECASE)
_WORD = re.compile(r"\{\s*(\w+)\s*\}")
_NAME = re.compile(r"[A-Za-z_]\w*")

_EPOCH = (
    "(CASE WHEN typeof({x}) LIKE 'timestamp%' OR typeof({x}) = 'date'"
    " THEN unix_micros(CAST(CAST({x} AS STRING) AS TIMESTAMP))"
    " ELSE unix_micros(timestamp_micros(0) + CAST(CAST({x} AS STRING) AS INTERVAL DAY TO SECOND)) END / 1000000D)"
)
"""Seconds of a timestamp or of an interval. Types are unknown here; Spark computes only the branch of the type."""

_IDIOMS = re.compile(r"\b(epoch|quantile_cont|over)\b", re.IGNORECASE)
"""Words of queries that `to_spark` may change. The parser is slow to import."""


def of_query(query: str, thresholds: Mapping[str, Any], rule: Rule) -> Metric:
    """Return the metric of the query of a rule. Its argument ``uses`` has the columns that its number tells about.

    :raises RuleError: the query has a placeholder without a meaning.
    """
    sql = of_rule(query, rule.model.name, rule.field)
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


def of_rule(query: str, model: str, field: str | None) -> str:
    """Return the query of a rule of a model or a field, for Spark.

    :raises RuleError: it has a placeholder without a meaning.
    """
    return to_spark(filled(query, model, field))


def filled(query: str, model: str, field: str | None) -> str:
    """Return a query with the names of the model and the field in its placeholders.

    :raises RuleError: it has a placeholder without a meaning.
    """

    def name(match: re.Match[str]) -> str:
        if match[1].lower() not in _OF_FIELDS:
            return quoted(model)
        if field is None:
            raise RuleError(f"{match[0]} cannot be used in a rule of a model: write the column name instead")
        if set(field) & set("[{"):
            raise RuleError(
                f"{field} is inside an array or a map and is not a column: write the name of a top-level column in the "
                "query"
            )
        return ".".join(map(quoted, field.split(".")))

    for word in _WORD.findall(query):
        known = [*_OF_MODELS, *_OF_FIELDS]
        if word.lower() not in known and (close := nearest(word, known, cutoff=0.8)):
            raise RuleError(f"unknown placeholder {{{word}}}: did you mean {{{close}}}?")
    return _PLACEHOLDER.sub(name, query)


def quoted(name: str) -> str:
    """Return a name in SQL, with backquotes if it needs them."""
    return name if _NAME.fullmatch(name) else f"`{name.replace('`', '``')}`"


def to_spark(query: str) -> str:
    """Return a query with its idioms of other databases in the form of Spark. A query without any stays as it is.

    ``quantile_cont(x, p)`` of DuckDB, ``EXTRACT(EPOCH FROM x)`` of PostgreSQL and DuckDB, and window functions inside
    an aggregate have an exact form.
    """
    if not _IDIOMS.search(query):
        return query
    from sqlglot import exp

    from airflow_provider_odf.dialect.spark_check import parsed

    if (tree := parsed(query)) is None:
        return query
    before = tree.copy()
    for select in reversed([*tree.find_all(exp.Select)]):
        _move_windows(select)
    for node in reversed([*tree.find_all(exp.Extract, exp.Anonymous)]):
        if (form := _form(node)) is not None:
            node.replace(exp.var(form))
    return query if tree == before else _sql(tree)


def _sql(node: exp.Expr) -> str:
    return node.sql("spark", normalize_functions=False)


def _form(node: exp.Expr) -> str | None:
    """Return the form in Spark of an idiom, None for another function."""
    from sqlglot import exp

    if isinstance(node, exp.Extract):
        return _EPOCH.format(x=_sql(node.expression)) if node.name.lower() == "epoch" else None
    if node.name.lower() != "quantile_cont" or len(node.expressions) != 2:
        return None
    value, fraction = map(_sql, node.expressions)
    return f"percentile_cont({fraction}) WITHIN GROUP (ORDER BY {value})"


def _move_windows(select: exp.Select) -> None:
    """Move window functions out of the aggregates of a SELECT from one table, into a subquery."""
    from sqlglot import exp

    source = select.find(exp.From)
    windows = [w for part in select.expressions for w in part.find_all(exp.Window) if _is_in_aggregate(w, select)]
    if not windows or source is None or source.parent is not select or select.args.get("joins"):
        return
    table = source.this
    if table.args.get("joins") or select.args.get("laterals"):
        return
    inner = exp.select("*").from_(table.copy())
    for number, window in enumerate(windows):
        inner = inner.select(exp.alias_(window.copy(), f"__window_{number}"))
        window.replace(exp.column(f"__window_{number}"))
    if (where := select.args.get("where")) is not None:
        inner.set("where", where.pop())
    table.replace(inner.subquery(table.alias_or_name or "__rows"))


def _is_in_aggregate(window: exp.Expr, select: exp.Select) -> bool:
    """Whether a window function of a SELECT is inside an aggregate without OVER, and in no other window function."""
    from sqlglot import exp

    node, is_inside = window.parent, False
    while node is not None and not isinstance(node, exp.Select):
        if isinstance(node, exp.Window):
            return False
        is_inside = is_inside or (isinstance(node, exp.AggFunc) and not isinstance(node.parent, exp.Window))
        node = node.parent
    return is_inside and node is select
