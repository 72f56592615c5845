"""The application that spark-submit starts, with its files; here with a JVM of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from airflow_provider_odf import protocol
from airflow_provider_odf.engine import mailbox
from airflow_provider_odf.runner import apps

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("is_good", [True, False])
def test_puts_responses_and_ends_well_with_any_outcome(tmp_path: Path, is_good: bool) -> None:
    (tmp_path / "rows.csv").write_text("a,b\n1,x\n" if is_good else "a,b\n1\n")
    step = protocol.ReadStep("Csv", (protocol.Column("a", "INT"),), header=True)
    request = protocol.RawQueryRequest((str(tmp_path / "rows.csv"),), str(tmp_path / "out"), read=step, label="rows")
    mailbox.Task(mailbox.at(str(tmp_path)), protocol.dumps_request(request))
    subprocess.run([sys.executable, str(apps.application("run.py")), "."], check=True, cwd=tmp_path)
    engine, *progress, outcome = map(protocol.loads_response, (tmp_path / "responses.jsonl").read_text().splitlines())
    assert isinstance(engine, protocol.Progress)
    assert engine.engine is not None
    assert engine.engine.application == "odf"
    assert progress == [protocol.Progress("rows: ignored columns that are not in the schema: b")]
    good = protocol.RawQuerySuccess(1, (protocol.PositionalHeader("rows", ("a",), ("a",)),))
    assert outcome == (good if is_good else protocol.InvalidQuery("rows: line 2: 1 field instead of 2: '1'"))
    assert {path.name for path in tmp_path.iterdir()} <= {"rows.csv", "request.json", "alive", "responses.jsonl", "out"}
