"""One broken manifest among others: they validate, run and have their DAGs as if it were not there."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from typer.testing import CliRunner

from airflow_provider_odf import build_dags
from airflow_provider_odf.cli import app
from tests.manifests import derived, polled

ROOT = polled(
    "NAME", '{kind: Url, url: "file://FOLDER/in.csv"}', "{kind: Csv, header: true, schema: [id INT, value STRING]}"
)


def derivative(query: str, engine: str = "spark", ref: str = "valid-0") -> str:
    sql = f'{{kind: Sql, engine: {engine}, query: "{query}"}}'
    return derived("NAME", f"{{datasetRef: {ref}, alias: p}}", sql)


BROKEN = {
    "an input of an unsupported store": derivative("select * from p", ref="hdfs://bucket/prices"),
    "an input of no URI": derivative("select * from p", ref="http://["),
    "an unknown function": derivative("select uper(value) from p"),
    "two queries": derivative("select 1; select 2"),
    "a bracket": derivative("select (id from p"),
    "a function of chance": derivative("select rand() as r from p"),
    "no translation": derivative("select * from", engine="flink"),
    "no plan": derivative("select nope(id) from p", engine="datafusion"),
    "an unknown engine": derivative("select 1", engine="sparc"),
    "no YAML": "kind: DatasetSnapshot\nversion: 1\ncontent: [",
    "an unknown kind of event": ROOT.replace("SetPollingSource", "SetPollingSauce"),
    "a column twice": ROOT.replace("value STRING", "ID STRING"),
    "no name": ROOT.replace("name: NAME", "name: ''"),
    "bytes": ROOT.replace("NAME", "\0"),
    "a key that is no column": ROOT.replace("{kind: Append}", "{kind: Snapshot, primaryKey: [nope]}"),
}


@pytest.mark.long
@pytest.mark.parametrize("seed", [1])
def test_the_others_are_as_without_it(tmp_path: Path, seed: int) -> None:
    choice = random.Random(seed)
    (tmp_path / "in.csv").write_text("id,value\n1,a\n")
    for number, (fault, text) in enumerate(BROKEN.items()):
        folder = tmp_path / str(number)
        folder.mkdir()
        valid = [f"valid-{n}" for n in range(choice.randint(1, 3))]
        for name in valid:
            (folder / f"{name}.yaml").write_text(ROOT.replace("NAME", name).replace("FOLDER", str(tmp_path)))
        broken = text.replace("NAME", f"broken-{number}").replace("FOLDER", str(tmp_path))
        place = folder / choice.choice(["a.yaml", "valid-0x.yaml", "z.yaml"])
        place.write_text(broken)

        validated = CliRunner().invoke(app, ["validate", str(folder)])
        assert (validated.exit_code, [line for line in validated.stdout.splitlines() if place.name not in line]) == (
            1,
            [],
        ), fault
        run = CliRunner().invoke(app, ["run", str(folder), "--store", str(folder / "store")])
        assert run.stdout.splitlines() == [f"{name}: published 1 record (offsets 0..0)" for name in valid], fault
        assert (run.exit_code, place.name in run.stderr) == (2, True), fault
        dags = build_dags(folder, store=str(folder / "store"))
        for name in valid:
            assert [task.task_id for task in dags[name].tasks] == ["poll", "merge", "publish"], fault
