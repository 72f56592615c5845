"""Queries so deep that DataFusion would end the process: refused before it sees them."""

from __future__ import annotations

import pytest

from airflow_provider_odf.datafusion.plan import plan, syntax
from airflow_provider_odf.datafusion.query_text import QueryProblem
from airflow_provider_odf.protocol import SqlQueryStep
from tests.datafusion.conftest import ROWS

COUNT = 5000


def steps(*queries: str) -> list[SqlQueryStep]:
    return [SqlQueryStep(q, f"q{n}" if n < len(queries) else None) for n, q in enumerate(queries, 1)]


def refusal(*queries: str) -> str:
    with pytest.raises(QueryProblem) as with_columns:
        plan(steps(*queries), {"input": ROWS.schema})
    with pytest.raises(QueryProblem) as without_columns:
        syntax(steps(*queries))
    assert str(with_columns.value) == str(without_columns.value)
    return str(with_columns.value)


@pytest.mark.parametrize(
    "operator", ["OR", "AND", "+", "||", "=", "<<", "^", "::INT +", "IS NULL OR", "< coalesce(n, 1) OR"]
)
def test_an_expression_that_would_end_the_process_is_refused(operator: str) -> None:
    message = refusal(f"SELECT {f' {operator} '.join(['id'] * COUNT)} AS x FROM input")
    assert message.startswith("query 1, 1:")
    assert message.endswith(": an expression has more than 1,000 operators (use IN (…) instead of many OR)")


@pytest.mark.parametrize(
    "query",
    [
        "SELECT i.id FROM input i " + " ".join(f"CROSS JOIN (SELECT 1 AS c{n}) j{n}" for n in range(COUNT)),
        "SELECT i.id FROM input i " + " ".join(f"JOIN input j{n} ON j{n}.id = i.id" for n in range(COUNT)),
        "SELECT i.id FROM input i" + "".join(f", input j{n}" for n in range(COUNT)),
        "WITH c0 AS (SELECT id FROM input)"
        + "".join(f", c{n} AS (SELECT * FROM c{n - 1})" for n in range(1, COUNT))
        + f" SELECT id FROM c{COUNT - 1}",
    ],
)
def test_relations_that_would_end_the_process_are_refused(query: str) -> None:
    assert refusal(query).endswith(
        ": the query has more than 500 joins and subqueries (use fewer joins and subqueries)"
    )


def test_queries_that_build_on_each_other_count_together() -> None:
    terms = " + ".join(["id"] * 400)
    queries = (f"SELECT {terms} AS id FROM input", f"SELECT {terms} AS id FROM q1", f"SELECT {terms} AS id FROM q2")
    assert refusal(*queries).startswith("query 3, 1:")


def test_wide_and_flat_queries_are_planned() -> None:
    columns = ", ".join(f"id IS DISTINCT FROM {n} AS c{n}" for n in range(1200))
    assert len(plan(steps(f"SELECT {columns} FROM input"), {"input": ROWS.schema}).output) == 1200
    numbers = ", ".join(map(str, range(COUNT)))
    assert plan(steps(f"SELECT id FROM input WHERE id IN ({numbers})"), {"input": ROWS.schema}).is_row_wise
    union = " UNION ALL ".join(["SELECT id FROM input"] * 600)
    assert plan(steps(union), {"input": ROWS.schema}).is_row_wise
