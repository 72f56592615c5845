"""``odf plan --suggest``: columns that a source has and its manifest does not declare, and the edit that adds them."""

import pytest
from typer.testing import CliRunner

from airflow_provider_odf.cli import app
from airflow_provider_odf.manifest.load import load
from tests.manifests import polled

CSV = "{kind: Csv, header: true, schema: [Full Name STRING, id BIGINT]}".replace("Full Name", "full_name")
MERGE = "{kind: Snapshot, primaryKey: [id]}"


@pytest.fixture
def plan(tmp_path):
    def run(fetch, read=CSV, *more):
        (tmp_path / "a.yaml").write_text(polled("a", fetch, read, MERGE))
        done = CliRunner().invoke(app, ["plan", str(tmp_path / "a.yaml"), "--store", str(tmp_path / "s"), *more])
        assert done.exit_code == 0, done
        return done

    return run


def test_columns_of_the_newest_file(plan, tmp_path):
    (tmp_path / "a-1.csv").write_text("Full Name,id,old\nAnn,1,x\n")
    (tmp_path / "a-2.csv").write_text("Full Name,id,Price (EUR),day\nAnn,1,2.50,2026-05-01\n")
    done = plan("{kind: FilesGlob, path: a-*.csv}", CSV, "--suggest")
    at = (tmp_path / "a.yaml").read_text().splitlines()
    line = next(number for number, text in enumerate(at, 1) if "schema:" in text)
    where, _, said = done.stderr.partition(": suggestion: ")
    assert where.startswith(f"{tmp_path}/a.yaml:{line}:")
    assert said == (
        f"{tmp_path}/a-2.csv has columns that the schema does not declare. To take them in, add:\n"
        "  - price_eur DECIMAL(18,2)  # at most 2 decimals in the sample; more are an error\n"
        "  - day DATE\n"
    )
    text = (tmp_path / "a.yaml").read_text().replace("id BIGINT]", 'id BIGINT, "price_eur DECIMAL(18,2)", day DATE]')
    (tmp_path / "a.yaml").write_text(text)
    assert load([tmp_path / "a.yaml"]).problems == ()
    again = CliRunner().invoke(app, ["plan", str(tmp_path / "a.yaml"), "--store", str(tmp_path / "s"), "--suggest"])
    assert again.stderr == ""


@pytest.mark.parametrize(
    ("fetch", "read", "content"),
    [
        ("{kind: FilesGlob, path: a-*.csv}", CSV, "full name,ID\nAnn,1\n"),
        ("{kind: FilesGlob, path: b-*.csv}", CSV, "x,y\n1,2\n"),
        ("{kind: FilesGlob, path: a-*.csv}", "{kind: NdJson}", '{"id": 1}\n'),
    ],
    ids=["all are declared", "no file", "no schema"],
)
def test_nothing_to_suggest(plan, tmp_path, fetch, read, content):
    (tmp_path / "a-1.csv").write_text(content)
    assert plan(fetch, read, "--suggest").stderr == ""


def test_json(plan, tmp_path):
    (tmp_path / "a.ndjson").write_text('{"id": 1, "full_name": "Ann", "tags": ["x"]}\n')
    read = "{kind: NdJson, schema: [id BIGINT, full_name STRING]}"
    done = plan(f"{{kind: Url, url: 'file://{tmp_path}/a.ndjson'}}", read, "--suggest", "--format", "json")
    assert done.stderr.endswith("  - tags STRING  # nested values, as JSON text\n")
    assert '"action": "create"' in done.stdout


@pytest.mark.parametrize(
    ("fetch", "message"),
    [
        (
            "{kind: Url, url: 'file:///nowhere/a.csv'}",
            "a: no suggestion: file:///nowhere/a.csv: No such file or directory",
        ),
        ("{kind: FilesGlob, path: 's3://lake/a-*.csv'}", "files of a bucket are not compared with the schema"),
    ],
)
def test_a_source_that_cannot_be_compared(plan, fetch, message):
    assert message in plan(fetch, CSV, "--suggest").stderr


def test_it_is_asked_for(plan, tmp_path):
    (tmp_path / "a-1.csv").write_text("full_name,id,extra\nAnn,1,x\n")
    assert plan("{kind: FilesGlob, path: a-*.csv}").stderr == ""
