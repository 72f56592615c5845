"""Every problem of a broken contract, settings file or manifest names a line: files broken in every line and way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from airflow_provider_odf.contract.load import load as load_contract
from airflow_provider_odf.errors import ManifestInvalid, Problem
from airflow_provider_odf.manifest.folder_settings import read_settings
from airflow_provider_odf.manifest.load import load

CONTRACT = b"""\
dataContractSpecification: 1.1.0
id: urn:cities
info:
  title: Cities
  version: 1.0.0
models:
  cities:
    fields:
      name: {type: string, required: true}
      population:
        type: long
        minimum: 5
        $ref: '#/definitions/count'
definitions:
  count: {type: long}
"""
SETTINGS = b"""\
defaults:
  schedule: "@daily"
  retries: 3
  env:
    TOKEN: {connection: api, field: password}
datasets:
  cities:
    pool: slow
    tags: [geo]
    start_date: 2024-01-01T00:00:00Z
"""
MANIFEST = b"""\
kind: DatasetSnapshot
version: 1
content:
  name: cities
  kind: Root
  metadata:
    - kind: SetPollingSource
      fetch:
        kind: Url
        url: https://example.org/cities.csv
      read:
        kind: Csv
        header: true
        schema: [city STRING, founded DATE]
      merge:
        kind: Snapshot
        primaryKey: [city]
"""
WAYS: dict[str, Callable[[bytes], bytes]] = {
    "no value": lambda line: line.split(b":")[0] + b":" if b":" in line else line + b":",
    "a list": lambda line: line.split(b":")[0] + b": [1, 2]",
    "a mapping": lambda line: line.split(b":")[0] + b": {a: 1}",
    "misspelt": lambda line: line.replace(b":", b"x:", 1),
    "twice": lambda line: line + b"\n" + line,
    "deeper": lambda line: b"   " + line,
    "a tab": lambda line: b"\t" + line,
    "open": lambda line: line + b" [",
    "not UTF-8": lambda line: line + b" # caf\xe9",
    "NUL": lambda line: line + b" # \0",
    "control": lambda line: line + b" # \x07",
    "an alias": lambda line: line.split(b":")[0] + b": *nothing",
    "a second document": lambda line: b"---\n" + line,
}


def broken(text: bytes) -> Iterator[tuple[str, bytes]]:
    lines = text.splitlines()
    for number, line in enumerate(lines):
        for way, change in WAYS.items():
            yield f"{way} in line {number + 1}", b"\n".join([*lines[:number], change(line), *lines[number + 1 :]])
    yield "UTF-16", text.decode().encode("utf-16")
    yield "UTF-16 without mark", text.decode().encode("utf-16-le")
    yield "cut", text[: len(text) // 2]


def problems_of_contract(file: Path) -> tuple[Problem, ...]:
    try:
        load_contract(file)
    except ManifestInvalid as e:
        return e.problems
    return ()


def problems_of_settings(file: Path) -> tuple[Problem, ...]:
    try:
        read_settings(file)
    except ManifestInvalid as e:
        return e.problems
    return ()


def problems_of_manifest(file: Path) -> tuple[Problem, ...]:
    return load([file]).problems


@pytest.mark.parametrize(
    ("name", "text", "problems_of", "expected"),
    [
        ("cities.datacontract.yaml", CONTRACT, problems_of_contract, 140),
        ("odf.yaml", SETTINGS, problems_of_settings, 95),
        ("cities.yaml", MANIFEST, problems_of_manifest, 170),
    ],
)
def test_every_problem_has_a_line(
    tmp_path: Path, name: str, text: bytes, problems_of: Callable[[Path], tuple[Problem, ...]], expected: int
) -> None:
    invalid = 0
    for number, (what, data) in enumerate(broken(text)):
        (folder := tmp_path / str(number)).mkdir()  # settings are cached by their path
        (folder / name).write_bytes(data)
        found = problems_of(folder / name)
        assert [str(p) for p in found if not p.place.line] == [], what
        invalid += bool(found)
    assert invalid >= expected
