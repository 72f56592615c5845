"""``odf show`` as a user starts it, on a dataset whose chain is written here without Spark."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.evolution.apply import apply
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest.load import load

MANIFEST = """\
kind: DatasetSnapshot
version: 1
content:
  name: acme/cities
  kind: Root
  metadata:
    - kind: SetPollingSource
      fetch:
        kind: Url
        url: https://me:secret@example.org/cities.csv.gz?key=f00
      prepare:
        - {kind: Decompress, format: Gzip}
      read:
        kind: Csv
        schema: ["city STRING NOT NULL", "founded TIMESTAMP"]
      merge: {kind: Ledger, primaryKey: [City]}
    - kind: SetVocab
      eventTimeColumn: founded
    - kind: SetInfo
      description: "All cities.\\n\\e[31mRed"
      keywords: [geo, people]
    - kind: SetLicense
      shortName: CC0
      name: Creative Commons Zero
      spdxId: CC0-1.0
      websiteUrl: https://example.org/cc0
    - kind: SetAttachments
      attachments:
        kind: Embedded
        items:
          - path: README.md
            content: "# Größe\\nno newline"
"""
TIME = Instant.parse("2024-05-02T08:00:00Z")
NOTHING_HEAVY = """
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"airflow", "pyspark", "pandas", "openlineage", "sqlglot", "pyarrow"}:
            raise ImportError("blocked: " + name)
sys.meta_path.insert(0, Blocked())
from airflow_provider_odf.cli import main
sys.argv[0] = "odf"
main()
"""


def odf(*arguments: object, code: int = 0) -> bytes:
    command = [sys.executable, "-c", NOTHING_HEAVY, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, check=False)
    assert done.returncode == code, done.stderr.decode()
    return done.stdout if code == 0 else done.stderr


def test_list(folder: Path) -> None:
    (folder / "empty").mkdir()
    assert odf("list", "--store", folder / "empty") == b""
    [row] = json.loads(odf("list", "--store", folder / "store", "--format", "json"))
    assert row == {
        "name": "acme/cities",
        "kind": "Root",
        "records": 0,
        "size": 0,
        "watermark": None,
        "published": None,
        "updated": "2024-05-02T08:00:00Z",
        "health": "no data",
        "healthReason": "No data was published yet.",
    }
    table = odf("list", "--store", folder / "store").decode().splitlines()
    assert table[0].split() == ["name", "kind", "health", "records", "size", "watermark", "published"]
    assert table[2].split() == ["acme/cities", "Root", "no", "data", "0", "0", "B"]


def test_list_goes_on_after_a_damaged_dataset(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder / "store", tmp_path / "store")
    shutil.copytree(tmp_path / "store/acme/cities", tmp_path / "store/acme/broken")
    head = tmp_path / "store/acme/broken/refs/head"
    (tmp_path / "store/acme/broken/blocks" / head.read_text()).unlink()
    command = [sys.executable, "-c", NOTHING_HEAVY, "list", "--store", tmp_path / "store", "--format", "csv"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stdout.splitlines()[1:] == ["acme/cities,Root,no data,0,0,,"]
    assert done.stderr.startswith("acme/broken: ")
    assert "refs/head is damaged" in done.stderr


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("show")
    (folder / "cities.yaml").write_text(MANIFEST)
    loaded = load([folder / "cities.yaml"])
    assert not loaded.problems
    apply(Store.open(folder / "store"), loaded.manifests[0], TIME)
    return folder


def test_the_table(folder: Path):
    dataset = Store.open(folder / "store").dataset("acme/cities")
    id_ = json.loads(odf("show", "acme/cities", "--store", folder / "store", "--format", "json"))["id"]
    assert (
        odf("show", "acme/cities", "--store", folder / "store").decode()
        == f"""\
acme/cities (Root)
All cities.
\\x1b[31mRed

Id           {id_}
Keywords     geo, people
License      Creative Commons Zero, CC0, SPDX CC0-1.0, https://example.org/cc0
Attachments  README.md (20 B)
Source       https://example.org/cities.csv.gz?key=*** > Gzip > Csv
Merge        Ledger by City
Vocabulary   event time column founded
Records      0
Head         {dataset.head()}
Chain        6 blocks, newest at 2024-05-02T08:00:00Z
Stored at    {folder}/store/acme/cities
"""
    )


def test_the_document(folder: Path):
    dataset = Store.open(folder / "store").dataset("acme/cities")
    document = json.loads(odf("show", "ACME/Cities", "--store", folder / "store", "--format", "json"))
    assert document.pop("id").startswith("did:odf:fed01")
    assert document == {
        "alias": "acme/cities",
        "kind": "Root",
        "uri": f"file://{folder}/store/acme/cities",
        "description": "All cities.\n\x1b[31mRed",
        "keywords": ["geo", "people"],
        "license": {
            "shortName": "CC0",
            "name": "Creative Commons Zero",
            "spdxId": "CC0-1.0",
            "websiteUrl": "https://example.org/cc0",
        },
        "attachments": [{"path": "README.md", "size": 20}],
        "pollingSource": {
            "fetch": {"kind": "Url", "url": "https://example.org/cities.csv.gz?key=***"},
            "prepare": [{"kind": "Decompress", "format": "Gzip"}],
            "read": {"kind": "Csv", "ddlSchema": ["city STRING NOT NULL", "founded TIMESTAMP"]},
            "merge": {"kind": "Ledger", "primaryKey": ["City"]},
        },
        "pushSources": [],
        "transform": None,
        "mergeStrategy": {"kind": "Ledger", "primaryKey": ["City"]},
        "vocabulary": {
            "offsetColumn": "offset",
            "operationTypeColumn": "op",
            "systemTimeColumn": "system_time",
            "eventTimeColumn": "founded",
        },
        "schema": [],
        "head": dataset.head(),
        "blocks": 6,
        "systemTime": "2024-05-02T08:00:00Z",
        "publication": None,
        "records": 0,
        "slices": 0,
        "size": 0,
        "watermark": None,
        "sourceStates": [],
    }


def test_an_attachment_is_printed_as_it_is(folder: Path):
    assert odf("show", "acme/cities", "--store", folder / "store", "--attachment", "README.md") == (
        "# Größe\nno newline".encode()
    )
    as_json = odf("show", "acme/cities", "--store", folder / "store", "--attachment", "README.md", "--format", "json")
    assert json.loads(as_json) == {"path": "README.md", "content": "# Größe\nno newline"}


def test_an_attachment_that_is_not_there(folder: Path):
    said = odf("show", "acme/cities", "--store", folder / "store", "--attachment", "LICENSE", code=2)
    assert said == b"dataset acme/cities has no attachment 'LICENSE' (known: README.md)\n"
