from pathlib import Path

import pytest
from airflow.dag_processing.dagbag import DagBag

from airflow_provider_odf import build_dags, raise_manifest_errors
from airflow_provider_odf.dag import manifests
from airflow_provider_odf.errors import ManifestInvalid
from airflow_provider_odf.manifest.load import load

DAGS = Path(__file__).parents[2] / "dags"

MANIFEST = """\
kind: DatasetSnapshot
version: 1
content:
  name: {name}
  kind: Root
  metadata:
    - kind: SetPollingSource
      fetch:
        kind: FilesGlob
        path: {name}/*.csv
      read:
        kind: Csv
        schema: ["id BIGINT"]
      merge:
        kind: Append
"""
BROKEN = MANIFEST.replace("path:", "pth:")
LOADER = (DAGS / "odf.py").read_text()
ERRORS_LOADER = (DAGS / "odf_errors.py").read_text()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("ODF_STORE", str(tmp_path / "store"))
    dags = tmp_path / "dags"
    dags.mkdir()
    (dags / "odf.py").write_text(LOADER)
    (dags / "odf_errors.py").write_text(ERRORS_LOADER)
    for name in ("com.acme.orders", "acme/parts"):
        (dags / f"{name.replace('/', '.')}.yaml").write_text(MANIFEST.format(name=name))
    return dags


def bag(folder: Path) -> DagBag:
    return DagBag(dag_folder=folder, bundle_path=folder, bundle_name="dags-folder")


def test_a_dag_for_every_dataset(folder):
    found = bag(folder)
    assert sorted(found.dags) == ["acme.parts", "com.acme.orders"]
    assert found.import_errors == {}


def test_a_bad_manifest_is_one_import_error_and_hides_nothing(folder):
    (folder / "bad.yaml").write_text(BROKEN.format(name="bad"))
    found = bag(folder)
    assert sorted(found.dags) == ["acme.parts", "com.acme.orders"]
    assert list(found.import_errors) == ["odf_errors.py"]
    (error,) = found.import_errors.values()
    assert f"{folder}/bad.yaml:10:9: unknown key `pth` in FilesGlob (did you mean `path`?)" in error


def test_without_the_errors_loader_a_bad_manifest_is_a_dag_that_says_so(folder):
    (folder / "odf_errors.py").unlink()
    (folder / "bad.yaml").write_text(BROKEN.format(name="bad"))
    found = bag(folder)
    assert found.import_errors == {}
    assert sorted(found.dags) == ["acme.parts", "bad.invalid", "com.acme.orders"]
    invalid = found.dags["bad.invalid"]
    assert invalid.tags == {"odf", "invalid manifest"}
    assert "bad.yaml:10:9: unknown key `pth`" in invalid.doc_md
    with pytest.raises(Exception, match=r"bad\.yaml:10:9: unknown key `pth`"):
        invalid.get_task("validate").execute({})


def test_a_bad_contract_is_an_import_error_too(folder):
    (folder / "com.acme.orders.datacontract.yaml").write_text("dataContractSpecification: 1.2.1\nid: x\nmodls: {}\n")
    found = bag(folder)
    assert "com.acme.orders.datacontract.yaml:" in found.import_errors["odf_errors.py"]
    assert sorted(found.dags) == ["acme.parts", "com.acme.orders"]


def test_bad_settings_of_one_folder_leave_the_others_alone(folder):
    (folder / "sub").mkdir()
    (folder / "sub" / "odf.yaml").write_text("defaults:\n  scedule: '@daily'\n")
    (folder / "sub" / "more.yaml").write_text(MANIFEST.format(name="more"))
    found = bag(folder)
    assert sorted(found.dags) == ["acme.parts", "com.acme.orders"]
    assert "sub/odf.yaml:2:3: " in found.import_errors["odf_errors.py"]


def test_for_a_task_only_its_own_manifest_is_loaded(folder, monkeypatch):
    loaded = []
    monkeypatch.setattr(manifests, "load", lambda paths: loaded.append([p.name for p in paths]) or load(paths))
    monkeypatch.setenv("_AIRFLOW_PARSING_CONTEXT_DAG_ID", "acme.parts")
    (folder / "bad.yaml").write_text(BROKEN.format(name="bad"))
    assert list(build_dags(folder)) == ["acme.parts"]
    assert loaded == [["acme.parts.yaml"]]


def test_a_pushed_dataset_has_a_dag_and_a_derivative_has_none(folder, caplog):
    derivative = """\
kind: DatasetSnapshot
version: 1
content:
  name: sums
  kind: Derivative
  metadata:
    - kind: SetTransform
      inputs:
        - datasetRef: com.acme.orders
      transform:
        kind: Sql
        engine: spark
        query: select * from `com.acme.orders`
"""
    push = """\
kind: DatasetSnapshot
version: 1
content:
  name: pushed
  kind: Root
  metadata:
    - kind: AddPushSource
      sourceName: default
      read: {kind: Parquet}
      merge: {kind: Append}
"""
    (folder / "more.yaml").write_text(f"{derivative}---\n{push}")
    found = build_dags(folder, schedule="@daily")
    assert sorted(found) == ["acme.parts", "com.acme.orders", "pushed"]
    assert (found["pushed"].schedule, found["pushed"].max_active_runs) == (None, 1)
    assert [t.task_id for t in found["pushed"].topological_sort()] == ["push", "merge", "publish"]
    assert "sums has no DAG: derivative datasets are not supported yet" in caplog.text


def test_steps_that_are_switched_off_are_refused(folder, monkeypatch):
    text = MANIFEST.format(name="piped").replace(
        "      read:", "      prepare:\n        - kind: Pipe\n          command: [sort]\n      read:"
    )
    (folder / "piped.yaml").write_text(text)
    assert "piped" in build_dags(folder)
    monkeypatch.setenv("AIRFLOW__ODF__FORBID_STEPS", "pipe")
    assert "piped" not in build_dags(folder)
    with pytest.raises(ManifestInvalid, match=r"piped.yaml:1\d:\d+: Pipe steps are switched off here"):
        raise_manifest_errors(folder)


def test_what_is_right_raises_nothing(folder):
    raise_manifest_errors(folder)


def test_example_manifests_are_valid():
    assert load([DAGS, *(DAGS / "by_hand").glob("*.yaml")]).problems == ()
