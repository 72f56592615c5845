"""A data contract with twelve checks on a local Parquet file: whole programs without Spark, against datacontract-cli
and SQL of DuckDB by hand; and on Spark, against datacontract-cli and Great Expectations on the same Spark.

The peers have requirements of their own: ``ODF_BENCH_PEERS`` is the Python of an environment with ``datacontract-cli``,
``great-expectations`` and the pyspark of this one. Each program on Spark starts it, tests the contract once, then once
more: the second, warm test is timed.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from benchmarks import check, data, odf
from benchmarks.measure import Run, in_turns, peer, program
from benchmarks.report import Row, row
from benchmarks.scale import Scale

CASE = "contract, 12 checks"
ROWS = (1_000_000, 10_000_000)

_PEERS = Path(__file__).parent / "peers"
_SUBJECTS = {
    "odf": "odf_contract",
    "datacontract-cli": "datacontract_cli",
    "Great Expectations": "great_expectations_spark",
}

CONTRACT = """\
dataContractSpecification: 1.2.1
id: urn:orders
info: {title: Orders, version: 1.0.0}
models:
  orders:
    fields:
      order_id: {type: string, required: true, unique: true, minLength: 10}
      customer: {type: long, required: true, minimum: 1}
      total: {type: double, minimum: 0, maximum: 1000}
      status: {type: string, enum: [open, paid, shipped]}
      email: {type: string, pattern: '^[^@ ]+@[^@ ]+$', maxLength: 40}
      placed: {type: timestamp, required: true}
"""

FAILING = {"order_id unique": 2, "customer minimum": 1, "total maximum": 1, "status enum": 1, "email pattern": 1}


def run(scale: Scale) -> list[Row]:
    rows: list[Row] = []
    for number in ROWS:
        if number <= scale.rows * 2:
            path, contract = scale.directory / f"{number}.parquet", scale.directory / f"orders-{number}.yaml"
            contract.write_text(f"{CONTRACT}servers: {{here: {{type: local, path: {path}, format: parquet}}}}\n")
            with data.connect() as db:
                db.sql(f"COPY ({_query(number)}) TO '{path}' (FORMAT parquet)")
            rows += _whole(scale, number, path, contract) + _on_spark(scale, number, path, contract)
    return rows


def _whole(scale: Scale, number: int, path: Path, contract: Path) -> list[Row]:
    """Whole programs, which report the failing clauses."""
    subjects = {
        "DuckDB": lambda: peer("duckdb_contract", data=path),
        "odf contract test": lambda: program([odf.ODF, "contract", "test", str(contract)], codes=[1]),
    }
    if peers := os.environ.get("ODF_BENCH_PEERS"):
        command = str(Path(peers).with_name("datacontract"))
        subjects["datacontract test"] = lambda: program([command, "test", str(contract)], codes=[1])
    runs = in_turns(subjects, scale.reps)
    assert {run.answer["failed"] for run in runs["DuckDB"]} == {len(FAILING)}
    check.said([run.text for run in runs["odf contract test"]], f"({len(FAILING)} failed, ")
    case = f"{CASE}, {number // 1_000_000} M rows, whole program"
    floor = runs["odf contract test"]
    return [
        row(case, name, done, *(("odf contract test", floor) if done is not floor else ()))
        for name, done in runs.items()
    ]


def _on_spark(scale: Scale, number: int, path: Path, contract: Path) -> list[Row]:
    peers = os.environ.get("ODF_BENCH_PEERS")
    names = [name for name in _SUBJECTS if name == "odf" or peers]

    def subject(name: str) -> Run:
        python = sys.executable if name == "odf" else str(peers)
        arguments = {"data": str(path), "contract": str(contract), "rows": number}
        return program([python, str(_PEERS / f"{_SUBJECTS[name]}.py"), json.dumps(arguments)])

    runs = in_turns({name: lambda name=name: subject(name) for name in names}, scale.reps)
    for name, done in runs.items():
        assert all(r.answer["failed"] == len(FAILING) for r in done), (name, done[0].answer)
    floor = runs["odf"]
    return [
        row(
            f"{CASE}, {number // 1_000_000} M rows, on Spark",
            name,
            done,
            *(("odf", floor) if done is not floor else ()),
            note=f"{done[0].answer['jobs']} Spark jobs, {done[0].answer['scans']} scans; "
            f"first test {done[0].answer['first']:.1f} s",
        )
        for name, done in runs.items()
    ]


def _query(number: int) -> str:
    """SQL for the rows; the last rows fail five clauses."""
    last = number - 1
    return f"""
        SELECT CASE WHEN i = {last} THEN 'order-0000000000' ELSE printf('order-%010d', i) END AS order_id,
          CASE WHEN i = {last} THEN 0 ELSE i % 50000 + 1 END AS customer,
          CASE WHEN i = {last - 1} THEN 1000.5 ELSE (i * 7919 % 100000) / 100.0 END::DOUBLE AS total,
          CASE WHEN i = {last - 2} THEN 'lost' ELSE ['open', 'paid', 'shipped'][i % 3 + 1] END AS status,
          CASE WHEN i = {last - 3} THEN 'nobody' ELSE printf('customer%d@example.org', i % 50000) END AS email,
          TIMESTAMPTZ '2024-01-01 00:00:00Z' + to_seconds(i) AS placed
        FROM range({number}) t(i)"""
