"""The clauses of `benchmarks.contract` that fail, as SQL of DuckDB by hand, with their failing rows."""

from __future__ import annotations

import json
import sys

import duckdb

_BROKEN = {
    "order_id required": "order_id IS NULL",
    "order_id minLength": "length(order_id) < 10",
    "customer required": "customer IS NULL",
    "customer minimum": "customer < 1",
    "total minimum": "total < 0",
    "total maximum": "total > 1000",
    "status enum": "status NOT IN ('open', 'paid', 'shipped')",
    "email pattern": "NOT regexp_matches(email, '^[^@ ]+@[^@ ]+$')",
    "email maxLength": "length(email) > 40",
    "placed required": "placed IS NULL",
}
_REPEATED = "SELECT order_id FROM orders GROUP BY order_id HAVING count(*) > 1"


def main() -> None:
    given = json.loads(sys.argv[1])
    duckdb.execute(f"CREATE VIEW orders AS SELECT * FROM '{given['data']}'")
    counts = ", ".join(f"count(*) FILTER ({broken})" for broken in _BROKEN.values())
    [found] = duckdb.sql(f"SELECT {counts} FROM orders").fetchall()
    failing = [broken for broken, count in zip(_BROKEN.values(), found, strict=True) if count]
    for broken in failing:
        duckdb.sql(f"SELECT * FROM orders WHERE {broken} LIMIT 5").fetchall()
    repeated = duckdb.sql(f"SELECT * FROM orders WHERE order_id IN ({_REPEATED}) LIMIT 5").fetchall()
    print(json.dumps({"failed": len(failing) + bool(repeated)}))


if __name__ == "__main__":
    main()
