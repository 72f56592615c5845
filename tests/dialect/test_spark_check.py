"""Checks of Spark's queries without Spark: what they refuse, Spark refuses, and what Spark runs is valid."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest

from airflow_provider_odf.dialect import spark_check
from airflow_provider_odf.dialect.check import check_columns, unchecked
from airflow_provider_odf.dialect.parsing import Refusal
from airflow_provider_odf.dialect.spark_check import BUILTIN
from airflow_provider_odf.manifest.load import load
from tests.manifests import derived, polled

ROOT = polled(
    "prices",
    '{kind: Url, url: "file:///in.csv"}',
    '{kind: NdJson, schema: [id INT, value STRING, "at STRUCT<day: DATE>"]}',
)
SQL = "\n        kind: Sql\n        engine: spark\n        query: |\n          QUERY"
DERIVATIVE = derived("derived", "{datasetRef: prices, alias: p}", SQL)


def refusal(query: str) -> str | None:
    try:
        spark_check.check(query)
    except Refusal as e:
        return e.message
    return None


def column_problems(folder: Path, query: str) -> list[str]:
    return problems_of(folder, DERIVATIVE.replace("QUERY", query.replace("\n", "\n          ")))


def problems_of(folder: Path, derivative: str) -> list[str]:
    (folder / "prices.yaml").write_text(ROOT)
    (folder / "derived.yaml").write_text(derivative)
    loaded = load([folder])
    assert loaded.problems == ()
    return [str(problem).removeprefix(f"{folder}/") for problem in check_columns(loaded.manifests)]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("INSERT INTO x VALUES (1)", "a query must be one SELECT, not INSERT"),
        ("SELECT 1; SELECT 2", "one query is expected, not several"),
        ("SELECT (1 + 2 FROM p", "'(' is not closed"),
        ("SELECT 1) FROM p", "')' closes no bracket"),
        ("SELECT a[1) FROM p", "')' closes no bracket"),
        ("SELECT uper(a) FROM p", "uper is not a built-in function of Spark"),
    ],
)
def test_what_spark_refuses(query: str, message: str) -> None:
    assert refusal(query) == message


def test_columns_that_the_input_does_not_declare(tmp_path: Path) -> None:
    assert column_problems(tmp_path, "SELECT id,\n  upper(valu) AS v FROM p") == [
        "derived.yaml:14:19: column valu does not exist (did you mean `value`?)"
    ]
    (problem,) = column_problems(tmp_path, "SELECT p.id, p.nope FROM p")
    assert problem.startswith("derived.yaml:13:24: column p.nope does not exist")


@pytest.mark.parametrize(
    ("query", "column", "message"),
    [
        ("SELECT a.id, b.valu FROM p a JOIN p b ON a.id = b.id", 24, "b.valu does not exist (did you mean `value`?)"),
        ("SELECT a.id FROM p AS A JOIN p b USING (id) WHERE B.VALU > 1", 61, "B.VALU does not exist (did you mean `v"),
        ("SELECT (SELECT max(o.idd) FROM p) AS m FROM p o", 30, "o.idd does not exist (did you mean `id`?)"),
        ("WITH t AS (SELECT id AS k FROM p) SELECT q.k FROM t JOIN p q ON q.id = t.k", 52, "q.k does not exist ("),
        ("SELECT b.att.day FROM p b", 18, "b.att.day does not exist (did you mean `at`?)"),
    ],
)
def test_columns_of_a_table_by_its_alias(tmp_path: Path, query: str, column: int, message: str) -> None:
    (problem,) = column_problems(tmp_path, query)
    assert problem.startswith(f"derived.yaml:13:{column}: column {message}")


def test_the_column_of_another_input(tmp_path: Path) -> None:
    (tmp_path / "places.yaml").write_text(ROOT.replace("prices", "places").replace("value", "city"))
    derivative = DERIVATIVE.replace("alias: p}", "alias: p}, {datasetRef: places, alias: c}")
    join = "SELECT p.id, c.value, b.city FROM p JOIN c ON p.id = c.id JOIN c b ON b.id = c.id"
    (problem,) = problems_of(tmp_path, derivative.replace("QUERY", join))
    assert problem.startswith("derived.yaml:13:24: column c.value does not exist (known: at, city, event_time, id, ")
    assert problems_of(tmp_path, derivative.replace("QUERY", join.replace("c.value", "c.city"))) == []


VALID = (
    "SELECT a.ID, B.Value, b.at.day, b.system_time FROM p A JOIN p AS b USING (id) ORDER BY b.offset",
    "WITH a AS (SELECT id AS k FROM p a) SELECT a.k FROM a",
    "WITH p AS (SELECT id AS k FROM p) SELECT b.k FROM p b",
    "SELECT b.k FROM (SELECT id AS k FROM p b) b",
    "SELECT b.k, (SELECT max(b.id) FROM p b) AS m FROM (SELECT id AS k FROM p) b",
    "SELECT at.day FROM p at",
    "SELECT b.x FROM (SELECT named_struct('x', id) AS b FROM p b)",
    "SELECT b.k FROM p AS b(k, v, a, s, e, o, f)",
    "SELECT b.c FROM p a LATERAL VIEW explode(array(id)) b AS c",
    "SELECT transform(array(at), b -> b.day) AS d FROM p b",
    "SELECT b.id FROM p b LEFT SEMI JOIN p c ON b.id = c.id",
    "SELECT `b`.`id` FROM p b UNION SELECT b.id FROM p b",
    "SELECT id, VALUE, p.at.day, system_time, offset FROM p",
    "SELECT id AS a, a + 1 AS b FROM p",
    "WITH t AS (SELECT id AS k, count(*) AS n FROM p GROUP BY id) SELECT t.k, n FROM t JOIN p q ON q.id = t.k",
    "SELECT transform(array(id), x -> x + 1) AS l, aggregate(array(1), 0, (acc, v) -> acc + v) AS s FROM p",
    "SELECT extract(year FROM at.day) AS y, timestampadd(HOUR, 1, system_time) AS t FROM p",
    "SELECT c, k FROM p LATERAL VIEW explode(map('a', 1)) m AS k, c",
    "SELECT col FROM (SELECT explode(array(id)) FROM p)",
    "SELECT `count(1)` FROM (SELECT count(1) FROM p)",
    "SELECT sum(id) OVER w AS s FROM p WINDOW w AS (PARTITION BY value ORDER BY system_time)",
    "SELECT * EXCEPT (value) FROM p WHERE EXISTS (SELECT 1 FROM p AS o WHERE o.id = p.id)",
    "SELECT named_struct('x', id).x AS x, CAST(value AS DECIMAL(10, 2)) AS d, value::STRING AS s FROM p",
    "SELECT id FROM p UNION ALL SELECT id FROM p ORDER BY id NULLS LAST LIMIT 3",
    "SELECT a, b FROM (SELECT id, value FROM p) AS t(a, b)",
    "SELECT CASE WHEN id IN (1, 2) THEN 'x' ELSE concat(value, ')(') END AS c FROM p;",
    "FROM p SELECT id",
    "TABLE p",
    "WITH t AS (TABLE p) SELECT id FROM t",
    "SELECT day FROM (SELECT at.* FROM p)",
    "SELECT q.day FROM (SELECT p.at.* FROM p) q",
    "SELECT k FROM (SELECT s.* FROM (SELECT from_json(value, 'k INT') AS s FROM p))",
)


@pytest.mark.parametrize("query", VALID)
def test_queries_that_spark_runs_have_no_problems(tmp_path: Path, query: str) -> None:
    assert refusal(query) is None
    assert column_problems(tmp_path, query) == []


@pytest.mark.spark
def test_spark_agrees(spark, tmp_path: Path) -> None:
    """Random queries, half of them with a mistake: what the check refuses, Spark refuses; the names of functions are
    those of Spark."""
    from airflow_provider_odf.engine import spark_internals

    names = {name for name in spark_internals.builtin_functions() if name[0].isalpha()}
    assert names == BUILTIN
    spark.sql(
        "SELECT 1 AS id, 'a' AS value, named_struct('day', DATE '2024-01-01') AS at,"
        " timestamp '2024-01-01' AS system_time, timestamp '2024-01-01' AS event_time, 0 AS op, 0L AS offset"
    ).createOrReplaceTempView("p")
    for query in VALID:
        spark.sql(query)
    choice, refused, valid = random.Random(7), 0, 0
    for _ in range(120):
        query = _query(choice)
        try:
            spark.sql(query)
            is_valid = True
        except Exception:
            is_valid = False
        ours = refusal(query) or column_problems(tmp_path, query)
        assert not (ours and is_valid), (query, ours)
        refused += bool(ours)
        valid += is_valid
    assert refused > 12
    assert valid > 12


def _query(choice: random.Random) -> str:
    columns = ["id", "value", "p.id", "at.day", "system_time", "p.at.day"]
    calls = ["upper({})", "coalesce({}, {})", "date_format({}, 'y')", "concat('(', {})", "{} AS a{}", "{}"]
    if choice.random() < 0.4:
        columns += choice.choice([["idd"], ["p.vlue"], ["at.month"], ["q.id"]])
    if choice.random() < 0.3:
        calls += choice.choice([["uperr({})"], ["coalesce({}"], ["{})"], ["substr2({}, 1)"]])
    items = [choice.choice(calls).replace("{}", choice.choice(columns), 1) for _ in range(choice.randint(1, 4))]
    items = [item.replace("a{}", f"a{n}").replace("{}", "'x'") for n, item in enumerate(items)]
    where = choice.choice(["", " WHERE id > 0", " WHERE value IN ('a', 'b')", " ORDER BY id"])
    return f"SELECT {', '.join(items)} FROM p{where}"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("SELECT at.* FROM p", "SELECT day FROM one"),
        ("SELECT explode(array(id)) FROM p", "SELECT col FROM one"),
        ("SELECT json_tuple(value, 'a', 'b') FROM p", "SELECT c1 FROM one"),
        ("SELECT id FROM p", "SELECT id FROM one"),
        ("SELECT p.*, 1 AS n FROM p", "SELECT value, n FROM one"),
        ("SELECT *, 1 AS n FROM p", "SELECT o.value, o.n FROM one o"),
    ],
)
def test_names_of_an_earlier_query(tmp_path: Path, first: str, second: str) -> None:
    steps = f"queries:\n          - alias: one\n            query: {first}\n          - query: QUERY"
    derivative = DERIVATIVE.replace("query: |\n          QUERY", steps)
    assert problems_of(tmp_path, derivative.replace("QUERY", second)) == []


def test_a_name_that_no_earlier_query_has(tmp_path: Path) -> None:
    steps = "queries:\n          - alias: one\n            query: SELECT p.*, 1 AS n FROM p\n          - query: "
    (problem,) = problems_of(tmp_path, DERIVATIVE.replace("query: |\n          QUERY", steps + "SELECT m FROM one"))
    assert "column m does not exist" in problem


def test_what_only_spark_can_read_is_a_warning(tmp_path: Path) -> None:
    (tmp_path / "derived.yaml").write_text(DERIVATIVE.replace("QUERY", "SELECT id FROM p a b c"))
    (warning,) = unchecked(load([tmp_path], known=lambda ref: True).manifests)
    assert str(warning).removeprefix(f"{tmp_path}/") == (
        "derived.yaml:13:11: only Spark can check this query: it has syntax that the validation does not know"
    )


def test_manifests_without_queries_need_no_parser(tmp_path: Path) -> None:
    (tmp_path / "prices.yaml").write_text(ROOT)
    program = (
        "import sys\nfrom airflow_provider_odf.cli import app\n"
        f"try:\n    app(['validate', {str(tmp_path)!r}])\nexcept SystemExit as e:\n    assert e.code == 0\n"
        "print('sqlglot' in sys.modules)"
    )
    output = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert output == "1 manifest is valid\nFalse\n"
