"""``odf copy`` and ``odf promote``: what they print, and how they end."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from airflow_provider_odf.cli import app
from airflow_provider_odf.errors import DatasetNotFound, InvalidInput
from tests.chain.golden_datasets import DATASETS
from tests.manifests import polled

MANIFEST = polled(
    "cities",
    "{kind: FilesGlob, path: in/*.csv}",
    "{kind: Csv, header: true, schema: [country STRING, city STRING, population BIGINT]}",
    "{kind: Snapshot, primaryKey: [country, city]}",
)


@pytest.fixture(autouse=True)
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The store ``there`` in the working directory, with the datasets cities and sensors."""
    for name, files in DATASETS.items():
        for file, data in files.items():
            path = tmp_path / "there" / name / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
    (tmp_path / "cities.yaml").write_text(MANIFEST)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "there"


def odf(*words: str, code: int = 0) -> str:
    done = CliRunner().invoke(app, words)
    assert done.exit_code == code, done.output
    return done.output


def test_a_copy_and_its_promotion(there: Path) -> None:
    copied = odf("copy", "there/cities", "here", "--as", "towns")
    assert sorted(copied.splitlines()) == [
        "note: new store at here",
        "towns: copied 6 blocks, 3 data files of 6881 bytes",
    ]
    assert odf("copy", "there/cities", "here", "--as", "towns") == "towns: up to date\n"
    assert odf("verify", "towns", "--store", "here") == "towns: ok: 6 blocks, 3 slices, 9 records\n"
    assert odf("show", "towns", "--store", "here").count(f"Copy of    {there.as_uri()}/cities\n") == 1
    assert odf("promote", "towns", "--store", "here") == f"towns: no longer a copy of {there.as_uri()}/cities\n"
    assert odf("promote", "towns", "--store", "here") == "towns: is no copy\n"


def test_all_datasets_of_a_store(there: Path) -> None:
    """A damaged one does not stop the others."""
    block = next((there / "cities" / "blocks").iterdir())
    data = block.read_bytes()
    block.write_bytes(b"")
    first = odf("copy", "there", "here", "--all", code=1)
    assert f"cities: there/cities/blocks/{block.name}: " in first
    assert "sensors: copied 10 blocks, 3 data files of 6814 bytes\n" in first
    block.write_bytes(data)
    second = odf("copy", "there", "here", "--all")
    assert second == "cities: copied 6 blocks, 3 data files of 6881 bytes\nsensors: up to date\n"


def test_a_run_and_a_push_leave_a_copy_as_it_is() -> None:
    odf("copy", "there/cities", "here")
    refused = "the dataset is a read-only copy of file://"
    run = odf("run", "cities.yaml", "--store", "here", code=2)
    assert refused in run
    assert "let it go on by itself with `odf promote cities --store here`" in run
    assert refused in odf("push", "cities", "cities.yaml", "--store", "here", code=2)
    assert odf("copy", "there/cities", "here") == "cities: up to date\n"


def test_what_cannot_be_copied() -> None:
    for words, error in (
        (("there/nothing", "here"), DatasetNotFound),
        (("there", "here", "--all", "--as", "x"), InvalidInput),
        (("https://me:secret@localhost/cities", "here"), InvalidInput),
    ):
        done = CliRunner().invoke(app, ["copy", *words])
        assert done.exit_code == 1
        assert isinstance(done.exception, error)
        assert "secret" not in str(done.exception)
