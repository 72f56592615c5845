"""``odf contract lint`` and ``odf contract show``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from airflow_provider_odf.cli import app

VALID = "dataContractSpecification: 1.2.1\nid: a\ninfo: {title: T, version: '1', status: retired}\nmodels: {m: {}}\n"
INVALID = VALID.replace("{m: {}}", "{m: {fields: {f: {type: long, examples: [x]}}}}")


@pytest.fixture
def contracts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "valid.yaml").write_text(VALID)
    (tmp_path / "invalid.yaml").write_text(INVALID)


def test_lint(contracts: None):
    result = CliRunner().invoke(app, ["contract", "lint", "valid.yaml"])
    assert (result.exit_code, result.stdout, result.stderr) == (
        0,
        "1 contract is valid\n",
        "valid.yaml:3:40: warning: the contract is retired\n",
    )
    result = CliRunner().invoke(app, ["contract", "lint", "valid.yaml", "invalid.yaml"])
    assert (result.exit_code, result.stdout) == (1, "invalid.yaml:4:50: example 'x': f is of type long\n")


def test_lint_as_json(contracts: None, tmp_path: Path):
    result = CliRunner().invoke(app, ["contract", "lint", "invalid.yaml", "--format", "json"])
    assert result.exit_code == 1
    assert json.loads(result.stdout) == [
        {
            "severity": "warning",
            "file": f"{tmp_path}/invalid.yaml",
            "line": 3,
            "column": 40,
            "message": "the contract is retired",
            "fix": "",
        },
        {
            "severity": "error",
            "file": f"{tmp_path}/invalid.yaml",
            "line": 4,
            "column": 50,
            "message": "example 'x': f is of type long",
            "fix": "",
        },
    ]


def test_show(contracts: None):
    result = CliRunner().invoke(app, ["contract", "show", "valid.yaml"])
    assert result.exit_code == 0
    assert result.stdout.splitlines()[:3] == [
        "T 1, retired",
        "a, Data Contract Specification 1.2.1",
        "1 clause, of which 0 are not enforced",
    ]
    result = CliRunner().invoke(app, ["contract", "show", "valid.yaml", "--format", "json"])
    assert json.loads(result.stdout)["document"]["info"] == {"title": "T", "version": "1", "status": "retired"}
