"""Problems of the SQL in manifests, at their places in the file."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from airflow_provider_odf.dialect.check import check
from airflow_provider_odf.manifest.load import load

MANIFEST = """\
kind: DatasetSnapshot
version: 1
content:
  name: cases
  kind: Root
  metadata:
    - kind: SetPollingSource
      fetch:
        kind: Url
        url: https://example.com/cases.csv
      read:
        kind: Csv
        header: true
        schema:
          - id BIGINT
          - at STRING
      preprocess:
        kind: Sql
        engine: {engine}
        {queries}
      merge:
        {merge}
    - kind: SetVocab
      eventTimeColumn: at
"""
LEDGER = "kind: Ledger\n        primaryKey:\n          - id"


def problems(tmp_path: Path, queries: str, *, engine: str = "datafusion", merge: str = LEDGER) -> list[str]:
    file = tmp_path / "cases.yaml"
    file.write_text(MANIFEST.format(engine=engine, queries=queries.strip(), merge=merge))
    loaded = load([file])
    assert loaded.problems == ()
    return [str(problem).removeprefix(f"{file}:") for problem in check(loaded.manifests)]


def test_queries_that_translate_have_no_problems(tmp_path: Path) -> None:
    assert problems(tmp_path, "query: select id, to_timestamp(at) as at from input") == []
    assert problems(tmp_path, "query: select * from input", engine="spark", merge="kind: Append") == []


@pytest.mark.parametrize(
    ("engine", "queries", "problem"),
    [
        (
            "datafusion",
            "query: |\n          select\n            uper(at) as id\n          from input",
            "22:13: Invalid function 'uper'. (did you mean `upper`?)",
        ),
        (
            "flink",
            "queries:\n          - alias: a\n            query: select id from input\n"
            "          - query: select id from `b`",
            "23:35: table b does not exist (tables: input, a)",
        ),
        ("datafusion", "query: selec id from input", "20:16: Expected: an SQL statement, found: selec"),
        ("datafusion", "query: select 'x", "20:23: Unterminated string literal"),
        (
            "datafusion",
            "queries:\n          - alias: a\n            query: select id from input\n"
            "          - query: select\n              Id from a",
            '24:15: No field named "Id". The columns are a.id. (did you mean `a.id`?)',
        ),
        (
            "risingwave",
            "query: delete from input",
            "20:16: only queries (SELECT, WITH, UNION and the like) are supported",
        ),
    ],
)  # fmt: skip
def test_the_place_is_that_of_the_word(tmp_path: Path, engine: str, queries: str, problem: str) -> None:
    assert problems(tmp_path, queries, engine=engine) == [problem]


SNAPSHOT = "kind: Snapshot\n        primaryKey: [ID, key]\n        compareColumns: [at, i]"


@pytest.mark.parametrize(
    ("engine", "query", "merge", "found"),
    [
        (
            "datafusion",
            "select id from input",
            SNAPSHOT,
            [
                "23:26: column key is not in the output of preprocess (known: id)",
                "24:26: column at is not in the output of preprocess (known: id)",
                "24:30: column i is not in the output of preprocess (did you mean `id`?)",
            ],
        ),
        ("spark", "select id, at as key from input", SNAPSHOT, [
            "24:26: column at is not in the output of preprocess (known: id, key)",
            "24:30: column i is not in the output of preprocess (did you mean `id`?)",
        ]),
        ("datafusion", "select id, id as at from input", LEDGER, [
            "20:16: event time column at must be DATE or TIMESTAMP, not BIGINT "
            "(convert it in `preprocess`, in Spark SQL `timestamp_seconds(at)` for seconds, `timestamp_millis(at)` for "
            "milliseconds, `make_date(at, 1, 1)` for a year, or name another column in SetVocab.eventTimeColumn)",
        ]),
        ("datafusion", "select id, id as `offset` from input".replace("`", '"'), LEDGER, [
            "20:16: column offset has the name of a system column "
            "(rename it in `preprocess` (`offset AS offset_1`), "
            "or, if the dataset has no data yet, rename the system column with SetVocab.offsetColumn)",
        ]),
        ("datafusion", "select id from input", "kind: ChangelogStream\n        primaryKey: [id]", [
            "21:7: a ChangelogStream needs the column op, which is not in the output of preprocess "
            "(add it, or name one of id in SetVocab.operationTypeColumn)",
        ]),
        ("spark", "select *, 1 as x from input", SNAPSHOT, []),
        ("spark", "select id, upper(at) from input", SNAPSHOT, []),
        ("spark", "select id from (((", SNAPSHOT, ["20:33: '(' is not closed (close the bracket)"]),
    ],
)  # fmt: skip
def test_columns_that_the_merge_needs(tmp_path: Path, engine: str, query: str, merge: str, found: list[str]) -> None:
    assert problems(tmp_path, f"query: {query}", engine=engine, merge=merge) == found


def test_loading_manifests_does_not_import_the_translation() -> None:
    code = (
        "import airflow_provider_odf.manifest.load, airflow_provider_odf.cli, sys; assert 'sqlglot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
