"""Pages of rejected candidates: what they show, and who may decide what."""

import re
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pytest

from airflow_provider_odf.author import Author
from airflow_provider_odf.cycle import candidates, decisions
from airflow_provider_odf.manifest import model
from airflow_provider_odf.manifest.names import DatasetAlias
from tests.chain.conftest import Growing

from .rejecting import publish, reject
from .shown import health_of, shown

PAGE = "/datasets/acme.numbers"
COLUMNS = (pa.field("id", pa.int64()), pa.field("value", pa.string()))
ROWS = (("-C", 1, "one"), ("+C", 1, "secret"), ("+A", 3, "<script>three"))


@pytest.fixture
def numbers(store):
    return Growing(store.create(DatasetAlias.parse("acme/numbers")), model.MergeStrategyAppend(), COLUMNS)


@pytest.fixture
def rejection(numbers, no_runs):
    publish(numbers, ("+A", 1, "one"))
    return reject(numbers, *ROWS)


@pytest.fixture
def no_runs(airflow_server):
    """No runs of the DAG, before and after the test."""
    from airflow.models.dagrun import DagRun
    from airflow.utils.session import create_session

    def clear():
        with create_session() as session:
            session.query(DagRun).filter(DagRun.dag_id == "acme.numbers").delete()

    clear()
    yield
    clear()


def token_of(page):
    return re.search(r'name="token" value="([^"]+)"', page.text)[1]


@pytest.fixture
def decide(open_page, send_form):
    """Send a form of the page of a candidate, with its token, as a user."""

    def decide(rejection, action, role="user", token=None):
        path = f"{PAGE}/rejected/{rejection.block_hash}"
        fields = {"token": token or token_of(open_page(path, role)), "reason": "checked <b>", "confirmed": "yes"}
        return send_form(f"{path}/{action}", fields, role)

    return decide


def runs(open_api):
    """The runs of the DAG."""
    entries = open_api("/dags/acme.numbers/dagRuns").json()["dag_runs"]
    return {run["dag_run_id"]: (run["conf"], run["state"], run["triggering_user_name"]) for run in entries}


def conf(action, rejection):
    return {"decision": {"dataset": "acme/numbers", action: rejection.block_hash, "reason": "checked <b>"}}


def test_a_candidate_with_its_clauses_rows_and_difference(open_page, rejection):
    listed = shown(open_page(f"{PAGE}/rejected"))
    start = listed.lines.index(rejection.block_hash[:13])
    assert listed.lines[start + 2 : start + 5] == ["3", "id: <= 2: 1 row", "waiting"]
    page = shown(open_page(listed.links[rejection.block_hash[:13]].removeprefix("/odf"), role="user"))
    assert "It failed its contract and was not published. waiting" in page.lines
    assert page.after("Starts when published") == "acme.sums, daily_report"
    assert (
        page.lines.index("Failing rows")
        < page.lines.index("Decide")
        < page.lines.index("Difference to the current state")
    )
    assert page.after("Clauses") == "1 failed, 1 passed, 1 not enforced"
    assert page.after("failed id: <= 2") == "Expected"
    assert page.after("Failing") == "1 row of 3"
    start = page.lines.index("failed clauses")
    assert page.lines[start - 6 : start] == ["offset", "op", "system_time", "event_time", "id", "value"]
    assert page.lines[start + 1 : start + 3] == ["3", "+A"]
    assert page.lines[start + 5 : start + 8] == ["3", "***", "id: <= 2"]
    start = page.lines.index("Difference to the current state")
    assert page.lines[start + 1] == "+A 1 added, -C 1 corrected from, +C 1 corrected to"
    assert [line for line in page.lines[start:] if line in ("+A", "-C", "+C")] == ["-C", "+C", "+A"]
    assert "secret" not in str(page.lines)
    assert page.lines.count("***") == 5
    assert page.lines[-1] == "/id in line 3 of the contract"
    assert "ids are plausible" in page.lines
    for button in ("Test again", "Publish anyway", "Discard"):
        assert button in page.lines


def test_a_run_publishes_it_once(open_page, open_api, decide, rejection):
    tokens = {role: token_of(open_page(f"{PAGE}/rejected/{rejection.block_hash}", role)) for role in ("user", "op")}

    def publish(role):
        answer = decide(rejection, "publish", role, tokens[role])
        # In SQLite, Airflow's log of actions may wait for the transaction of the other one, and give up after 5 s.
        return decide(rejection, "publish", role, tokens[role]) if answer.status_code == 500 else answer

    with ThreadPoolExecutor() as pool:
        answers = list(pool.map(publish, tokens))
    assert sorted(answer.status_code for answer in answers) == [303, 409]
    lost = shown(next(answer for answer in answers if answer.status_code == 409), 409)
    assert lost.lines[0] == "This was decided before"
    name = f"decision_{rejection.block_hash[-16:]}_publish"
    ((run_id, run),) = runs(open_api).items()
    assert (run_id, run[:2]) == (name, (conf("publish", rejection), "queued"))
    assert run[2] in ("a user", "a op")
    page = shown(open_page(f"{PAGE}/rejected/{rejection.block_hash}", role="user"))
    assert page.links[name] == f"/dags/acme.numbers/runs/{name}"
    assert "Decide" not in page.lines
    assert any("The DAG is paused: unpause it, so that the run starts." in line for line in page.lines)
    for action in ("discard", "retest"):
        refused = shown(decide(rejection, action, token=tokens["user"]), 409)
        assert refused.lines[2].endswith(f"has decided: run {name} is queued.")
    logged = open_api("/eventLogs?dag_id=acme.numbers", role="admin").json()["event_logs"]
    assert [e["owner"] for e in logged if e["event"] == "trigger_dag_run" and name in e["extra"]] in (
        *(["a user", "a op"], ["a op", "a user"]),
        *(["a user"], ["a op"]),
    )


def test_a_run_tests_it_again(open_api, decide, rejection):
    answer = decide(rejection, "retest")
    assert answer.status_code == 303
    assert answer.headers["location"] == f"/odf{PAGE}/rejected/{rejection.block_hash}"
    ((run_id, run),) = runs(open_api).items()
    assert run_id.startswith(f"decision_{rejection.block_hash[-16:]}_retest_20")
    assert run == (conf("retest", rejection), "queued", "a user")


def test_discarding_changes_its_record_and_is_logged(open_page, open_api, decide, numbers, rejection):
    token = token_of(open_page(f"{PAGE}/rejected/{rejection.block_hash}", "user"))
    path = "/eventLogs?dag_id=acme.numbers&event=discard_rejected_candidate&order_by=-event_log_id"
    before = open_api(path, role="admin").json()["total_entries"]
    assert decide(rejection, "discard").status_code == 303
    assert decisions.chosen(numbers.dataset, rejection.ref).record.is_discarded
    assert runs(open_api) == {}
    log = open_api(path, role="admin").json()
    entry = log["event_logs"][0]
    assert (log["total_entries"], entry["owner"]) == (before + 1, "a user")
    assert rejection.block_hash in entry["extra"]
    assert "It failed its contract and was not published. discarded" in (
        shown(open_page(f"{PAGE}/rejected/{rejection.block_hash}")).lines
    )
    for action in ("publish", "retest", "discard"):
        refused = shown(decide(rejection, action, token=token), 409)
        assert refused.lines[2] == "Somebody has discarded this candidate."
    assert runs(open_api) == {}


@pytest.mark.parametrize("action", ["publish", "retest", "discard"])
def test_users_without_the_right_do_nothing(open_page, open_api, decide, send_form, numbers, rejection, action):
    path = f"{PAGE}/rejected/{rejection.block_hash}"
    page = shown(open_page(path))
    assert "A decision needs the right to trigger the DAG." in page.lines
    assert "button" not in page.elements
    token = token_of(open_page(path, "user"))
    refused = shown(send_form(f"{path}/{action}", {"token": token}, "viewer"), 403)
    assert refused.lines[0] == "You may not do this"
    assert shown(send_form(f"{path}/{action}", {"token": token}, None), 403).lines[0] == "You may not do this"
    assert send_form(f"{path}/{action}", {"token": token}, "nobody").status_code == 401
    for wrong in ({}, {"token": token[:-2]}, {"token": token_of(open_page(path, "op"))}):
        problem = shown(send_form(f"{path}/{action}", wrong, "user"), 400)
        assert problem.lines[0] == "Nothing was decided"
        assert problem.lines[2].startswith("The form is too old, or was not made for you")
    assert runs(open_api) == {}
    assert decisions.chosen(numbers.dataset, rejection.ref) == rejection


def test_a_candidate_on_an_old_head(open_page, open_api, decide, numbers, rejection):
    publish(numbers, ("+A", 2, "two"))
    path = f"{PAGE}/rejected/{rejection.block_hash}"
    page = shown(open_page(path, "user"))
    assert "none needed: the head has moved since" in str(page.lines)
    assert any(line.startswith("The head of the dataset has moved since, so this candidate") for line in page.lines)
    assert not {"Test again", "Discard"} & set(page.lines)
    for action, message in (("discard", "is superseded"), ("retest", "is not based on the current head")):
        problem = shown(decide(rejection, action), 400)
        assert problem.lines[0] == "Nothing was decided"
        assert message in problem.lines[2]
    assert runs(open_api) == {}
    assert decide(rejection, "publish").status_code == 303
    assert len(runs(open_api)) == 1


def test_a_candidate_that_is_published(open_page, decide, numbers, rejection, store):
    token = token_of(open_page(f"{PAGE}/rejected/{rejection.block_hash}", "user"))
    decisions.publish_anyway(store, numbers.dataset, rejection)
    moved = open_page(f"{PAGE}/rejected/{rejection.block_hash}", follow_redirects=False)
    assert moved.headers["location"] == f"/odf{PAGE}/contract/{rejection.block_hash}"
    nothing = "No candidate is rejected. Contract has those that were published anyway."
    assert nothing in shown(open_page(f"{PAGE}/rejected")).lines
    for action in ("publish", "retest", "discard"):
        refused = shown(decide(rejection, action, token=token), 409)
        assert refused.lines[2] == "This candidate is published: nothing is left to decide."


def test_an_input_that_was_held_back(open_page, decide, numbers, no_runs):
    publish(numbers, ("+A", 1, "one"))
    held = reject(numbers, ("-R", 1, "one"), held=("in.csv has no rows",))
    page = shown(open_page(f"{PAGE}/rejected/{held.block_hash}", "user"))
    assert "Its input was held back and not published. waiting" in page.lines
    assert "in.csv has no rows" in page.lines
    assert "Test again" not in page.lines
    problem = shown(decide(held, "retest"), 400)
    assert "was held back, not rejected by a contract" in problem.lines[2]


def test_what_is_not_there(open_page, numbers):
    publish(numbers, ("+A", 1, "one"))
    missing = "f1620" + 64 * "0"
    assert "has no rejected candidate" in shown(open_page(f"{PAGE}/rejected/{missing}"), 404).lines[2]
    assert "is not the hash of a block" in shown(open_page(f"{PAGE}/rejected/nothing"), 400).lines[2]


def test_a_store_that_cannot_be_written(decide, numbers, rejection, monkeypatch):
    def full(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(decisions, "discard", full)  # root may write to any folder
    problem = shown(decide(rejection, "discard"), 503)
    assert problem.lines[2] == (
        "The API server cannot write to the store. Where that is allowed, run: "
        f"odf rejected discard acme/numbers {rejection.ref} --store STORE"
    )
    assert not candidates.load_record(numbers.dataset, rejection.block_hash).is_discarded


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"confirmed": "yes"}, "a decision needs a reason: write why, for those who look later"),
        ({"confirmed": "yes", "reason": " \n"}, "a decision needs a reason: write why, for those who look later"),
        ({"reason": "checked"}, "the decision is not confirmed: check the box beside its button"),
    ],
)
@pytest.mark.parametrize("action", ["publish", "retest", "discard"])
def test_a_decision_needs_a_reason_and_a_confirmation(
    open_page, open_api, send_form, numbers, rejection, action, fields, message
):
    path = f"{PAGE}/rejected/{rejection.block_hash}"
    problem = shown(send_form(f"{path}/{action}", {"token": token_of(open_page(path, "user")), **fields}), 400)
    assert problem.lines[0] == "Nothing was decided"
    assert problem.lines[2] == message
    assert runs(open_api) == {}
    assert decisions.chosen(numbers.dataset, rejection.ref) == rejection


def health_words(open_page):
    """The health on the page of the dataset, with its reason, and in the catalog."""
    overview, listed = shown(open_page(PAGE, "user")), shown(open_page("/datasets?name=acme/numbers", "user"))
    word = overview.lines[1].removeprefix("acme/numbers ")
    return word, overview.lines[3], health_of(listed, "acme/numbers")


def test_health_right_after_a_decision(airflow_server, as_user, open_page, decide, rejection, no_runs):
    path = "/api/v2/dags/acme.numbers/dagRuns"
    airflow_server.post(path, json={"dag_run_id": "merged", "logical_date": None}, headers=as_user("user"))
    airflow_server.patch(f"{path}/merged", json={"state": "failed"}, headers=as_user("user"))
    waiting = "New data was not published: 1 candidate waiting for a decision."
    assert health_words(open_page) == ("rejected", waiting, "rejected")
    assert decide(rejection, "discard").status_code == 303
    discarded = "The DAG is paused: no run looks for new data."
    assert health_words(open_page) == ("stale", discarded, "stale")


def test_health_while_a_run_carries_out_a_decision(open_page, decide, rejection):
    assert decide(rejection, "publish").status_code == 303
    run = f"decision_{rejection.block_hash[-16:]}_publish"
    reason = f"New data was not published: run {run} carries out the decision on it."
    assert health_words(open_page) == ("rejected", reason, "rejected")


def test_who_decided_when_and_why(open_page, decide, numbers, rejection, store):
    decide(rejection, "publish")
    page = shown(open_page(f"{PAGE}/rejected/{rejection.block_hash}", "user"))
    start = page.lines.index("Publish anyway", page.lines.index("Decisions"))
    assert page.lines[start : start + 3] == ["Publish anyway", "a user", "checked <b>"]
    author = Author("ann", "refunds", {"dagId": "acme.numbers", "runId": "by_hand"}, "2026-05-01T12:00:00Z")
    decisions.publish_anyway(store, numbers.dataset, rejection, author)
    report = shown(open_page(f"{PAGE}/contract/{rejection.block_hash}"))
    (line,) = [line for line in report.lines if line.startswith("published anyway")]
    assert line.startswith("published anyway by ann 2026-05-01 12:00:00 UTC ")
    assert line.endswith(": refunds")
    contract = shown(open_page(f"{PAGE}/contract"))
    start = contract.lines.index("Decisions")
    assert contract.lines[start + 4 : start + 6] == [rejection.block_hash[:13], "published anyway"]
    assert contract.lines[start + 6].endswith(": refunds")


def test_a_discarded_candidate_in_the_list(open_page, decide, rejection):
    decide(rejection, "discard")
    listed = shown(open_page(f"{PAGE}/rejected"))
    (line,) = [line for line in listed.lines if line.startswith("discarded")]
    assert line.startswith("discarded by a user 20")
    assert line.endswith((" ago: checked <b>", " now: checked <b>"))


def test_all_candidates_that_wait(open_page, decide, rejection):
    page = shown(open_page("/candidates"))
    start = page.lines.index("acme/numbers")
    assert page.lines[start : start + 2] == ["acme/numbers", rejection.block_hash[:13]]
    assert page.lines[start + 3 : start + 5] == ["3", "id: <= 2: 1 row"]
    assert page.links[rejection.block_hash[:13]] == f"/odf{PAGE}/rejected/{rejection.block_hash}"
    assert re.fullmatch(r"Of \d+ datasets that you may read. Times are in UTC.", page.lines[-1])
    assert shown(open_page("/datasets")).links["Rejected data that waits for a decision"] == "/odf/candidates"
    decide(rejection, "discard")
    assert "Nothing waits for a decision." in shown(open_page("/candidates")).lines


def test_only_who_may_read_dags_sees_what_waits(open_page):
    assert open_page("/candidates", "nobody").status_code == 401
