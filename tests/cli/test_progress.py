"""What long commands show at a terminal while they work, and that they show nothing elsewhere."""

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.manifest import model
from airflow_provider_odf.manifest.names import DatasetAlias
from tests.chain.conftest import Growing

COLUMNS = (pa.field("id", pa.int64()), pa.field("value", pa.string()))
ODF = Path(sys.executable).with_name("odf")


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """A store with a dataset that takes long enough to be seen."""
    store = Store.open(tmp_path_factory.mktemp("progress") / "store")
    growing = Growing(store.create(DatasetAlias.parse("numbers")), model.MergeStrategyAppend(), COLUMNS)
    rows = [("+A", number, f"value {number}") for number in range(20_000)]
    for _ in range(20):
        growing.add(*rows)
    return store.location


def at_terminal(store, *arguments):
    """What a command prints on standard output, and at the terminal that is its standard error."""
    terminal, end = pty.openpty()
    environment = {**os.environ, "ODF_STORE": store, "TERM": "xterm", "COLUMNS": "100"}
    with subprocess.Popen([ODF, *arguments], env=environment, stdout=subprocess.PIPE, stderr=end, text=True) as done:
        os.close(end)
        shown = b""
        while True:
            try:
                part = os.read(terminal, 10_000)
            except OSError:
                break
            if not part:
                break
            shown += part
        output = done.stdout.read()
    os.close(terminal)
    assert done.returncode == 0
    return output, shown.decode()


def test_a_verification(store):
    output, shown = at_terminal(store, "verify", "numbers")
    assert output == "numbers: ok: 23 blocks, 20 slices, 400,000 records\n"
    assert re.search(r"numbers: slice \d+ of 20: \d+ bytes", shown)


def test_an_export(store, tmp_path):
    output, shown = at_terminal(store, "export", "numbers", "--as", "csv", "--history", "-o", str(tmp_path / "n.csv"))
    assert output.startswith("numbers: 400,000 rows as of block f1620")
    assert re.search(r"numbers: [\d,]+ rows", shown)


def test_a_copy(store, tmp_path):
    output, shown = at_terminal(store, "copy", f"{store}/numbers", str(tmp_path / "copies"))
    assert output.startswith("numbers: copied 23 blocks")
    assert re.search(r"numbers: copying 20 files, \d+ MB", shown)
    assert "\n" not in shown.partition("copying")[2].partition("MB")[0]


@pytest.mark.parametrize("arguments", [("verify", "numbers"), ("export", "numbers", "--as", "csv", "-o", "n.csv")])
def test_nothing_without_a_terminal(store, tmp_path, arguments):
    environment = {**os.environ, "ODF_STORE": store}
    done = subprocess.run([ODF, *arguments], env=environment, capture_output=True, text=True, cwd=tmp_path, check=True)
    assert done.stderr == ""
