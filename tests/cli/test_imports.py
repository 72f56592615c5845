"""What commands import: libraries take most of the time of a command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import airflow_provider_odf
from tests.manifests import polled

PACKAGE = Path(airflow_provider_odf.__file__).parent

LIBRARIES = {
    *("airflow", "asyncio", "click", "croniter", "datafusion", "httpx", "jsonschema", "numpy", "obstore"),
    *("openlineage", "pandas", "pyarrow", "pyspark", "regex", "rich", "sqlglot", "tenacity", "yaml"),
}

ROOT = polled(
    "prices",
    "{kind: FilesGlob, path: prices-*.csv}",
    "{kind: Csv, header: true, schema: [id BIGINT, price DOUBLE]}",
    "{kind: Snapshot, primaryKey: [id]}",
)


def imported(folder: Path, *command: str) -> tuple[set[str], set[str]]:
    """Run a command where there is no Java. Return the libraries and the parts of the package that it imported."""
    program = (
        "import atexit, json, sys\n"
        f"sys.argv = ['odf', *{command!r}]\n"
        "atexit.register(lambda: print('\\n' + json.dumps(list(sys.modules))))\n"
        "from airflow_provider_odf.cli import main\n"
        "main()"
    )
    environment = os.environ | {"PATH": str(folder), "JAVA_HOME": str(folder)}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    names = json.loads(done.stdout.splitlines()[-1])
    parts = [name.split(".") for name in names if name.startswith("airflow_provider_odf.")]
    return LIBRARIES & set(names), {own[1] for own in parts if (PACKAGE / own[1]).is_dir()}


@pytest.fixture
def prices(tmp_path: Path) -> Path:
    """A folder with a manifest, and a store with its first run."""
    (tmp_path / "prices.yaml").write_text(ROOT)
    (tmp_path / "prices-1.csv").write_text("id,price\n1,2.5\n")
    imported(tmp_path, "run", "prices.yaml")
    return tmp_path


def test_a_chain_is_shown_without_manifests_contracts_and_data(prices: Path) -> None:
    parts = {"chain", "cli", "manifest", "protocol"}
    assert imported(prices, "log", "prices") == (set(), parts)
    assert imported(prices, "show", "prices") == (set(), parts)


def test_a_manifest_is_validated_without_chains(prices: Path) -> None:
    assert imported(prices, "validate", "prices.yaml") == ({"yaml"}, {"cli", "contract", "manifest", "protocol"})


def test_a_poll_without_new_data_imports_no_engine(prices: Path) -> None:
    libraries, _ = imported(prices, "run", "prices.yaml")
    assert libraries == {"asyncio", "tenacity", "yaml"}


def test_a_small_merge_needs_neither_java_nor_another_process(prices: Path) -> None:
    (prices / "prices-2.csv").write_text("id,price\n1,3.5\n2,1\n")
    libraries, parts = imported(prices, "run", "prices.yaml")
    assert "engine" in parts
    assert libraries == {"asyncio", "numpy", "pyarrow", "pyspark", "tenacity", "yaml"}
