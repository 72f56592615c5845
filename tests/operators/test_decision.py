"""Runs whose conf decides on a rejected candidate. A contract test again needs Spark: see tests/cycle."""

import re
from dataclasses import replace
from types import SimpleNamespace

import pyarrow as pa
import pytest
from airflow.providers.common.compat.sdk import AirflowFailException, AirflowSkipException

from airflow_provider_odf import ContractTestOperator, MergeOperator, PollingSourceOperator, PublishOperator
from airflow_provider_odf import PushSourceOperator as Push
from airflow_provider_odf.chain import publications
from airflow_provider_odf.chain.commit import Draft
from airflow_provider_odf.chain.replay import replay
from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.cycle import candidates, decisions
from airflow_provider_odf.cycle.candidates import Record
from airflow_provider_odf.cycle.xcom import pass_candidate
from airflow_provider_odf.manifest import model
from airflow_provider_odf.manifest.names import DatasetAlias
from airflow_provider_odf.protocol import CheckResult, ContractReport
from tests.chain.conftest import TIME, Growing
from tests.manifests import appending

CONTRACT = """\
dataContractSpecification: 1.1.0
id: urn:numbers
info: {title: Numbers, version: 1.0.0}
models:
  numbers:
    fields: {id: {type: bigint, maximum: 1}}
"""
REF = f"rejected-{7:016x}"


@pytest.fixture
def where(tmp_path):
    (tmp_path / "numbers.yaml").write_text(appending("numbers"))
    (tmp_path / "numbers.datacontract.yaml").write_text(CONTRACT)
    return {"manifest": str(tmp_path / "numbers.yaml"), "dataset": "numbers", "store": str(tmp_path / "store")}


@pytest.fixture
def growing(where):
    dataset = Store.open(where["store"]).create(DatasetAlias.parse("numbers"))
    growing = Growing(
        dataset, model.MergeStrategyAppend(), [pa.field("id", pa.int64()), pa.field("value", pa.string())]
    )
    growing.add(("+A", 1, "one"))
    return growing


@pytest.fixture
def rejection(growing):
    """A candidate of one record that its contract rejected."""
    return reject(growing)


def reject(growing, **facts):
    dataset, base = growing.dataset, growing.dataset.head()
    growing.add(("+A", 2, "two"))
    candidate = dataset.head()
    dataset.storage.compare_and_set_ref("head", candidate, base)
    dataset.storage.compare_and_set_ref(REF, None, candidate)
    failed = CheckResult("/a", "maximum", "fail", "id: <= 1", failed_rows=1, rows=2, offsets=(1,))
    report = ContractReport("urn:numbers", "d", "numbers", (failed,), tested_rows=2)
    candidates.save_record(dataset, candidate, Record(base, 1, report=report, **facts))
    return decisions.chosen(dataset, REF)


def run(**decision):
    return {"dag_run": SimpleNamespace(conf={"decision": {"dataset": "numbers", **decision}})}


def task_of(run_id):
    return SimpleNamespace(dag_id="numbers", run_id=run_id, task_id="publish", try_number=2)


def run_tasks(where, context):
    """The event of a run of the tasks that a DAG of a manifest has."""
    polled = PollingSourceOperator(task_id="poll", **where).execute(context)
    merged = MergeOperator(task_id="merge", data=polled, **where).execute(context)
    ContractTestOperator(task_id="contract_test", candidate=merged, **where).execute(context)
    return PublishOperator(task_id="publish", candidate=merged, **where).execute(context)


def test_a_run_publishes_a_rejected_candidate(where, growing, rejection):
    dataset = growing.dataset
    merged = MergeOperator(task_id="merge", data={}, **where).execute(run(publish=rejection.block_hash))
    with pytest.raises(AirflowFailException, match="was rejected or held back"):
        PublishOperator(task_id="publish", candidate=merged, **where).execute({})
    event = run_tasks(where, run(publish=rejection.block_hash))
    assert (event["blockHash"], event["records"], event["offsets"]) == (rejection.block_hash, 1, {"start": 1, "end": 1})
    assert dataset.head() == rejection.block_hash
    assert [ref for ref in dataset.storage.refs() if ref != "head"] == []


def test_tasks_that_are_cleared_after_a_publication_say_who_published(where, growing, rejection, capfd):
    """Those of the run whose candidate was rejected, those of the run that published it, and those of one more."""
    dataset, block = growing.dataset, rejection.block_hash
    candidate = pass_candidate(candidates.rejected_candidate(dataset, rejection))
    digest = ContractTestOperator(task_id="contract_test", candidate=candidate, **where).cycle.contract.digest
    record = candidates.load_record(dataset, block)
    candidates.save_record(dataset, block, replace(record, report=replace(record.report, digest=digest)))
    context = run(publish=block, reason="refunds")
    context["dag_run"].triggering_user_name, context["ti"] = "ann", task_of("decision_1")
    event = run_tasks(where, context)
    growing.draft = Draft(dataset, replay(dataset))
    growing.append(model.SetInfo(description="newer"))
    head, earlier = dataset.head(), f"published already as block {block} at "
    by_whom = ", published anyway, by ann, numbers/decision_1: refunds"

    for conf in ({}, context):
        capfd.readouterr()
        ContractTestOperator(task_id="contract_test", candidate=candidate, **where).execute(conf)
        assert PublishOperator(task_id="publish", candidate=candidate, **where).execute(conf) == event
        tested, published = [line for line in capfd.readouterr().out.splitlines() if earlier in line]
        assert by_whom in tested
        assert re.search(f" numbers: {earlier}.*{by_whom}", published)
    with pytest.raises(AirflowSkipException, match=f"the candidate was {earlier}.*{by_whom}"):
        run_tasks(where, run(publish=block))
    assert dataset.storage.targets("") == {"head": head}
    assert len(publications.published_history(dataset, "head").entries) == 1


def test_a_publication_is_recorded_with_its_run_the_user_and_the_reason(where, growing, rejection):
    context = run(publish=rejection.block_hash, reason=" refunds; token=s3cret ")
    context["dag_run"].triggering_user_name = "ann"
    context["ti"] = task_of("decision_1")
    run_tasks(where, context)
    ((entry, publication),) = publications.newest(publications.published_history(growing.dataset, "head"), 5)
    assert entry.block_hash == rejection.block_hash
    assert publication.decision == "published anyway"
    assert (publication.author.who, publication.author.reason) == ("ann", "refunds; token=***")
    assert publication.author.run == {
        "dagId": "numbers",
        "runId": "decision_1",
        "taskId": "publish",
        "tryNumber": "2",
    }


def test_a_reason_that_is_too_long_is_refused(where, rejection):
    with pytest.raises(AirflowFailException, match="the reason has 2001 characters, but at most 2000 are allowed"):
        PollingSourceOperator(task_id="poll", **where).execute(run(publish=rejection.block_hash, reason="x" * 2001))


def test_what_is_pushed_is_published_without_a_push(where, rejection):
    xcom = Push(task_id="push", **where).execute(run(publish=rejection.block_hash))
    assert (xcom["candidate"], xcom["sourceName"]) == (rejection.block_hash, None)


def test_a_run_with_another_decision_does_not_publish_it(where, growing, rejection):
    other = reject_on_top(growing)
    merged = MergeOperator(task_id="merge", data={}, **where).execute(run(publish=rejection.block_hash))
    with pytest.raises(AirflowFailException, match="was rejected or held back"):
        PublishOperator(task_id="publish", candidate=merged, **where).execute(run(publish=other))


def reject_on_top(growing):
    block_hash = growing.draft.append(model.SetInfo(description="x"), TIME)
    growing.dataset.storage.compare_and_set_ref(f"rejected-{8:016x}", None, block_hash)
    return block_hash


def test_a_decision_on_an_old_head_is_kept(where, growing):
    rejection = reject(growing, content="abcdef")
    moved = Growing.__new__(Growing)
    moved.dataset, moved.schema = growing.dataset, growing.schema
    moved.draft = Draft(growing.dataset, replay(growing.dataset))
    moved.append(model.SetInfo(description="x"))
    assert decisions.carry_out(growing.dataset, decisions.Decision("publish", rejection.block_hash)) is None
    assert growing.dataset.head("accepted-abcdef") == rejection.block_hash
    with pytest.raises(AirflowFailException, match="is not based on the current head of numbers: run the dataset"):
        run_tasks(where, run(retest=rejection.block_hash))


def test_decisions_that_cannot_be_carried_out(where, growing, rejection):
    before = growing.dataset.storage.refs()
    missing = "f1620" + 64 * "0"
    for conf, message in (
        ({"publish": missing}, f"has no rejected candidate {missing}"),
        ({"publish": "../x"}, "'../x' is not the hash of a block"),
        ({"publish": missing, "retest": missing}, "decision is not valid: write it as"),
        ({"release": missing}, "decision is not valid: write it as"),
    ):
        with pytest.raises(AirflowFailException, match=message):
            PollingSourceOperator(task_id="poll", **where).execute(run(**conf))
    decisions.discard(growing.dataset, rejection)
    with pytest.raises(AirflowFailException, match="was discarded: to publish it all the same, run `odf rej"):
        PollingSourceOperator(task_id="poll", **where).execute(run(publish=rejection.block_hash))
    assert growing.dataset.storage.refs() == before


def test_a_decision_on_another_dataset_is_not_for_this_task(where, rejection):
    with pytest.raises(AirflowFailException, match="column value STRING of the dataset is missing"):  # it polls
        PollingSourceOperator(task_id="poll", **where).execute(run(publish=rejection.block_hash, dataset="other"))


def test_what_was_held_back_is_not_tested_again(where, growing):
    rejection = reject(growing, held=("no rows",))
    with pytest.raises(AirflowFailException, match="was held back, not rejected by a contract: publish or discard it"):
        PollingSourceOperator(task_id="poll", **where).execute(run(retest=rejection.block_hash))
