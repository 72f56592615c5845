"""Parts of a query that a streaming engine can only answer from what earlier runs have left."""

from __future__ import annotations

from sqlglot import exp

from airflow_provider_odf.dialect.place import Refused

_CLAUSES = {
    "distinct": "DISTINCT keeps",
    "group": "GROUP BY keeps",
    "having": "HAVING keeps",
    "order": "ORDER BY keeps",
    "limit": "LIMIT keeps",
    "offset": "OFFSET keeps",
}


def stateful(node: exp.Expr, what: str) -> Refused:
    """Says that ``what`` ("GROUP BY keeps") keeps state."""
    reason = "streaming engines are translated only for queries that look at one record at a time"
    return Refused(node, f"{what} state between runs; {reason}", "use engine: datafusion or spark")


def refuse_state(node: exp.Expr) -> None:
    """:raises Refused: if the query needs more than the record it looks at."""
    for table in node.find_all(exp.Table):
        if table.args.get("version"):
            raise stateful(table, "a temporal join (FOR SYSTEM_TIME AS OF) keeps")
        if not isinstance(table.this, exp.Identifier):
            raise stateful(table, "a time window keeps")
    if node.args.get("joins"):
        raise stateful(node.args["joins"][0], "a join keeps")
    if isinstance(node, exp.SetOperation):
        if not isinstance(node, exp.Union) or node.args.get("distinct"):
            raise stateful(node.expression, "a set operation other than UNION ALL keeps")
        return
    for key, what in _CLAUSES.items():
        if node.args.get(key):
            raise stateful(node.args[key], what)
