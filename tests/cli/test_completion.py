"""Completion of commands, options and names of datasets, as bash asks for it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.manifest import model
from airflow_provider_odf.manifest.names import DatasetAlias
from tests.chain.conftest import Growing

BIN = Path(sys.executable).parent


@pytest.fixture
def complete(tmp_path):
    """What bash completes the last of some words to."""
    store = Store.open(tmp_path / "store")
    for name in ("orders", "orders-2", "acme/prices"):
        Growing(store.create(DatasetAlias.parse(name)), model.MergeStrategyAppend(), [pa.field("id", pa.int64())])

    def run(*words, store=store.location):
        script = (
            'eval "$(odf completion bash)"; '
            f"COMP_WORDS=(odf {' '.join(words)}); COMP_CWORD={len(words)}; "
            '_odf_completion odf; printf "%s\\n" "${COMPREPLY[@]}"'
        )
        environment = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}", "ODF_STORE": str(store)}
        done = subprocess.run(["bash", "-c", script], env=environment, capture_output=True, text=True, check=True)
        assert done.stderr == ""
        return done.stdout.split()

    return run


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("publ",), ["publications"]),
        (("tail", "ord"), ["orders", "orders-2"]),
        (("show", "acme"), ["acme/prices"]),
        (("tail", "orders", "--form"), ["--format"]),
        (("rejected", "sh"), ["show"]),
        (("tail", "nope"), []),
    ],
)
def test_bash(complete, words, expected):
    assert complete(*words) == expected


def test_the_store_of_the_command(complete, tmp_path):
    assert complete("tail", "--store", str(tmp_path / "store"), "acme", store=tmp_path / "away") == ["acme/prices"]
    assert complete("tail", "acme", store=tmp_path / "away") == []


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells(shell):
    done = subprocess.run([BIN / "odf", "completion", shell], capture_output=True, text=True, check=True)
    assert f"_ODF_COMPLETE=complete_{shell}" in done.stdout
    if (program := shutil.which(shell)) is not None:
        subprocess.run([program, "-n"], input=done.stdout, text=True, check=True)
