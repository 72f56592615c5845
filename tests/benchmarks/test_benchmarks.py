"""The benchmarks run, and compare what they say: tiny sizes, nothing is claimed here."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import duckdb
import pytest

from benchmarks import check, data
from benchmarks.measure import LIMIT_MIB, Run, program
from benchmarks.report import row

ROOT = Path(__file__).parents[2]


def run(*arguments: str) -> list[dict[str, object]]:
    command = [sys.executable, "-m", "benchmarks", *arguments, "--rows", "2000", "--reps", "1", "--json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["rows"]


@pytest.mark.benchmark
def test_polls_and_hashes() -> None:
    rows = {r["subject"]: r for r in run("poll_unchanged", "logical_hash")}
    assert rows["odf run"]["jvms"] == 0
    assert rows["odf poll"]["to"] == "httpx.get"
    assert rows["odf poll"]["ratio"] > 0
    assert rows["odf logical hash"]["seconds"] > 0


@pytest.mark.benchmark
def test_waiting_sources() -> None:
    bare, ours = run("triggers", "--sources", "20")
    assert ours["subject"] == "20 triggers"
    assert ours["to"] == bare["subject"] == "httpx.AsyncClient"
    assert ours["cpu"] > 0
    assert "KiB each" in ours["note"]


@pytest.mark.benchmark
def test_commands_folders_and_verification() -> None:
    rows = {r["subject"]: r for r in run("command_line", "dag_folder", "verify", "--sources", "20")}
    assert rows["odf log"]["to"] == "python, import typer, pydantic, yaml"
    assert rows["manifests"]["to"] == "plain Python DAGs"
    assert "when parsed again" in rows["manifests"]["note"]
    assert rows["odf verify --quick"]["to"] == rows["odf verify"]["to"] == "python, SHA3-256 of the file"
    assert not any(row["jvms"] for row in rows.values())


@pytest.mark.benchmark
def test_pages() -> None:
    rows = {r["subject"]: r for r in run("pages", "--sources", "60")}
    assert rows["current rows, first"]["to"] == rows["trends, again"]["to"] == "pyarrow, keys of all slices"
    assert rows["current rows, first"]["note"] == "20 blocks"
    assert rows["catalog, by column, again"]["to"] == "Airflow's lists of DAGs and assets"
    assert rows["rows as CSV, first"]["to"] == "pyarrow, Parquet to CSV"


@pytest.mark.benchmark
def test_growth_is_drawn(tmp_path: Path) -> None:
    picture = tmp_path / "growth.svg"
    rows = {r["subject"]: r for r in run("growth", "--sources", "10", "--picture", str(picture))}
    assert rows["2 % changed, 2,000 rows"]["to"] == "plain Spark copy"
    assert rows["2 changed rows, 10 slices"]["note"].startswith("slope ")
    texts = [element.text for element in ElementTree.parse(picture).iter("{http://www.w3.org/2000/svg}text")]
    assert {"rows of the input", "slices of the history", "2,000", "10", "first poll"} <= set(texts)


@pytest.mark.benchmark
def test_one_worker_and_two() -> None:
    one, two = run("cluster")
    assert (one["subject"], two["to"]) == ("odf run, one worker", "odf run, one worker")
    assert one["note"].startswith("2,000 rows, largest executor ")


@pytest.mark.benchmark
def test_changes() -> None:
    rows = {r["subject"]: r for r in run("snapshot", "few_changes", "small_change")}
    assert rows["no changed row, other bytes"]["to"] == "plain Spark copy, started"
    assert rows["odf run"]["jvms"] == 0
    assert rows["odf, 50 slices"]["ratio"] > 0
    assert rows["odf, 1 slice"]["peak_mib"] > 100


@pytest.mark.benchmark
def test_new_rows_of_a_derivative() -> None:
    rows = {r["subject"]: r for r in run("small_derivative")}
    assert (rows["odf run"]["jvms"], rows["odf run, always on Spark"]["jvms"]) == (0, 1)
    assert rows["odf run"]["to"] == "odf run, always on Spark"


@pytest.mark.benchmark
def test_large_inputs_and_many_files() -> None:
    rows = {r["subject"]: r for r in run("large", "many_files", "--sources", "20")}
    assert rows["odf run, 20 files, ByEventTime"]["jvms"] == 0
    assert rows["odf run, gzip, Append"]["jvms"] == rows["odf run, one more file, ByName"]["jvms"] == 0
    assert rows["odf run, unchanged, ByName"]["jvms"] == rows["odf verify, ByName"]["jvms"] == 0


@pytest.mark.benchmark
def test_a_store_in_a_bucket() -> None:
    rows = {r["subject"]: r for r in run("object_store")}
    assert rows["publish in a bucket"]["to"] == "publish in a folder"
    assert rows["odf log in a folder"]["note"] == "2,000 blocks"
    assert rows["odf log in a bucket, first"]["note"] == "2,009 requests"
    assert rows["odf log in a bucket, on another machine"]["note"] == "23 requests"
    assert rows["odf log in a bucket, again"]["note"] == "5 requests"


@pytest.mark.benchmark
def test_an_installation() -> None:
    rows = {r["subject"]: r for r in run("installation", "--sources", "20")}
    assert rows["DAG processor, 10 loaders"]["note"].startswith("26 DAGs, slowest file ")
    assert "rows per DAG" in rows["DAG processor, one loader"]["note"]
    assert "rows per DAG" not in rows["the same again"]["note"]
    assert rows["4 due: changed source"]["to"] == "4 due: plain DAG of 3 tasks"
    assert " runs an hour; CPU s: " in rows["4 due: unchanged source"]["note"]
    assert rows["change to publication, deferred sensor"]["note"] == "4 wait, looked at every 10 s"


def test_large_csv_has_quoted_texts_and_times_as_rfc_3339(tmp_path: Path) -> None:
    header, first, *rest = data.write_csv(1000, tmp_path / "table.csv").read_text().splitlines()
    assert header == "id,name,city,price,ratio,quantity,day,event_time,is_on,note"
    assert first.startswith("0,customer ")
    assert len(rest) == 999
    assert all(line.split(",")[7].endswith("Z") for line in rest)
    assert any(line.endswith('"') and '"said ""yes"", ' in line for line in rest)


def test_steps_turn_the_rows_before_into_the_rows_after() -> None:
    count = 6144
    with data.connect() as db:
        kept = f"SELECT * FROM ({data.rows(count, [3])}) WHERE id NOT IN (SELECT id FROM ({data.changes(count, 5)}))"
        new = f"SELECT * EXCLUDE (op) FROM ({data.changes(count, 5)}) WHERE op IN (0, 3)"
        after = f"{kept} UNION ALL ({new})"
        difference = db.sql(f"({after}) EXCEPT ({data.rows(count, [3, 5])})").fetchall()
        assert difference == []
        assert db.sql(f"SELECT count(*) FROM ({data.rows(count, [3, 5])})").fetchall() == [(6144,)]
        counts = db.sql(f"SELECT op, count(*) FROM ({data.changes(count, 5)}) GROUP BY op ORDER BY op").fetchall()
        assert counts == [(0, 32), (1, 32), (2, 64), (3, 64)]


def test_other_records_are_found(tmp_path: Path) -> None:
    expected = data.write(data.changes(6144, 5), tmp_path / "expected.parquet")
    found = tmp_path / "found.parquet"
    numbered = f"SELECT row_number() OVER () AS \"offset\", * FROM '{expected}'"
    duckdb.sql(f"COPY ({numbered}) TO '{found}'")
    assert check.equal(expected, [found]) == 192
    duckdb.sql(f"COPY ({numbered} WHERE id <> 5) TO '{found}'")
    with pytest.raises(AssertionError, match="of 192 records differ"):
        check.equal(expected, [found])


def test_program_tells_time_memory_and_answer() -> None:
    code = "import time; b = bytearray(200 << 20); time.sleep(0.3); print('{\"seconds\": 0.25}')"
    done = program([sys.executable, "-c", code])
    assert done.seconds == 0.25
    assert 0.3 < done.wall < 30
    assert 200 < done.peak_mib < LIMIT_MIB
    assert done.jvms == 0


def test_failed_program_says_why() -> None:
    with pytest.raises(RuntimeError, match="ended with 3: nothing to see"):
        program([sys.executable, "-c", "import sys; print('nothing to see', file=sys.stderr); sys.exit(3)"])


def test_ratios_are_of_one_repetition() -> None:
    slow_then_fast = [Run(4.0, 4.0), Run(1.0, 1.0), Run(2.0, 2.0)]
    floor = [Run(2.0, 1.0), Run(0.5, 0.5), Run(2.0, 2.0)]
    made = row("case", "ours", slow_then_fast, "floor", floor)
    assert (made.seconds, made.fastest, made.slowest) == (2.0, 1.0, 4.0)
    assert made.ratio == 2.0
    assert made.cpu_ratio == 2.0
