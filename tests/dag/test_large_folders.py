"""Folders of many manifests: the work for each manifest does not grow with their number."""

import gc
from cProfile import Profile
from pathlib import Path
from pstats import Stats

import pytest

from airflow_provider_odf import build_dags, raise_manifest_errors
from tests.manifests import polled

CONTRACT = (
    "dataContractSpecification: 1.1.0\nid: a\ninfo: {{title: a, version: '1'}}\nmodels: {{{name}: {{fields: {{}}}}}}\n"
)
IGNORED = "---\nkind: MetadataEvent\nversion: 3\ncontent: {}\n"


def manifest(name: str) -> str:
    url = "{kind: Url, url: 'https://example.com/a.csv'}"
    return polled(name, url, "{kind: Csv, schema: [id BIGINT]}", "{kind: Snapshot, primaryKey: [id]}")


def with_contracts(folder: Path, name: str) -> None:
    (folder / f"{name}.yaml").write_text(manifest(name))
    (folder / f"{name}.datacontract.yaml").write_text(CONTRACT.format(name=name))


def with_warnings(folder: Path, name: str) -> None:
    (folder / f"{name}.yaml").write_text(manifest(name) + IGNORED)


def in_teams(folder: Path, name: str) -> None:
    (folder / name).mkdir()
    (folder / name / "odf.yaml").write_text("defaults: {schedule: null}\n")
    (folder / name / "a.yaml").write_text(manifest(name))


def with_entries(folder: Path, name: str) -> None:
    (folder / f"{name}.yaml").write_text(manifest(name))
    with (folder / "odf.yaml").open("a") as file:
        file.write(f"{'' if file.tell() else f'datasets:{chr(10)}'}  {name}: {{retries: 1}}\n")


@pytest.mark.parametrize(
    ("write", "few"), [(with_contracts, 20), (with_warnings, 20), (in_teams, 20), (with_entries, 80)]
)
def test_each_further_manifest_takes_as_many_calls(write, few, tmp_path, monkeypatch):
    monkeypatch.setenv("ODF_STORE", str(tmp_path / "store"))

    def calls(number: int) -> int:
        folder = tmp_path / f"of-{number}"
        folder.mkdir()
        for n in range(number):
            write(folder, f"d{n}")
        build_dags(folder)
        with Profile() as profile:
            assert len(build_dags(folder)) == number
            raise_manifest_errors(folder)
        return Stats(profile).total_calls

    first, second, fourth = calls(few), calls(2 * few), calls(4 * few)
    assert (fourth - second) / 2 < 1.02 * (second - first)


def test_a_loader_does_not_look_for_garbage(tmp_path, monkeypatch):
    monkeypatch.setenv("ODF_STORE", str(tmp_path / "store"))
    for n in range(100):
        with_contracts(tmp_path, f"d{n}")
    collections = []

    def record(phase: str, info: object) -> None:
        collections.append(phase)

    gc.callbacks.append(record)
    try:
        assert len(build_dags(tmp_path)) == 100
        raise_manifest_errors(tmp_path)
        assert collections.count("start") <= 4  # each of the three generations may follow a loader
        assert gc.isenabled()
    finally:
        gc.callbacks.remove(record)
