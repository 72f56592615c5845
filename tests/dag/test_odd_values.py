"""Whatever the settings and texts of a dataset are, Airflow stores and schedules the others."""

import json
from datetime import UTC, datetime

import pytest
import yaml
from airflow.timetables.base import TimeRestriction

from airflow_provider_odf import build_dags
from airflow_provider_odf.dag.markdown import readable
from airflow_provider_odf.manifest.load import load
from tests.airflow_parts import IS_OLDEST, DagSerialization

TEXTS = ["", " ", "a" * 101, "a" * 300, "\0", "\x85", "a\nb", "```\n# x", "{{ 1 / 0 }}", "../..", "é𝔘", "x.md", "null"]
NUMBERS = [-1, 0, 1, 0.5, 1e400, -1e400, float("nan"), 10**30, True, None, [], {}, "1"]
SCHEDULES = [
    "61 * * * *",
    "* * * *",
    "0 0 31 2 *",
    "* * * * * *",
    "H H * * *",
    "@dayly",
    "@continuous",
    "@change",
    "0 0 ? * MON#1",
]
TIMES = [
    "0001-01-01T00:00:00Z",
    "0001-01-01T00:00:00+14:00",
    "9999-12-31T23:59:59.999999999Z",
    "2024-02-30T00:00:00Z",
    "now",
]
SETTINGS = {
    "schedule": [*SCHEDULES, *TEXTS, *NUMBERS],
    "poke_interval": [*NUMBERS, *TEXTS],
    "store": ["s3://bucket/é", "//", "file:", "http://[", *TEXTS, *NUMBERS],
    "spark_conn_id": [*TEXTS, *NUMBERS],
    "pool": [*TEXTS, *NUMBERS],
    "retries": [*NUMBERS, *TEXTS],
    "start_date": [*TIMES, *TEXTS, *NUMBERS],
    "tags": [*([text] for text in TEXTS), *TEXTS, *NUMBERS],
    "env": [{"A": {"variable": text}} for text in TEXTS] + [{text: {"variable": "v"}} for text in TEXTS],
}


def manifest(name: str, text: str) -> str:
    """A manifest with a text wherever one reaches Airflow; what has a form of its own is left out."""
    info = {"kind": "SetInfo", "description": text, "keywords": [text, "sales"]}
    readme = {
        "kind": "SetAttachments",
        "attachments": {"kind": "Embedded", "items": [{"path": "README.md", "content": text}]},
    }
    licence = {"kind": "SetLicense", "shortName": text, "name": text, "websiteUrl": "https://example.org"}
    source = {
        "kind": "AddPushSource",
        "sourceName": text or "default",
        "read": {"kind": "Parquet"},
        "merge": {"kind": "Append"},
    }
    content = {"name": name, "kind": "Root", "metadata": [info, readme, licence, source]}
    return yaml.safe_dump({"kind": "DatasetSnapshot", "version": 1, "content": content})


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A dataset for each setting with each odd value, for each odd text, and one that is right."""
    folder = tmp_path_factory.mktemp("dags")
    cases = [(key, value) for key, values in SETTINGS.items() for value in values]
    names = [f"{key.replace('_', '-')}-{index}" for index, (key, _) in enumerate(cases)]
    settings = {name: {key: value} for name, (key, value) in zip(names, cases, strict=True)}
    (folder / "odf.yaml").write_text(yaml.safe_dump({"datasets": settings}))
    for name in [*names, "right", "n" * 240, "n" * 251, f"a/{'n' * 249}"]:
        (folder / f"{name[:200].replace('/', '.')}{len(name)}.yaml").write_text(manifest(name, "Orders"))
    for index, text in enumerate(TEXTS):
        (folder / f"text-{index}.yaml").write_text(manifest(f"text-{index}", text))
    return folder


@pytest.fixture(scope="module")
def dags(folder):
    return build_dags(folder)


def test_airflow_stores_and_schedules_every_dag(dags):
    now = datetime(2026, 1, 1, tzinfo=UTC)
    for dag in dags.values():
        stored = DagSerialization.from_dict(json.loads(json.dumps(DagSerialization.to_dict(dag), allow_nan=False)))
        stored.timetable.validate()
        start = max(stored.start_date, now) if stored.start_date else now
        stored.timetable.next_dagrun_info(
            last_automated_data_interval=None, restriction=TimeRestriction(start, None, catchup=False)
        )
        assert all(tag.isprintable() and len(tag) <= 100 for tag in stored.tags)
        assert "\0" not in f"{stored.doc_md}{stored.description}"
    valid = [name for name, dag in dags.items() if "invalid manifest" not in dag.tags]
    assert {"right", "n" * 240} <= set(valid)
    assert len(valid) > 60
    assert "the name has 251 characters" in dags["n" * 250].doc_md


@pytest.mark.skipif(IS_OLDEST, reason="Airflow 3.0 refuses names of assets that are not ASCII")
def test_validate_finds_each_of_them_with_its_place(folder, dags):
    shown = [line for dag in dags.values() if "invalid manifest" in dag.tags for line in lines(dag)]
    problems = load([folder]).problems
    found = [line for problem in problems for line in readable(str(problem)).split("\n")]
    assert [line for line in shown if line not in found] == []
    assert [problem for problem in problems if not problem.place.line] == []


def lines(dag):
    return [line for line in dag.doc_md.split("\n")[2:] if line and not line.startswith("```")]
