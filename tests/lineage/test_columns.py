"""Origins of columns, for the forms of SQL that derivatives use."""

import pytest

from airflow_provider_odf.lineage.columns import Origin, column_lineage
from airflow_provider_odf.protocol import SqlQueryStep

TABLES = {
    "com.acme.Orders": ("offset", "op", "system_time", "event_time", "Id", "cust", "price"),
    "c": ("op", "event_time", "id", "name"),
}
OUTPUT = ("event_time", "Id", "cust", "name", "total", "number", "price")


def made_of(engine, *queries):
    """Table, column and the first letter of the way, by column; those of all rows under ``*``."""
    steps = [SqlQueryStep(query, f"step{number}") for number, query in enumerate(queries[:-1], 1)]
    lineage = column_lineage(engine, [*steps, SqlQueryStep(queries[-1])], TABLES)
    found = {**{name: lineage.of(name) for name in OUTPUT}, "*": lineage.rows}
    return {name: [f"{o.table}.{o.column} {o.way[0]}" for o in made] for name, made in found.items() if made}


ORDERS = "com.acme.Orders"


@pytest.mark.parametrize(
    ("engine", "queries", "columns"),
    [
        (
            "spark",
            ("SELECT event_time, ID, price * 2 AS total FROM `com.acme.orders` WHERE cust > 1",),
            {
                "event_time": [f"{ORDERS}.event_time I"],
                "Id": [f"{ORDERS}.Id I"],
                "total": [f"{ORDERS}.price T"],
                "*": [f"{ORDERS}.cust F"],
            },
        ),
        (
            "spark",
            ("SELECT o.event_time, o.cust, C.Name FROM `com.acme.Orders` o LEFT JOIN c ON o.cust = c.id",),
            {
                "event_time": [f"{ORDERS}.event_time I"],
                "cust": [f"{ORDERS}.cust I"],
                "name": ["c.name I"],
                "*": ["c.id J", f"{ORDERS}.cust J"],
            },
        ),
        ("spark", ("SELECT * FROM c",), {"event_time": ["c.event_time I"], "Id": ["c.id I"], "name": ["c.name I"]}),
        (
            "spark",
            (
                "SELECT cust, price + 1 AS price FROM `com.acme.Orders`",
                "WITH x AS (FROM Step1) SELECT cust, sum(x.price) AS total, count(*) AS number FROM x GROUP BY 1",
            ),
            {"cust": [f"{ORDERS}.cust I"], "total": [f"{ORDERS}.price A"], "*": [f"{ORDERS}.cust G"]},
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
            {"name": ["c.name A"], "cust": [f"{ORDERS}.cust T"], "*": [f"{ORDERS}.cust F"]},
        ),
        (
            "datafusion",
            (f'SELECT "Id" AS id, row_number() OVER (PARTITION BY cust ORDER BY price) AS number FROM "{ORDERS}"',),
            {"Id": [f"{ORDERS}.Id I"], "number": [f"{ORDERS}.cust W", f"{ORDERS}.price W"]},
        ),
        (
            "flink",
            (
                "SELECT TUMBLE_START(event_time, INTERVAL '1' DAY) AS event_time, cust, SUM(price) AS total "
                f"FROM `{ORDERS}` GROUP BY TUMBLE(event_time, INTERVAL '1' DAY), cust",
            ),
            {
                "event_time": [f"{ORDERS}.event_time T"],
                "cust": [f"{ORDERS}.cust I"],
                "total": [f"{ORDERS}.price A"],
                "*": [f"{ORDERS}.cust G", f"{ORDERS}.event_time G"],
            },
        ),
        (
            "risingwave",
            (f'create materialized view x as SELECT event_time, max(price) as total FROM "{ORDERS}" group by 1',),
            {
                "event_time": [f"{ORDERS}.event_time I"],
                "total": [f"{ORDERS}.price A"],
                "*": [f"{ORDERS}.event_time G"],
            },
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
    lineage = column_lineage("spark", [query], TABLES)
    assert lineage.of("total") == (Origin(ORDERS, "price", "AGGREGATION"),)


FLAT = {"a": ("id", "name", "email", "x", "y", "z"), "b": ("id", "k", "city", "xs")}


def uses(origins):
    """Columns with their ways: direct ones in capitals, with a star where no value is shown."""
    found = {}
    for o in origins:
        found.setdefault(f"{o.table}.{o.column}", []).append(f"{o.way}{'*' * o.is_masking}")
    return [f"{name} {'+'.join(ways)}" for name, ways in found.items()]


def lineage_of(query, engine="spark", tables=FLAT):
    return column_lineage(engine, [SqlQueryStep(query)], tables)


@pytest.mark.parametrize(
    ("query", "column", "rows"),
    [
        # What OpenLineage's listener for Spark says, unless a comment says otherwise.
        ("case when x > 1 then y else 0 end from a", ["a.x CONDITIONAL", "a.y TRANSFORMATION"], []),
        ("case x when y then 1 end from a", ["a.x CONDITIONAL", "a.y CONDITIONAL"], []),
        ("if(x > 1, y, 0) from a", ["a.x CONDITIONAL", "a.y TRANSFORMATION"], []),
        ("coalesce(x, y) from a", ["a.x CONDITIONAL+TRANSFORMATION", "a.y CONDITIONAL+TRANSFORMATION"], []),
        ("nvl2(x, y, z) from a", ["a.x CONDITIONAL", "a.y TRANSFORMATION", "a.z TRANSFORMATION"], []),
        ("nullif(x, y) from a", ["a.x CONDITIONAL+TRANSFORMATION", "a.y CONDITIONAL"], []),
        ("decode(x, 1, y, z) from a", ["a.x CONDITIONAL", "a.y TRANSFORMATION", "a.z TRANSFORMATION"], []),
        ("x = y from a", ["a.x TRANSFORMATION", "a.y TRANSFORMATION"], []),
        # The listener leaves the condition of an aggregate out.
        ("sum(x) filter (where y > 1) from a", ["a.x AGGREGATION", "a.y CONDITIONAL"], []),
        ("listagg(x) within group (order by y) from a", ["a.x AGGREGATION", "a.y SORT"], []),
        ("percentile_cont(0.5) within group (order by x) from a", ["a.x AGGREGATION"], []),
        ("count(distinct x) from a", ["a.x AGGREGATION*"], []),
        ("count(*) from a where name = 'x'", [], ["a.name FILTER"]),
        ("md5(email) from a", ["a.email TRANSFORMATION*"], []),
        ("sha2(concat(email, x), 256) from a", ["a.email TRANSFORMATION*", "a.x TRANSFORMATION*"], []),
        ("concat(email, mask(email)) from a", ["a.email TRANSFORMATION"], []),
        ("max(m) from (select xxhash64(email) as m from a)", ["a.email AGGREGATION*"], []),
        ("sum(y) over (partition by name order by x) from a", ["a.name WINDOW", "a.x WINDOW", "a.y AGGREGATION"], []),
        ("lag(x) over w from a window w as (order by y)", ["a.x TRANSFORMATION", "a.y WINDOW"], []),
        ("max(k) from b group by city having sum(id) > 0", ["b.k AGGREGATION"], ["b.city GROUP_BY", "b.id FILTER"]),
        ("k from b group by all", ["b.k IDENTITY"], ["b.k GROUP_BY"]),
        ("city from a join b on a.id = b.id and k > 1", ["b.city IDENTITY"], ["a.id JOIN", "b.id JOIN", "b.k JOIN"]),
        ("city from a left join b using (id)", ["b.city IDENTITY"], ["a.id JOIN", "b.id JOIN"]),
        ("city from a natural join b", ["b.city IDENTITY"], ["a.id JOIN", "b.id JOIN"]),
        ("x from a left anti join b on a.id = b.id", ["a.x IDENTITY"], ["a.id JOIN", "b.id JOIN"]),
        # The listener sees Spark's plan, in which these are joins.
        (
            "x from a where exists (select 1 from b where b.id = a.id and k > 1)",
            ["a.x IDENTITY"],
            ["a.id FILTER", "b.id FILTER", "b.k FILTER"],
        ),
        ("x from a where y in (select k from b)", ["a.x IDENTITY"], ["a.y FILTER", "b.k FILTER"]),
        ("x from a where y > (select max(k) from b)", ["a.x IDENTITY"], ["a.y FILTER", "b.k FILTER"]),
        ("x from a except select k from b", ["a.x IDENTITY"], ["a.x GROUP_BY", "b.k FILTER"]),
        ("x from a intersect all select k from b", ["a.x IDENTITY"], ["b.k FILTER"]),
        ("x from a union select k from b", ["a.x IDENTITY", "b.k IDENTITY"], ["a.x GROUP_BY", "b.k GROUP_BY"]),
        ("x from a union all select k from b", ["a.x IDENTITY", "b.k IDENTITY"], []),
        ("distinct x from a", ["a.x IDENTITY"], ["a.x GROUP_BY"]),
        ("x from a order by y limit 1", ["a.x IDENTITY"], ["a.y SORT"]),
        ("x as y from a order by y", ["a.x IDENTITY"], ["a.x SORT"]),
        ("e from b lateral view explode(xs) t as e", ["b.xs TRANSFORMATION"], ["b.xs FILTER"]),
        ("explode(xs) from b", ["b.xs TRANSFORMATION"], ["b.xs FILTER"]),
        ("transform(xs, v -> v + k) from b", ["b.k TRANSFORMATION", "b.xs TRANSFORMATION"], []),
        ("x.f.g from a", ["a.x TRANSFORMATION"], []),
        ("a.x.f from a", ["a.x TRANSFORMATION"], []),
        ("(select max(k) from b where b.id = a.id) from a", ["a.id FILTER", "b.id FILTER", "b.k AGGREGATION"], []),
        (
            "l.k from a, lateral (select * from b where b.id = a.id) l",
            ["b.k IDENTITY"],
            ["a.id FILTER", "b.id FILTER"],
        ),
        (
            "s.sx + k from (select id, sum(x) as sx from a group by id) s join b on s.id = b.id where sx > 3",
            ["a.x AGGREGATION", "b.k TRANSFORMATION"],
            ["a.id GROUP_BY+JOIN", "a.x FILTER", "b.id JOIN"],
        ),
        (
            "n from (with recursive r as (select x as n from a union all select n + y from r, a) select n from r)",
            ["a.x TRANSFORMATION", "a.y TRANSFORMATION"],
            [],
        ),
    ],
)  # fmt: skip
def test_each_use_of_a_column_has_its_kind(query, column, rows):
    lineage = lineage_of(f"select {query}")
    (name,) = lineage.columns or ("",)
    assert (uses(lineage.of(name)), uses(lineage.rows)) == (column, rows)
    assert lineage.is_resolved(name)


@pytest.mark.parametrize(
    ("query", "columns"),
    [
        ("select b.* from a join b using (id)", ("id", "k", "city", "xs")),
        ("select * except (xs) from b", ("id", "k", "city")),
        ("select *, x + 1 as w from a", ("id", "name", "email", "x", "y", "z", "w")),
        ("select stack(2, x, y) as (c, d) from a", ("c", "d")),
    ],
)
def test_stars_are_expanded(query, columns):
    assert lineage_of(query).columns == columns


@pytest.mark.parametrize(
    ("engine", "query"),
    [
        ("spark", "select nowhere as id from a"),
        ("spark", "select id from a join elsewhere e on e.id = a.id"),
        ("spark", "select id from elsewhere"),
        ("spark", "select * from a pivot (sum(x) for y in (1, 2))"),
        ("spark", "select id from a where exists (select 1 from elsewhere e where e.id = a.id)"),
        ("flink", "select id from a, a for system_time as of nowhere.t"),
        ("spark", "select ("),
    ],
)
def test_what_cannot_be_resolved_is_said(engine, query):
    assert not lineage_of(query, engine).is_resolved("id")


def test_windows_of_flink_and_risingwave():
    window = "TABLE(TUMBLE(TABLE `t`, DESCRIPTOR(event_time), INTERVAL '1' DAY))"
    tables = {"t": ("event_time", "x")}
    query = "SELECT window_start, SUM(x) AS x FROM {} GROUP BY window_start"
    for engine, source in (("flink", window), ("risingwave", "tumble(t, event_time, interval '1 day')")):
        lineage = lineage_of(query.format(source), engine, tables)
        assert uses(lineage.of("window_start")) == ["t.event_time TRANSFORMATION"]
        assert uses(lineage.of("x")) == ["t.x AGGREGATION"]
        assert uses(lineage.rows) == ["t.event_time GROUP_BY"]
        assert lineage.is_resolved("window_start")
