"""No name of the engine meets a name of the user: columns with the names that the engine's code uses, and odd ones."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

import airflow_provider_odf
from airflow_provider_odf.engine.schema import quoted
from airflow_provider_odf.errors import InvalidQuery
from airflow_provider_odf.protocol import MergeStrategy
from tests.engine.conftest import Polled
from tests.engine.transform.derived import Derived

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

ODD = (
    "col", "key", "value", "pos", "count", "KEY ", "count(1)", "sum(x)", "max(`a`)", "a`b", "a.b", "a b", "it's",
    'say "x"', "Größe", "名前", "select", "from", "null", "l", "r", "n", "o", "t", "q", "*", "a;b", "a,b", "a=b", "a/b",
    "{x}", "(a)", "$x", "${env:HOME}", ":odf_watermark", "%s", "\\x", "a:b", "1", "-1", "_c0", "__once", "__malformed",
    "window", "struct", "array", "input", "record", "row", "op_", "sum(odf:count)",
)  # fmt: skip


def internal_names() -> list[str]:
    """Return the short texts in the code of the engine, which may be names of columns or tables."""
    root = Path(airflow_provider_odf.__file__).parent
    names: dict[str, str] = {}
    for folder in ("engine", "datafusion", "spark", "reading"):
        for file in sorted((root / folder).rglob("*.py")):
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    for word in re.findall(r"(?<![\w:])[A-Za-z_]\w{0,19}(?!\w)", node.value)[:20]:
                        names.setdefault(word.lower(), word)
    return sorted(names.values())


def sample(seed: int, odd: int, internal: int) -> list[str]:
    """Return names that differ also when case is ignored, in random case, without those of system columns."""
    r = Random(seed)
    chosen = [*r.sample(ODD, odd), *r.sample(internal_names(), internal)]
    spelled = {name.lower(): r.choice([name, name.upper(), name.lower()]) for name in chosen}
    taken = ("offset", "op", "system_time", "event_time", "id")
    return [name for lower, name in spelled.items() if lower not in taken and not lower.startswith("odf:")]


@pytest.fixture(params=["small", "large"])
def size(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows as few as they are, and in the form for large data, in tasks of Spark."""
    if request.param == "large":
        monkeypatch.setattr("airflow_provider_odf.records.files.SMALL", -1)


@pytest.mark.long
@pytest.mark.usefixtures("size")
def test_names(spark: SparkSession, tmp_path: Path) -> None:
    check(spark, tmp_path, sample(1, 10, 8), 4)


@pytest.mark.usefixtures("size")
def test_names_that_mean_something_in_sql(spark: SparkSession, tmp_path: Path) -> None:
    check(spark, tmp_path, ["a.b", "a`b", "`a`", "it's", "*"], 1)


@pytest.mark.torture
@pytest.mark.usefixtures("size")
@pytest.mark.parametrize("seed", range(20))
def test_many_names(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    check(spark, tmp_path, sample(100 + seed, len(ODD), 100), 9)


def check(spark: SparkSession, work: Path, names: list[str], forms: int) -> None:
    """Poll rows with these columns, change them, and compare derivatives of several forms with their whole results."""
    root = Polled(spark, work / "root", "", MergeStrategy("Snapshot", ("id",)))
    root.poll([_row(n, names) for n in range(4)])
    table = root.table()
    assert {*names} < {*table.column_names}
    assert table.select(names).to_pylist()[1] == {name: f"1 {name}" for name in names}
    queries = Random(len(names)).sample([*_queries(names)], forms)
    derived = [Derived.of(spark, work / f"d{n}", sql, people=root) for n, sql in enumerate(queries)]
    for step in range(2):
        if step:
            root.poll([_row(n, names, step) for n in range(step, 5)])
        for number, (sql, of) in enumerate(zip(queries, derived, strict=True)):
            of.step()
            if not step:
                continue
            fresh = Derived.of(spark, work / f"f{number}", sql, people=root)
            fresh.step()
            assert of.rows == fresh.rows, f"{of.evaluation}: {sql}"


def _row(number: int, names: Iterable[str], version: int = 0) -> dict[str, Any]:
    suffix = "!" * version if number % 2 else ""
    return {"event_time": "2024-04-01T00:00:00Z", "id": number, **{name: f"{number} {name}{suffix}" for name in names}}


def _queries(names: list[str]) -> Iterable[str]:
    every = ", ".join(map(quoted, names))
    yield f"SELECT event_time, id, {every} FROM people"
    # An outer query reads all rows: the result is compared with the present rows.
    first = ", ".join(f"max({quoted(name)}) AS {quoted(name)}" for name in names)
    yield f"SELECT max(event_time) AS event_time, id % 2 AS id, {first} FROM people GROUP BY id % 2"
    yield f"SELECT max(event_time) AS event_time, {first} FROM people HAVING count(*) > 0"
    yield f"SELECT DISTINCT event_time, {every} FROM people"
    joined = ", ".join(f"a.{quoted(name)}" for name in names)
    yield f"SELECT a.event_time, {joined} FROM people a JOIN people b ON a.{quoted(names[0])} = b.{quoted(names[0])}"
    # Their columns have the names `col` and `pos`; the outer query compares the rows with the present ones.
    exploded = "SELECT event_time, explode(array(id, 1)) FROM people"
    yield f"SELECT max(event_time) AS event_time, col FROM ({exploded}) GROUP BY col HAVING count(*) > 0"
    yield "SELECT event_time, posexplode(array(id, 1)) FROM people"
    unnamed = "id % 2, count(1), max(named_struct('a b', id))"
    yield f"SELECT max(event_time) AS event_time, {unnamed} FROM people GROUP BY id % 2"
    yield f"SELECT max(event_time) AS event_time, {quoted(names[1])}, count(*) FROM people GROUP BY {quoted(names[1])}"


@pytest.mark.parametrize("name", ["odf:op", "ODF:position", "odf:"])
def test_names_of_the_engine_are_refused(spark: SparkSession, tmp_path: Path, name: str) -> None:
    root = Polled(spark, tmp_path / "root", "", MergeStrategy("Append"))
    message = f"column {name} has the prefix odf:, which names columns of the engine: rename it in "
    with pytest.raises(InvalidQuery, match=f"{message}`preprocess`, in Spark SQL `"):
        root.poll([{"event_time": "2024-04-01T00:00:00Z", name: 1}])
    root.poll([{"event_time": "2024-04-01T00:00:00Z", "v": 1}])
    derived = Derived.of(spark, tmp_path / "d", f"SELECT event_time, v AS `{name}` FROM rows", rows=root)
    with pytest.raises(InvalidQuery, match=f"^transform: {message}the query, in Spark SQL `"):
        derived.step()
