"""What the operator takes from a run's conf, and hands on."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException, AirflowSkipException, ParamValidationError

from airflow_provider_odf import PushSourceOperator
from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.cycle.messages import Pushed
from airflow_provider_odf.cycle.push import Push
from airflow_provider_odf.cycle.xcom import receive_input
from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.operators.push_source import conf_params, push_id, push_of
from tests.manifests import push, snapshot

MANIFEST = snapshot("scans", push("{kind: NdJson}", source="scanner"), push("{kind: Csv}", source="depot"))


@pytest.fixture
def where(tmp_path, monkeypatch):
    (tmp_path / "scans.yaml").write_text(MANIFEST)
    monkeypatch.setenv("AIRFLOW__ODF__PUSH_PATHS", "*")
    return {"task_id": "push", "manifest": str(tmp_path / "scans.yaml"), "store": str(tmp_path / "store")}


def run(conf=None, run_id="manual__1", map_index=-1):
    """The context of a task in a run with a conf."""
    task = SimpleNamespace(dag_id="scans", run_id=run_id, task_id="push", map_index=map_index)
    return {"dag_run": SimpleNamespace(conf=conf), "ti": task}


def test_records_of_the_conf_never_come_into_the_xcom(where):
    conf = {"records": [{"parcel": "P-1001"}], "source": "scanner", "file": None}
    found = PushSourceOperator(**where).execute(run(conf))
    (file,) = found["files"]
    polled = receive_input(Store.open(where["store"]), found)
    assert Path(polled.files[0].paths[0]).read_text() == '{"parcel": "P-1001"}\n'
    assert (found["dataset"], found["sourceName"], polled.pushed) == ("scans", "scanner", Pushed(is_records=True))
    assert "P-1001" not in json.dumps(found)
    assert file["state"]["kind"] == "odf/push-id"
    assert file["state"]["value"].startswith("scans/manual__1/push f1620")


@pytest.mark.parametrize("key", ["file", "uri"])
def test_a_file_of_the_conf_is_copied(where, tmp_path, key):
    (tmp_path / "a b.csv").write_text("P-1001\n")
    given = str(tmp_path / "a b.csv") if key == "file" else (tmp_path / "a b.csv").as_uri()
    operator = PushSourceOperator(**where, source_name="depot")
    found = operator.execute(run({key: given}))
    (path,) = receive_input(Store.open(where["store"]), found).files[0].paths
    (tmp_path / "a b.csv").unlink()
    assert Path(path).read_text() == "P-1001\n"
    (source,) = operator.task_lineage().inputs
    assert (source.namespace, source.name) == ("file", str(tmp_path / "a b.csv"))


def test_records_have_no_input_in_lineage(where):
    operator = PushSourceOperator(**where, source_name="scanner", data=[{"parcel": "P-1001"}])
    operator.execute(run())
    assert operator.task_lineage().inputs == ()


@pytest.mark.parametrize(
    ("conf", "message"),
    [
        (None, 'conf has nothing to push: set one of file, uri, records, as in {"file": "/data/new.csv"}'),
        ({"file": "/a", "records": [{}]}, "conf has file and records: set one of"),
        ({"fiel": "/a"}, "conf: unknown key fiel: use file, uri, records, source, media_type, event_time"),
        ({"file": 1}, "conf: file is not a path that workers can read: 1"),
        ({"records": {"a": 1}}, "conf: records is not a list of objects, but of type dict"),
        ({"records": [1], "source": "scanner"}, "records[0] is not an object: 1"),
        (
            {"file": "/no/such"},
            "the dataset has the push sources scanner, depot: name one (`--source`, or `source` in the conf)",
        ),
        ({"file": "/no/such", "source": "depot"}, "/no/such: no such file"),
        (
            {"file": "/no/such", "event_time": "soon"},
            "conf: event_time is not a time like 2026-05-01T00:00:00Z: 'soon'",
        ),
    ],
)
def test_a_conf_that_says_nothing_sensible_fails_without_a_retry(where, conf, message):
    with pytest.raises(AirflowFailException) as refused:
        PushSourceOperator(**where).execute(run(conf))
    assert message in str(refused.value)


def test_an_error_of_a_url_has_no_secret(where, server):
    url = server.url.replace("http://", "http://me:passw0rd@") + "/no.csv?sig=s3cr3t"
    with pytest.raises(AirflowFailException) as refused:
        PushSourceOperator(**where, source_name="depot").execute(run({"uri": url}))
    assert str(refused.value).startswith(f"{server.url}/no.csv?***: not found")


def test_a_source_of_the_conf_counts_more():
    conf = {"uri": "https://example.org/a.csv", "source": "depot", "event_time": "2026-05-01T00:00:00Z"}
    assert push_of(conf, "scanner", "id") == Push(
        ("https://example.org/a.csv",),
        source_name="depot",
        event_time=Instant.parse("2026-05-01T00:00:00Z"),
        push_id="id",
    )
    with pytest.raises(InvalidInput, match="has nothing to push"):
        push_of({"source": "depot"})


@pytest.mark.parametrize(
    ("data", "conf"),
    [
        ("/a.csv", {"uri": "/a.csv"}),
        (["/a.csv", "/b.csv"], {"uri": ["/a.csv", "/b.csv"]}),
        ([{"a": 1}], {"records": [{"a": 1}]}),
        ([], {"records": []}),
        ({"file": "/a.csv"}, {"file": "/a.csv"}),
    ],
)
def test_data_in_the_form_of_a_conf(data, conf):
    assert PushSourceOperator(task_id="push", data=data)._conf({}) == conf


def test_a_push_id_names_the_task_of_the_run():
    assert push_id(run()) == "scans/manual__1/push"
    assert push_id(run(map_index=0)) == "scans/manual__1/push[0]"
    assert push_id({}) is None


def test_the_params_name_the_source_that_is_meant():
    assert conf_params(["only"])["source"].value == "only"
    assert conf_params(["a", "default"])["source"].value == "default"


def test_a_run_must_say_which_of_several_sources_is_meant():
    several = conf_params(["a", "b"])["source"]
    assert several.schema["enum"] == ["a", "b"]
    with pytest.raises(ParamValidationError, match="No value passed"):
        several.resolve()
    with pytest.raises(ParamValidationError, match="None is not of type 'string'"):
        several.resolve(None)
    assert several.resolve("b") == "b"


def test_an_empty_list_beside_a_file_is_nothing():
    assert push_of({"file": "/a.csv", "records": []}).uris == ("/a.csv",)
    assert push_of({"records": []}).records == []


def test_it_needs_a_dataset():
    with pytest.raises(AirflowFailException, match="PushSourceOperator needs dataset= or manifest="):
        PushSourceOperator(task_id="push", data=[], store="/nowhere").execute(run())


def test_templated_fields():
    assert PushSourceOperator.template_fields == ("dataset", "manifest", "store", "contract", "data", "source_name")


def test_what_the_chain_has_already_skips(where):
    from airflow_provider_odf.chain.commit import Draft
    from airflow_provider_odf.chain.replay import replay
    from airflow_provider_odf.manifest import model

    context = run({"records": [], "source": "scanner"})
    (file,) = PushSourceOperator(**where).execute(context)["files"]
    dataset = Store.open(where["store"]).dataset("scans")
    draft = Draft(dataset, replay(dataset))
    head = draft.append(
        model.AddData(new_source_state=model.SourceState(source_name="scanner", **file["state"])), Instant.now()
    )
    dataset.storage.compare_and_set_ref("head", dataset.head(), head)
    with pytest.raises(AirflowSkipException, match=r"the same content was already pushed \(block 3\)"):
        PushSourceOperator(**where).execute(context)
    assert PushSourceOperator(**where).execute(run({"records": [], "source": "scanner"}, run_id="manual__2"))
