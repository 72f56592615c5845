"""Origins of columns, for the forms of SQL that derivatives use."""

import pytest

from airflow_provider_odf.lineage.columns import Origin, origins
from airflow_provider_odf.protocol import SqlQueryStep

TABLES = {
    "com.acme.Orders": ("offset", "op", "system_time", "event_time", "Id", "cust", "price"),
    "c": ("op", "event_time", "id", "name"),
}
OUTPUT = ("event_time", "Id", "cust", "name", "total", "number", "price")


def made_of(engine, *queries):
    """Table, column and the first letter of the way, by column."""
    steps = [SqlQueryStep(query, f"step{number}") for number, query in enumerate(queries[:-1], 1)]
    found = origins(engine, [*steps, SqlQueryStep(queries[-1])], TABLES, OUTPUT)
    return {name: [f"{o.table}.{o.column} {o.way[0]}" for o in made] for name, made in found.items()}


ORDERS = "com.acme.Orders"


@pytest.mark.parametrize(
    ("engine", "queries", "columns"),
    [
        (
            "spark",
            ("SELECT event_time, ID, price * 2 AS total FROM `com.acme.orders` WHERE cust > 1",),
            {"event_time": [f"{ORDERS}.event_time I"], "Id": [f"{ORDERS}.Id I"], "total": [f"{ORDERS}.price T"]},
        ),
        (
            "spark",
            ("SELECT o.event_time, o.cust, C.Name FROM `com.acme.Orders` o LEFT JOIN c ON o.cust = c.id",),
            {"event_time": [f"{ORDERS}.event_time I"], "cust": [f"{ORDERS}.cust I"], "name": ["c.name I"]},
        ),
        ("spark", ("SELECT * FROM c",), {"event_time": ["c.event_time I"], "Id": ["c.id I"], "name": ["c.name I"]}),
        (
            "spark",
            (
                "SELECT cust, price + 1 AS price FROM `com.acme.Orders`",
                "WITH x AS (FROM Step1) SELECT cust, sum(x.price) AS total, count(*) AS number FROM x GROUP BY 1",
            ),
            {"cust": [f"{ORDERS}.cust I"], "total": [f"{ORDERS}.price A"]},
        ),
        (
            "spark",
            ("SELECT event_time, id FROM c UNION ALL SELECT event_time, cust FROM `com.acme.Orders`",),
            {
                "event_time": ["c.event_time I", f"{ORDERS}.event_time I"],
                "Id": ["c.id I", f"{ORDERS}.cust I"],
            },
        ),
        (
            "spark",
            (
                "SELECT (SELECT max(name) FROM c) AS name, e AS cust "
                "FROM `com.acme.Orders` LATERAL VIEW explode(cust) t AS e",
            ),
            {"name": ["c.name A"], "cust": [f"{ORDERS}.cust T"]},
        ),
        (
            "datafusion",
            (f'SELECT "Id" AS id, row_number() OVER (PARTITION BY cust ORDER BY price) AS number FROM "{ORDERS}"',),
            {"Id": [f"{ORDERS}.Id I"], "number": [f"{ORDERS}.cust T", f"{ORDERS}.price T"]},
        ),
        (
            "flink",
            (
                "SELECT TUMBLE_START(event_time, INTERVAL '1' DAY) AS event_time, cust, SUM(price) AS total "
                f"FROM `{ORDERS}` GROUP BY TUMBLE(event_time, INTERVAL '1' DAY), cust",
            ),
            {"event_time": [f"{ORDERS}.event_time T"], "cust": [f"{ORDERS}.cust I"], "total": [f"{ORDERS}.price A"]},
        ),
        (
            "risingwave",
            (f'create materialized view x as SELECT event_time, max(price) as total FROM "{ORDERS}" group by 1',),
            {"event_time": [f"{ORDERS}.event_time I"], "total": [f"{ORDERS}.price A"]},
        ),
        ("spark", ("SELECT 1 AS number FROM c",), {}),
        ("spark", ("SELECT (",), {}),
        ("spark", ("DROP TABLE c",), {}),
        ("spark", ("SELECT " + "(" * 5_000 + "1" + ")" * 5_000,), {}),
    ],
)
def test_origins(engine, queries, columns):
    assert made_of(engine, *queries) == columns


def test_an_origin_says_how_its_strongest_use_changes_it():
    query = SqlQueryStep(
        "SELECT a + b AS total FROM (SELECT price AS a, sum(price) OVER () AS b FROM `com.acme.Orders`)"
    )
    assert origins("spark", [query], TABLES, ["total"]) == {"total": (Origin(ORDERS, "price", "AGGREGATION"),)}
