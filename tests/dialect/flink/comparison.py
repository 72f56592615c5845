"""Asks real Flink, and compares what it answers with the rows of Spark."""

from __future__ import annotations

import datetime as dt
import decimal
import json
import os
import struct
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from airflow_provider_odf.protocol import Column
from tests.dialect.flink import oracle


def _flink_type(ddl: str) -> str:
    types = {"TIMESTAMP": "TIMESTAMP(3)", "STRUCT<x: BIGINT, y: STRING>": "ROW<x BIGINT, y STRING>"}
    return types.get(ddl, ddl)


def _json(value: object) -> object:
    if isinstance(value, dt.datetime):
        return value.strftime("%Y-%m-%dT%H:%M:%S.") + f"{value.microsecond // 1000:03d}"
    if isinstance(value, dt.date):
        return value.isoformat()
    return float(value) if isinstance(value, decimal.Decimal) else value


def on_flink(
    queries: Sequence[object], tables: Mapping[str, pa.Table], columns: Sequence[Column], folder: Path
) -> list[dict[str, Any]]:
    """Flink's answers as ``oracle`` writes them. It starts once for all queries."""
    types = [[column.name, _flink_type(column.type)] for column in columns]
    return answers(
        {"queries": queries, "tables": {name: {"columns": types, "rows": json_rows(t)} for name, t in tables.items()}},
        folder,
    )


def json_rows(table: pa.Table) -> list[dict[str, object]]:
    return [{k: _json(v) for k, v in row.items()} for row in table.to_pylist()]


def answers(job: Mapping[str, object], folder: Path) -> list[dict[str, Any]]:
    """Flink's answers to a job that ``oracle`` describes."""
    python = os.environ.get("ODF_FLINK_PYTHON")
    if not python:
        pytest.skip("no Flink: `make test-slow` installs it and sets ODF_FLINK_PYTHON")
    (folder / "job.json").write_text(json.dumps(job))
    command = [python, oracle.__file__, str(folder / "job.json"), str(folder / "answer.json")]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
    environment["TZ"] = "UTC"  # pyflink reads times in the zone of its process

    subprocess.run(command, check=True, env=environment, capture_output=True)
    return list(json.loads((folder / "answer.json").read_text()))


def type_name(type_: pa.DataType) -> str:
    """An Arrow type as Flink writes it, without lengths and precisions of times."""
    if pa.types.is_decimal(type_):
        return f"DECIMAL({type_.precision}, {type_.scale})"
    if pa.types.is_timestamp(type_):
        return "TIMESTAMP"
    names = {
        "bool": "BOOLEAN", "int8": "TINYINT", "int16": "SMALLINT", "int32": "INT", "int64": "BIGINT", "float": "FLOAT",
        "double": "DOUBLE", "date32[day]": "DATE", "string": "STRING",
    }  # fmt: skip
    return names.get(str(type_), str(type_))


def flink_type(type_: pa.DataType) -> str:
    """Flink's type of a column of a dataset."""
    return _flink_type(type_name(type_))


def _plain(type_: str) -> str:
    type_ = type_.removesuffix(" NOT NULL")
    if type_.startswith(("CHAR", "VARCHAR")):
        return "STRING"
    return "TIMESTAMP" if type_.startswith("TIMESTAMP") else type_


def _rounded(values: list[str]) -> list[str]:
    """Texts of FLOAT, which some write with the digits of a DOUBLE, in one form."""
    return [
        value if value == "None" else str(struct.unpack("f", struct.pack("f", float(value)))[0]) for value in values
    ]


def compare(what: list[str], theirs: dict[str, Any], ours: pa.Table) -> None:
    """Fail with each column of Flink's answer whose name, type or values differ; ``what`` says what it is."""
    if "error" in theirs:
        pytest.fail(f"Flink: {theirs['error'][-300:]}")
    found = []
    for index, name in enumerate(theirs["names"]):
        column = ours.column(index)
        values = [oracle.as_text(value) for value in column.to_pylist()]
        expected = [row[index] for row in theirs["rows"]]
        if column.type == pa.float32():
            values, expected = _rounded(values), _rounded(expected)
        mine, other = (ours.schema.names[index], type_name(column.type)), (name, _plain(theirs["types"][index]))
        if mine != other or values != expected:
            found.append(f"{what[index]}: {other} {expected} became {mine} {values}")
    if found:
        pytest.fail("\n".join(found), pytrace=False)
