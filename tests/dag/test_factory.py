import re
from pathlib import Path

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_provider_odf import build_dags, raise_manifest_errors
from airflow_provider_odf.dag import factory
from airflow_provider_odf.errors import ManifestInvalid
from airflow_provider_odf.manifest.load import load
from tests.airflow_parts import DagBag, import_errors, read_bag
from tests.manifests import pushed

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
FLOW = "{{name: {name}, kind: Root, metadata: [{{kind: AddPushSource, sourceName: a, read: Parquet, merge: Append}}]}}"
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
    return read_bag(dag_folder=folder, bundle_path=folder)


def test_a_dag_for_every_dataset(folder):
    found = bag(folder)
    assert sorted(found.dags) == ["acme.parts", "com.acme.orders"]
    assert found.import_errors == {}


def test_a_bad_manifest_is_one_import_error_and_hides_nothing(folder):
    (folder / "bad.yaml").write_text(BROKEN.format(name="bad"))
    found = bag(folder)
    assert sorted(found.dags) == ["acme.parts", "bad", "com.acme.orders"]
    assert list(import_errors(found)) == ["odf_errors.py"]
    (error,) = found.import_errors.values()
    assert f"{folder}/bad.yaml:10:9: unknown key `pth` in FilesGlob (did you mean `path`?)" in error


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (BROKEN, "b@d.yaml:10:9: unknown key `pth`"),
        (BROKEN + "]", "b@d.yaml:16:1: not YAML"),
        (MANIFEST + "  name: twice\n", "b@d.yaml:16:3: `name` is repeated"),
        (
            "version: 1\ncontent:  # of it\n\n  kind: Root\n  name: 'acme/bad' #\n  [\nkind: DatasetSnapshot",
            "not YAML",
        ),
    ],
)
def test_a_dataset_whose_manifest_broke_keeps_its_dag(folder, text, message):
    (folder / "b@d.yaml").write_text(text.format(name="acme/bad"))
    found = bag(folder)
    assert sorted(found.dags) == ["acme.bad", "acme.parts", "com.acme.orders"]
    invalid = found.dags["acme.bad"]
    assert (invalid.tags, invalid.schedule) == ({"odf", "invalid manifest"}, None)
    assert message in invalid.doc_md
    with pytest.raises(Exception, match=re.escape(message)):
        invalid.get_task("validate").execute({})


@pytest.mark.parametrize("errors_loader", [None, "from airflow_provider_odf import raise_manifest_errors as check\n"])
def test_what_names_no_dataset_is_a_dag_where_no_errors_loader_is_parsed(folder, errors_loader):
    (folder / "odf_errors.py").unlink()
    if errors_loader is not None:
        (folder / "odf_errors.py").write_text(errors_loader)
    (folder / "b@d.yaml").write_text(BROKEN.format(name="not a name"))
    found = bag(folder)
    assert found.import_errors == {}
    skipped = ["odf_errors.invalid"] if errors_loader is not None else []
    assert sorted(found.dags) == ["acme.parts", "b_d.invalid", "com.acme.orders", *skipped]
    for name in skipped:
        assert found.dags[name].description == (
            f'{folder}/odf_errors.py: Airflow skips this file, because it does not contain the word "dag" (add a '
            "comment with this word)"
        )
    assert "b@d.yaml:4:9: 'not a name' is not a dataset name" in found.dags["b_d.invalid"].doc_md


def test_of_two_files_that_declare_one_name_neither_runs(folder, monkeypatch):
    (folder / "copy.yaml").write_text(
        "{kind: DatasetSnapshot, version: 1, content: " + FLOW.format(name="ACME/parts") + "}"
    )
    found = bag(folder)
    assert sorted(found.dags) == ["ACME.parts", "acme.parts", "com.acme.orders"]
    first = f"{folder}/acme.parts.yaml:4:9: dataset acme/parts is also declared in {folder}/copy.yaml:1:53 (rename one)"
    second = (
        f"{folder}/copy.yaml:1:53: dataset ACME/parts is also declared in {folder}/acme.parts.yaml:4:9 (rename one)"
    )
    assert first in import_errors(found)["odf_errors.py"]
    assert second in import_errors(found)["odf_errors.py"]
    assert first in found.dags["acme.parts"].doc_md
    assert second in found.dags["ACME.parts"].doc_md
    monkeypatch.setenv("_AIRFLOW_PARSING_CONTEXT_DAG_ID", "acme.parts")
    monkeypatch.setenv("_AIRFLOW_PARSING_CONTEXT_TASK_ID", "merge")
    ((name, dag),) = build_dags(folder).items()
    assert name == "acme.parts"
    with pytest.raises(AirflowFailException, match=re.escape(first)):
        dag.get_task("merge").execute({})


def test_one_file_that_declares_a_name_twice_does_not_run(folder):
    (folder / "acme.parts.yaml").write_text(
        f"{MANIFEST.format(name='acme/parts')}---\n{MANIFEST.format(name='acme.parts')}"
    )
    dag = build_dags(folder)["acme.parts"]
    assert dag.task_ids == ["validate"]
    assert "dataset acme/parts would have the same dag_id acme.parts as acme.parts in" in dag.doc_md
    assert "dataset acme.parts would have the same dag_id acme.parts as acme/parts in" in dag.doc_md


def test_a_bad_contract_is_an_import_error_too(folder):
    (folder / "com.acme.orders.datacontract.yaml").write_text("dataContractSpecification: 1.2.1\nid: x\nmodls: {}\n")
    found = bag(folder)
    assert "com.acme.orders.datacontract.yaml:" in import_errors(found)["odf_errors.py"]
    assert sorted(found.dags) == ["acme.parts", "com.acme.orders"]


def test_bad_settings_of_one_folder_leave_the_others_alone(folder):
    (folder / "sub").mkdir()
    (folder / "sub" / "odf.yaml").write_text("defaults:\n  scedule: '@daily'\n")
    (folder / "sub" / "more.yaml").write_text(MANIFEST.format(name="more"))
    found = bag(folder)
    assert sorted(found.dags) == ["acme.parts", "com.acme.orders", "more"]
    assert "sub/odf.yaml:2:3: " in found.dags["more"].doc_md
    assert found.dags["acme.parts"].task_ids == ["poll", "merge", "publish"]
    assert "sub/odf.yaml:2:3: " in import_errors(found)["odf_errors.py"]


def test_for_a_task_only_its_own_manifest_is_loaded(folder, monkeypatch):
    loaded = []
    monkeypatch.setattr(factory, "load", lambda paths, **known: loaded.append([p.name for p in paths]) or load(paths))
    monkeypatch.setenv("_AIRFLOW_PARSING_CONTEXT_DAG_ID", "acme.parts")
    (folder / "bad.yaml").write_text(BROKEN.format(name="bad"))
    assert list(build_dags(folder)) == ["acme.parts"]
    assert loaded == [["acme.parts.yaml"]]


def test_a_pushed_dataset_has_a_dag_and_one_without_a_source_has_none(folder):
    idle = "kind: DatasetSnapshot\nversion: 1\ncontent: {name: idle, kind: Root, metadata: []}\n"
    (folder / "more.yaml").write_text(f"{idle}---\n{pushed('pushed', 'Parquet')}")
    found = build_dags(folder, schedule="@daily")
    assert sorted(found) == ["acme.parts", "com.acme.orders", "pushed"]
    assert (found["pushed"].schedule, found["pushed"].max_active_runs) == (None, 1)
    assert [t.task_id for t in found["pushed"].topological_sort()] == ["push", "merge", "publish"]


def test_steps_that_are_switched_off_are_refused(folder, monkeypatch):
    text = MANIFEST.format(name="piped").replace(
        "      read:", "      prepare:\n        - kind: Pipe\n          command: [sort]\n      read:"
    )
    (folder / "piped.yaml").write_text(text)
    assert "piped" in build_dags(folder)
    monkeypatch.setenv("AIRFLOW__ODF__FORBID_STEPS", "pipe")
    assert "Pipe steps are forbidden" in build_dags(folder)["piped"].doc_md
    message = (
        r"piped.yaml:1\d:\d+: Pipe steps are forbidden "
        r"\(remove the step, or remove Pipe from airflow.cfg \[odf\] forbid_steps\)"
    )
    with pytest.raises(ManifestInvalid, match=message):
        raise_manifest_errors(folder)


def test_a_contract_that_belongs_to_no_dataset_is_seen_in_the_dags_of_its_folder(folder):
    (folder / "com.acme.order.datacontract.yaml").write_text("")
    message = "com.acme.order.datacontract.yaml: no dataset com.acme.order in this folder: the contract is not used"
    found = bag(folder)
    for dag in found.dags.values():
        assert message in dag.doc_md
        assert dag.tags == {"odf", "warning"}
    assert message in import_errors(found)["odf_errors.py"]
    assert "(did you mean `com.acme.orders.datacontract.yaml`?)" in import_errors(found)["odf_errors.py"]


def test_an_error_that_nobody_foresaw_costs_one_dataset(folder):
    (folder / "odf.yaml").write_text("datasets: {acme/parts: {schedule: '@daily'}}")
    dags = build_dags(folder, schedule={"not": "a schedule"})
    assert "cannot build the DAG of dataset com.acme.orders: " in dags["com.acme.orders"].doc_md
    assert dags["acme.parts"].task_ids == ["poll", "merge", "publish"]


def test_what_is_right_raises_nothing(folder):
    raise_manifest_errors(folder)


def test_example_manifests_are_valid():
    assert load([DAGS, *(DAGS / "by_hand").glob("*.yaml")]).problems == ()
