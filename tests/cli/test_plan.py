"""``odf plan`` as a user sees it. No engine runs."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from textwrap import dedent

import pytest
from typer.testing import CliRunner, Result

from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.cli import app
from airflow_provider_odf.errors import ManifestInvalid
from airflow_provider_odf.evolution.apply import apply
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest.load import load

PARKS = """\
kind: DatasetSnapshot
version: 1
content:
  name: parks
  kind: Root
  metadata:
    - kind: SetPollingSource
      fetch: {kind: Url, url: parks.csv}
      read:
        kind: Csv
        schema:
          - park STRING
          - trees INT
      preprocess:
        kind: Sql
        engine: spark
        query: |
          select park, trees
          from input
      merge: {kind: Snapshot, primaryKey: [park]}
"""


@pytest.fixture
def parks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The manifest of a dataset that exists and has no data, in the working directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ODF_STORE", raising=False)
    file = tmp_path / "parks.yaml"
    file.write_text(PARKS)
    apply(Store.open("odf-store"), load([file]).manifests[0], Instant.parse("2024-01-01T00:00:00Z"))
    return file


def odf_plan(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["plan", "parks.yaml", *arguments])


def text(result: Result) -> str:
    return result.stdout.replace(f"{Path.cwd()}/", "")


def test_a_new_dataset_is_created(parks: Path) -> None:
    result = odf_plan("--store", "another")
    assert (result.exit_code, Path("another").exists()) == (0, False)
    assert text(result) == dedent("""\
        parks: create
          + Seed  (a new dataset id)
          + SetPollingSource  (parks.yaml:7:7)
              fetch.kind: Url
              fetch.url: parks.csv
              read.kind: Csv
              read.schema: ["park STRING", "trees INT"]
              preprocess.kind: Sql
              preprocess.engine: spark
              preprocess.queries[0].query: "select park, trees\\nfrom input\\n"
              merge.kind: Snapshot
              merge.primaryKey: ["park"]
        """)


def test_nothing_new_is_no_change(parks: Path) -> None:
    result = odf_plan()
    assert (result.exit_code, text(result)) == (0, "parks: no changes\n")


def test_changes_are_shown_and_not_written(parks: Path) -> None:
    edited = PARKS.replace("parks.csv", "'https://example.com/parks.csv'").replace(
        "select park", "select upper(park) as park"
    )
    parks.write_text(edited + "    - {kind: SetInfo, description: Parks, keywords: [trees]}\n")
    before = sorted(Path("odf-store").rglob("*"))
    result = odf_plan()
    assert result.exit_code == 0
    assert text(result) == dedent("""\
        parks: change
          ~ SetPollingSource  (parks.yaml:7:7)
              fetch.url: parks.csv -> https://example.com/parks.csv
              preprocess.queries[0].query:
                -select park, trees
                +select upper(park) as park, trees
                 from input
          + SetInfo  (parks.yaml:21:7)
              description: Parks
              keywords: ["trees"]
        """)
    assert sorted(Path("odf-store").rglob("*")) == before


def test_a_dataset_that_is_gone_is_an_error_and_not_new(parks: Path) -> None:
    shutil.rmtree("odf-store/parks")
    shown = odf_plan()
    assert shown.exit_code == 1
    assert "+ Seed" not in shown.stdout
    assert "is missing: restore its folder, or run `odf forget parks" in shown.output


def test_a_source_that_is_gone_is_shown(parks: Path) -> None:
    parks.write_text(
        PARKS[: PARKS.index("    - kind: SetPollingSource")] + "    - {kind: SetInfo, description: Parks}\n"
    )
    assert text(odf_plan()).splitlines()[:2] == ["parks: change", "  - DisablePollingSource"]


def test_what_is_refused_has_its_place_and_exit_code_2(parks: Path) -> None:
    parks.write_text(PARKS + "    - kind: SetDataSchema\n      schema: {fields: [{name: park, type: String}]}\n")
    result = odf_plan()
    assert result.exit_code == 2
    assert text(result).splitlines() == [
        "parks: refused",
        "  parks.yaml:17:16: column trees is not in the SetDataSchema of this manifest (add it there)",
        "  parks.yaml:22:16: the schema must start with the required system columns offset Int64, op Int32, "
        "system_time Timestamp, event_time Timestamp, in this order; "
        "found park String instead of offset (declare them first)",
    ]


def test_json_has_the_events_and_what_changes_in_them(parks: Path) -> None:
    parks.write_text(PARKS.replace("trees INT", "trees BIGINT"))
    (plan,) = json.loads(odf_plan("--format", "json").stdout)
    (block,) = plan.pop("blocks")
    assert plan == {"dataset": "parks", "action": "change", "refused": [], "notes": []}
    assert (block["event"]["kind"], block["place"]) == ("SetPollingSource", f"{parks}:7:7")
    assert block["replaces"]["read"]["ddlSchema"] == ["park STRING", "trees INT"]
    assert block["differences"] == [{"path": "read.schema", "before": "trees INT", "after": "trees BIGINT"}]


def test_refusals_as_json(parks: Path) -> None:
    parks.write_text(PARKS + "    - kind: SetDataSchema\n      schema: {fields: [{name: trees, type: Int32}]}\n")
    result = odf_plan("--format", "json")
    (plan,) = json.loads(result.stdout)
    assert (result.exit_code, plan["action"], plan["blocks"]) == (2, "refused", [])
    assert [(p["line"], p["column"]) for p in plan["refused"]] == [(17, 16), (22, 16)]


def test_invalid_manifests_are_told_after_the_plans_of_the_others(parks: Path) -> None:
    Path("broken.yaml").write_text(PARKS.replace("name: parks", "name: broken").replace("kind: Csv", "kind: Cvs"))
    result = odf_plan("broken.yaml")
    assert text(result) == "parks: no changes\n"
    assert isinstance(result.exception, ManifestInvalid)
    assert "broken.yaml:10:15" in str(result.exception)


def test_a_dataset_that_cannot_be_read_hides_no_other(parks: Path) -> None:
    (parks.parent / "trees.yaml").write_text(PARKS.replace("name: parks", "name: trees"))
    head = Path("odf-store/parks/refs/head")
    head.write_text("damaged")
    result = CliRunner().invoke(app, ["plan", "."])
    assert result.exit_code == 1
    assert result.stdout.startswith("trees: create\n")
    assert result.stderr.startswith("parks: odf-store/parks/refs/head is damaged: ")
    plans = json.loads(CliRunner().invoke(app, ["plan", ".", "--format", "json"]).stdout)
    assert [(plan["dataset"], plan["action"]) for plan in plans] == [("trees", "create"), ("parks", "error")]
    assert plans[1]["refused"][0]["file"] == str(parks)


def test_literal_secrets_are_not_printed(parks: Path) -> None:
    fetch = (
        "fetch: {kind: Url, url: 'https://me:s3cr3t-1@h.org/a.csv?key=s3cr3t-2', "
        "headers: [{name: X-Token, value: s3cr3t-3}, {name: Accept, value: text/csv}]}"
    )
    for before, after in (("fetch: {kind: Url, url: parks.csv}", fetch), ("name: parks\n", "name: lawns\n")):
        parks.write_text(parks.read_text().replace(before, after))
        for result in (odf_plan(), odf_plan("--format", "json")):
            assert result.exit_code == 0, result.output
            assert "text/csv" in result.stdout
            assert "s3cr3t" not in result.stdout


def test_verify_and_list_name_a_damaged_dataset_and_go_on(parks: Path) -> None:
    other = parks.parent / "trees.yaml"
    other.write_text(PARKS.replace("name: parks", "name: trees"))
    apply(Store.open("odf-store"), load([other]).manifests[0], Instant.parse("2024-01-01T00:00:00Z"))
    Path("odf-store/parks/refs/head").write_text("damaged")
    damaged = "parks: odf-store/parks/refs/head is damaged: "
    verified = CliRunner().invoke(app, ["verify", "parks", "trees"])
    assert (verified.exit_code, verified.stdout) == (1, "trees: ok: 2 blocks, 0 slices, 0 records\n")
    assert verified.stderr.startswith(damaged)
    as_json = json.loads(CliRunner().invoke(app, ["verify", "parks", "trees", "--format", "json"]).stdout)
    assert as_json == [{"dataset": "trees", "blocks": 2, "slices": 0, "records": 0}]
    listed = CliRunner().invoke(app, ["list"])
    assert listed.exit_code == 1
    assert listed.stderr.startswith(damaged)
    assert "trees" in listed.stdout


def test_a_run_names_a_new_store_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("parks.yaml").write_text(PARKS[: PARKS.index("    - kind")] + "    - {kind: SetInfo, description: Parks}\n")

    def notes(command: str) -> list[str]:
        shown = CliRunner().invoke(app, [command, "parks.yaml", "--store", "odf-stroe"])
        return [line for line in shown.stderr.splitlines() if line.startswith("note: ")]

    assert notes("plan") == []
    assert notes("run") == ["note: new store at odf-stroe"]
    assert notes("run") == []
