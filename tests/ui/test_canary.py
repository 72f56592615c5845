"""Sensitive values through real runs: no output of a run, a report or a page contains one."""

from __future__ import annotations

import hashlib
import io
import json
import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from airflow_provider_odf.contract.report import as_junit, document, lines
from airflow_provider_odf.cycle import decisions
from airflow_provider_odf.cycle.cycle import Cycle
from airflow_provider_odf.cycle.messages import Outcome
from airflow_provider_odf.cycle.poll import poll
from airflow_provider_odf.cycle.run import run
from airflow_provider_odf.cycle.tested import rejected_rows
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest.load import load
from airflow_provider_odf.protocol import to_json
from airflow_provider_odf.runner.local import LocalRunner
from tests.manifests import polled

pytestmark = [pytest.mark.spark, pytest.mark.long]

EMAIL, PAY = "zqCanary7@example.org", "918273645"
HASHED = hashlib.md5(EMAIL.encode()).hexdigest()
NEVER = re.compile(rf"zqcanary7|{PAY}|{HASHED}", re.IGNORECASE)

NUMBERS = polled(
    "acme/numbers",
    "{kind: FilesGlob, path: in/*.csv}",
    "{kind: Csv, header: true, schema: [id BIGINT, email STRING, pay BIGINT, city STRING]}",
    "{kind: Snapshot, primaryKey: [id]}",
)
CONTRACT = """\
dataContractSpecification: 1.2.1
id: urn:numbers
info: {title: Numbers, version: 1.0.0}
models:
  numbers:
    fields:
      id: {type: long, maximum: 9}
      email: {type: string, pii: true, pattern: "@example"}
      pay: {type: long, classification: confidential, minimum: 0}
      city: {type: string, minLength: 2}
    quality:
      - {type: sql, query: "SELECT max(pay) FROM numbers", mustBeGreaterThan: 0}
      - {type: sql, query: "SELECT count(*) FROM numbers WHERE email IS NULL", mustBe: 0}
"""
SUMS = """\
kind: DatasetSnapshot
version: 1
content:
  name: acme/sums
  kind: Derivative
  metadata:
    - kind: SetTransform
      inputs: [{datasetRef: acme/numbers, alias: numbers}]
      transform:
        kind: Sql
        engine: spark
        query: >
          SELECT op, event_time, id, upper(email) AS contact, md5(email) AS digest, pay * 1 AS pay, city,
          CASE WHEN pay > 1 THEN 'paid' ELSE 'not' END AS state FROM numbers
"""
LOWERED = """\
dataContractSpecification: 1.2.1
id: urn:sums
info: {title: Sums, version: 1.0.0}
models:
  sums:
    fields:
      id: {type: long}
      contact: {type: string, pattern: "^[A-Z]"}
      State: {type: string, pii: false, enum: [not]}
    quality:
      - {type: library, metric: duplicateCount, arguments: {properties: [digest]}, mustBe: 0}
      - {type: sql, query: "SELECT max(pay) FROM sums", mustBe: 0}
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "in").mkdir()
    for name, text in (("numbers", NUMBERS), ("sums", SUMS)):
        (tmp_path / f"{name}.yaml").write_text(text)
    (tmp_path / "numbers.datacontract.yaml").write_text(CONTRACT)
    return tmp_path


class Story:
    """Runs of the datasets, and everything that they say."""

    def __init__(self, store, folder: Path, runner: LocalRunner) -> None:
        self.store, self.folder, self.runner = store, folder, runner
        self.said: dict[str, str] = {}

    def deliver(self, day: int, *rows: str) -> None:
        (self.folder / f"in/{day}.csv").write_text("\n".join(("id,email,pay,city", *rows, "")))

    def cycle(self, name: str, day: int) -> Cycle:
        (manifest,) = load([self.folder / f"{name}.yaml"], known=lambda _: True).manifests
        time = Instant.parse(f"2024-05-0{day}T08:00:00Z")
        progress: list[str] = []
        self.said[f"{name} {day}: progress"] = progress  # type: ignore[assignment]
        return Cycle(self.store, f"acme/{name}", self.runner, time, manifest, environment={}, progress=progress.append)

    def run(self, name: str, day: int) -> Outcome:
        cycle = self.cycle(name, day)
        outcome = run(cycle)
        what = f"{name} {day}"
        self.said[f"{what}: outcome"] = f"{outcome}\n{outcome.notices}\n{outcome.error!r}"
        self.said[f"{what}: XCom"] = json.dumps([to_json(outcome.candidate), to_json(outcome.report)])
        if outcome.report is not None:
            report = outcome.report
            texts = (json.dumps(document(report)), as_junit(report, "c.yaml"), "\n".join(lines(report, name)))
            self.said[f"{what}: report"] = "\n".join(texts)
        return outcome

    def leaks(self) -> dict[str, str]:
        """The excerpt with a sensitive value, by the name of what said it."""
        texts = {name: text if isinstance(text, str) else "\n".join(text) for name, text in self.said.items()}
        hits = {name: NEVER.search(text) for name, text in texts.items()}
        return {name: texts[name][max(0, m.start() - 80) : m.end() + 20] for name, m in hits.items() if m}

    def see_files(self) -> None:
        """Take what is on disk beside the data: reports, records of tests, notes of runs."""
        for path in Path(self.store.location).rglob("info/**/*"):
            if path.is_file():
                self.said[f"file {path.relative_to(self.store.location)}"] = path.read_bytes().decode(errors="replace")


@pytest.fixture(scope="module")
def runner():
    with LocalRunner("local[2]") as runner:
        yield runner


def test_no_output_shows_a_sensitive_value(store, folder, runner, open_page, capfd, caplog):
    story = Story(store, folder, runner)
    story.deliver(1, f"1,{EMAIL},{PAY},Rome", "2,b@example.org,5,Bonn")
    story.said["poll"] = json.dumps(to_json(poll(story.cycle("numbers", 1))))
    assert str(story.run("numbers", 1)) == "published 2 records (offsets 0..1)"
    assert str(story.run("sums", 1)) == "published 2 records (offsets 0..1)"
    before = store.dataset("acme/numbers").head()
    story.deliver(2, f"1,{EMAIL},{PAY},Paris", "2,b@example.org,6,Bonn")
    assert "2 corrected" in str(story.run("numbers", 2))

    # A derivative whose contract lowers one column, by its name in another case.
    (folder / "sums.datacontract.yaml").write_text(LOWERED)
    rejected = story.run("sums", 2)
    assert "sums" in str(rejected)
    of_sums = decisions.chosen(store.dataset("acme/sums"), None)
    rows = [*rejected_rows(store.dataset("acme/sums"), of_sums, 9)]
    assert {row["State" if "State" in row else "state"] for row in rows} == {"paid"}
    assert {(row["contact"], row["digest"], row["pay"]) for row in rows} == {("***", "***", "***")}
    story.said["rejected rows of sums"] = json.dumps(rows, default=str)

    # Errors of queries and of files.
    (folder / "sums.datacontract.yaml").unlink()
    (folder / "sums.yaml").write_text(SUMS.replace("upper(email)", "CAST(CAST(email AS INT) AS STRING)"))
    assert "the message is hidden" in str(story.run("sums", 3))
    story.deliver(3, f"1,{EMAIL},{PAY}x,Rome")
    assert "pay: *** is not a BIGINT" in str(story.run("numbers", 3))
    story.deliver(3, f'1,"{EMAIL}",{PAY},Rome,{PAY}')
    assert "5 fields instead of 4" in str(story.run("numbers", 3))
    story.deliver(3, f"1,{EMAIL},{PAY},Rome", f"1,{EMAIL},{PAY}0,Rome")
    assert "primary key" in str(story.run("numbers", 3))

    # A rejected candidate of the root.
    contract = folder / "numbers.datacontract.yaml"
    contract.write_text(CONTRACT.replace("@example", "^b").replace("minimum: 0}", "maximum: 9}"))
    story.deliver(3, f"1,{EMAIL},{PAY},R", "2,b@example.org,6,Bonn")
    assert "rejected" in str(story.run("numbers", 4)).lower()
    of_numbers = decisions.chosen(store.dataset("acme/numbers"), None)
    rows = [*rejected_rows(store.dataset("acme/numbers"), of_numbers, 9)]
    assert {(row["email"], row["pay"]) for row in rows} == {("***", "***")}
    story.said["rejected rows"] = json.dumps(rows, default=str)

    pages = {
        "acme.numbers": ("", "/blocks", "/contract", "/trends", "/lineage", "/data", "/data?view=history", "/rejected",
                         f"/data?view=difference&since={before}", f"/rejected/{of_numbers.block_hash}",
                         f"/blocks/{before}", f"/contract/{before}"),
        "acme.sums": ("", "/blocks", "/contract", "/lineage?column=contact", "/data", "/rejected", "/trends",
                      f"/rejected/{of_sums.block_hash}"),
    }  # fmt: skip
    for dag, paths in pages.items():
        for path in paths:
            answer = open_page(f"/datasets/{dag}{path}")
            assert answer.status_code == 200, (dag, path, answer.text[:300])
            story.said[f"page {dag}{path}"] = answer.text
            if "data" in path or "rejected/" in path:
                assert "***" in answer.text, (dag, path)
                assert "Bonn" in answer.text or "Paris" in answer.text, (dag, path)
        for query in ("form=csv", "form=ndjson&view=history", "form=parquet"):
            answer = open_page(f"/datasets/{dag}/data/download?{query}")
            assert answer.status_code == 200
            is_parquet = "parquet" in query
            story.said[f"download {dag} {query}"] = (
                json.dumps(pq.read_table(io.BytesIO(answer.content)).to_pylist(), default=str)
                if is_parquet
                else answer.text
            )
            assert "***" in story.said[f"download {dag} {query}"]
    for query in ("column=email&contains=zqC", "sort=pay"):
        answer = open_page(f"/datasets/acme.numbers/data?{query}")
        assert answer.status_code == 400

    story.see_files()
    story.said["output"], story.said["errors"] = capfd.readouterr()
    story.said["log"] = caplog.text
    assert len([name for name in story.said if name.startswith("file ")]) >= 4
    assert story.leaks() == {}
    story.said["source"] = (folder / "in/1.csv").read_text()
    assert [*story.leaks()] == ["source"]
