"""What operators believe of XComs, which users with the right role may write, and how long XComs get."""

import json

import pyarrow as pa
import pytest
from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException
from airflow.sdk import DAG

from airflow_provider_odf import (
    ContractTestOperator,
    MergeOperator,
    PollingSourceOperator,
    PublishOperator,
    multiformats,
)
from airflow_provider_odf.chain import schema as chain_schema
from airflow_provider_odf.chain.commit import Draft
from airflow_provider_odf.chain.replay import replay
from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.cycle import candidates
from airflow_provider_odf.cycle.messages import Candidate
from airflow_provider_odf.cycle.publish import publish as publish_candidate
from airflow_provider_odf.cycle.xcom import pass_candidate, receive_candidate, receive_input
from airflow_provider_odf.errors import CommitConflict, InvalidInput
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest import model
from airflow_provider_odf.protocol import CheckResult, ContractReport, OffsetInterval
from airflow_provider_odf.records import schema as schemas
from tests.manifests import appending

CONTRACT = """\
dataContractSpecification: 1.1.0
id: urn:orders
info: {title: Orders, version: 1.0.0}
models:
  orders:
    fields: {id: {type: bigint, required: true}}
"""


@pytest.fixture
def where(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.csv").write_text("1\n")
    for name in ("orders", "other"):
        (tmp_path / f"{name}.yaml").write_text(appending(name))
    return {"manifest": str(tmp_path / "orders.yaml"), "dataset": "orders", "store": str(tmp_path / "store")}


@pytest.fixture
def store(where):
    return Store.open(where["store"])


@pytest.fixture
def polled(where):
    return PollingSourceOperator(task_id="poll", **where).execute({})


@pytest.fixture
def dataset(polled, store):
    return store.dataset("orders")


def block(dataset, base, minute):
    """A block that follows on another one: it moves the source's state."""
    state = model.SourceState(source_name="default", kind="odf/etag", value=f"{minute}.csv")
    draft = Draft(dataset, replay(dataset, base))
    return draft.append(model.AddData(new_source_state=state), Instant.parse(f"2030-05-01T00:{minute:02}:00Z"))


def candidate(dataset, minute=1, ref=f"candidate-{1:016x}", base=None):
    base = base or dataset.head()
    made = Candidate("orders", base, block(dataset, base, minute), ref)
    dataset.storage.compare_and_set_ref(ref, None, made.candidate)
    return pass_candidate(made)


def publish(where, xcom):
    return PublishOperator(task_id="publish", candidate=xcom, **where).execute({})


def merge(where, xcom):
    return MergeOperator(task_id="merge", data=xcom, **where).execute({})


def everything(folder):
    return sorted((str(path), path.stat().st_size) for path in folder.rglob("*"))


def test_an_xcom_has_no_paths_and_its_input_lies_in_the_work_area(polled, store, tmp_path):
    assert str(tmp_path) not in json.dumps(polled)
    assert sorted(polled) == ["base", "dataset", "fileCount", "files", "hasMore", "input", "systemTime"]
    assert polled["files"] == [
        {"label": "in/1.csv", "eventTime": polled["systemTime"], "state": {"kind": "odf/etag", "value": "1.csv"}}
    ]
    (file,) = receive_input(store, polled, "orders").files
    assert file.paths == (str(store.work_area / "orders" / polled["input"] / "file-00000"),)


def test_xcoms_are_short_whatever_the_number_of_files(where, tmp_path, store):
    for index in range(300):
        (tmp_path / "in" / f"{index:03}-{'x' * 200}.csv").write_text("1\n")
    xcom = PollingSourceOperator(task_id="poll", **where).execute({})
    assert (xcom["fileCount"], len(xcom["files"])) == (301, 10)
    assert len(json.dumps(xcom)) < 10_000
    assert len(receive_input(store, xcom).files) == 301
    notices = tuple(f"{index}: {'y' * 1000}" for index in range(1000))
    merged = pass_candidate(Candidate("orders", "f00", "f01", "candidate-x", notices=notices))
    assert (len(merged["notices"]), merged["notices"][-1]) == (11, "and 990 more")
    assert len(json.dumps(merged)) < 10_000


@pytest.mark.parametrize(
    ("forged", "message"),
    [
        ({"directory": "/etc"}, "InputReference has no field 'directory'"),
        ({"files": [{"paths": ["/etc/passwd"], "label": "a", "eventTime": "2026-05-01T00:00:00Z"}]}, "field 'paths'"),
        ({"input": "../../victim"}, "'../../victim' is not the name of an input"),
        ({"input": "poll-0000000000000000"}, r"poll-0000000000000000 is not in the work area .* clear the task"),
        ({"input": 7}, "InputReference.input must be of type str, not int"),
        ({"files": "a"}, "InputReference.files must be a list, not str"),
        ({"dataset": "../other"}, "the XCom belongs to dataset ../other, but this task is for orders"),
        ({"dataset": "other"}, "the XCom belongs to dataset other, but this task is for orders"),
    ],
)
def test_a_forged_input_is_refused_and_nothing_is_touched(where, polled, tmp_path, forged, message):
    (tmp_path / "victim").mkdir()
    before = everything(tmp_path)
    with pytest.raises(AirflowFailException, match=message):
        merge(where, {**polled, **forged})
    assert everything(tmp_path) == before


def test_an_input_of_another_dataset_is_refused(where, polled, tmp_path):
    other = {**where, "manifest": str(tmp_path / "other.yaml"), "dataset": None}
    with pytest.raises(AirflowFailException, match="the XCom belongs to dataset orders, but this task is for other"):
        merge(other, polled)


def test_a_dataset_name_of_an_xcom_that_is_too_long_is_refused(polled, store):
    with pytest.raises(InvalidInput, match=r"^XCom: 'a{80}'… is too long for the name of a dataset: pass the XCom of"):
        receive_input(store, {**polled, "dataset": "a" * 5000})


def test_a_damaged_description_says_what_to_do(where, polled, store):
    path = store.scratch("orders") / f"{polled['input']}.json"
    path.write_text(path.read_text()[:50])
    with pytest.raises(AirflowFailException, match=r"\.json is damaged: clear the task that fetched it"):
        merge(where, polled)


def test_a_candidate_is_published_once(where, dataset):
    xcom = candidate(dataset)
    assert publish(where, xcom)["blockHash"] == xcom["candidate"]
    assert dataset.head() == xcom["candidate"]
    assert publish(where, xcom)["blockHash"] == xcom["candidate"]


def test_what_an_xcom_says_of_the_data_is_read_from_the_chain(where, dataset):
    xcom = candidate(dataset)
    event = publish(
        where, {**xcom, "records": 9, "offsets": {"start": 0, "end": 8}, "watermark": "2026-05-01T00:00:00Z"}
    )
    assert (event["records"], event["offsets"], event["watermark"]) == (0, None, None)


def test_head_never_goes_backwards_or_aside(where, dataset, store):
    first, second = dataset.head(), block(dataset, dataset.head(), 1)
    dataset.storage.compare_and_set_ref("head", first, second)
    aside, ref = block(dataset, first, 2), f"candidate-{7:016x}"
    for base, target in ((second, aside), (first, aside), (second, first)):
        forged = Candidate("orders", base, target, ref)
        dataset.storage.compare_and_set_ref(ref, None, target)
        with pytest.raises(AirflowFailException, match="is not a candidate"):
            publish(where, pass_candidate(forged))
        dataset.storage.compare_and_set_ref(ref, target, None)
    with pytest.raises(CommitConflict, match=f"{aside} is not based on the head {second}"):
        publish_candidate(store, Candidate("orders", second, aside, ref))
    assert dataset.head() == second


@pytest.mark.parametrize(
    ("forged", "message"),
    [
        ({"ref": "head"}, "'head' is not the ref of a candidate"),
        ({"ref": "rejected-0000000000000001"}, "is not the ref of a candidate"),
        ({"ref": "../refs/candidate-0000000000000001"}, "is not the ref of a candidate"),
        ({"candidate": "b"}, "'b' is not a block hash"),
        ({"base": "../b"}, "'../b' is not a block hash"),
        (
            {"candidate": "f1620" + "0" * 64},
            "is not a candidate: another writer published first, or the candidate was removed: clear",
        ),
        ({"ref": f"candidate-{2:016x}"}, "is not a candidate: another writer published first"),
        ({"dataset": "other"}, "the XCom belongs to dataset other, but this task is for orders"),
        ({"records": "9"}, "Candidate.records must be of type int, not str"),
        ({"records": True}, "Candidate.records must be of type int, not bool"),
        ({"offsets": [1]}, "OffsetInterval must be an object, not list"),
        ({"notices": [1]}, "Candidate.notices must be of type str, not int"),
    ],
)
def test_a_forged_candidate_is_refused(where, dataset, forged, message):
    xcom, head = candidate(dataset), dataset.head()
    with pytest.raises(AirflowFailException, match=message):
        publish(where, {**xcom, **forged})
    assert dataset.head() == head


def test_an_xcom_that_is_gone_names_the_task_to_clear(where, tmp_path):
    (tmp_path / "orders.datacontract.yaml").write_text(CONTRACT)
    with DAG("lost"):
        poll = PollingSourceOperator(task_id="poll", **where)
        merge = MergeOperator(task_id="merge", data=poll.output, **where)
        test = ContractTestOperator(task_id="contract_test", candidate=merge.output, **where)
        last = PublishOperator(task_id="publish", candidate=merge.output, **where)
        poll >> merge >> test >> last
    before = "merge and the tasks before it"
    for task, argument, made_by, advice in (
        (merge, "data", "poll", "poll"),
        (test, "candidate", "merge", before),
        (last, "candidate", "merge", before),
    ):
        ready = task.prepare_for_execution()
        setattr(ready, argument, None)
        said = f"^XCom: {argument} has none: task {made_by} left none, or it was deleted; clear {advice}$"
        with pytest.raises(AirflowFailException, match=said):
            ready.execute({})
    with pytest.raises(AirflowFailException, match="it was deleted; clear the task that makes it"):
        publish(where, None)


@pytest.mark.parametrize("xcom", ["candidate", ["a"], {}])
def test_an_xcom_of_another_form_is_refused(where, dataset, xcom):
    with pytest.raises(AirflowFailException, match="XCom: Candidate"):
        publish(where, xcom)


def test_a_rejected_candidate_is_not_published(where, dataset):
    xcom = candidate(dataset)
    dataset.storage.compare_and_set_ref(f"rejected-{1:016x}", None, xcom["candidate"])
    dataset.storage.compare_and_set_ref(xcom["ref"], xcom["candidate"], None)
    with pytest.raises(AirflowFailException, match="is not a candidate: it was rejected or held back; to inspect it"):
        publish(where, xcom)


def test_a_contract_test_reads_the_base_from_the_chain(where, dataset, tmp_path):
    """A forged base would leave blocks of the candidate untested."""
    (tmp_path / "orders.datacontract.yaml").write_text(CONTRACT)
    base, store = dataset.head(), Store.open(where["store"])
    middle = block(dataset, base, 1)
    xcom = candidate(dataset, 2, base=middle)
    test = ContractTestOperator(task_id="contract_test", candidate=xcom, **where)
    assert test.execute({}) is None
    assert receive_candidate(store, xcom, "orders").base == base
    with pytest.raises(AirflowException, match="is not a candidate"):
        ContractTestOperator(
            task_id="contract_test", candidate={**xcom, "candidate": base, "base": xcom["candidate"]}, **where
        ).execute({})


def test_offsets_survive_an_xcom():
    made = Candidate("orders", "f00", "f01", "candidate-x", 3, OffsetInterval(0, 2))
    assert pass_candidate(made)["offsets"] == {"start": 0, "end": 2}


def candidate_with_data(dataset):
    """A candidate of one record, as a merge makes it."""
    columns = [("offset", pa.int64()), ("op", pa.int32()), ("system_time", pa.timestamp("ms", "UTC"))]
    columns += [("event_time", pa.timestamp("ms", "UTC")), ("id", pa.int64())]
    schema = pa.schema([pa.field(name, kind, nullable=name == "id") for name, kind in columns])
    draft, time = Draft(dataset, replay(dataset)), Instant.parse("2030-05-01T00:00:00Z")
    draft.append(chain_schema.add_columns(None, schemas.encode(schema)), time)
    one = model.OffsetInterval(start=0, end=0)
    digest = multiformats.sha3_256(b"a slice")
    data = model.DataSlice(logical_hash="f9680c00120" + digest[5:], physical_hash=digest, offset_interval=one, size=1)
    block_hash = draft.append(model.AddData(new_data=data), time)
    made = Candidate("orders", dataset.head(), block_hash, f"candidate-{2:016x}", records=1)
    dataset.storage.compare_and_set_ref(made.ref, None, block_hash)
    return made


def test_what_no_contract_test_let_pass_is_not_published(where, store, dataset, tmp_path):
    made = candidate_with_data(dataset)
    (tmp_path / "orders.datacontract.yaml").write_text(CONTRACT)
    head = dataset.head()
    message = r"orders\.datacontract\.yaml was not tested on candidate-0{15}2 of orders: run the contract test first"
    with pytest.raises(AirflowFailException, match=message):
        publish(where, pass_candidate(made))
    (tmp_path / "orders.datacontract.yaml").write_text("models: edited since, and not valid")
    clause = CheckResult("required", "required", "fail", "id is required", "id", "error", failed_rows=1)
    candidates.save_report(dataset, made, ContractReport("urn:orders", "0" * 64, "orders", (clause,), 1))
    with pytest.raises(AirflowFailException, match="contract urn:orders rejected 1 record of orders: id is required"):
        publish(where, pass_candidate(made))
    assert (dataset.head(), dataset.head(made.ref)) == (head, None)
