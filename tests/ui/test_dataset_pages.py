import os
import shutil
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest

from airflow_provider_odf.author import Author
from airflow_provider_odf.chain import publications
from airflow_provider_odf.chain.publications import Publication
from airflow_provider_odf.contract.terms import ColumnTerms
from airflow_provider_odf.cycle.candidates import Record, load_record, save_record, save_report
from airflow_provider_odf.cycle.messages import Candidate
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest import model
from airflow_provider_odf.manifest.names import DatasetAlias
from airflow_provider_odf.protocol import CheckResult, ContractReport
from tests.chain.conftest import MOMENT, TIME, Growing

from .rejecting import publish, reject
from .shown import shown

PAGE = "/datasets/acme.numbers"
COLUMNS = (pa.field("id", pa.int64()), pa.field("value", pa.string()))


@pytest.fixture
def numbers(store):
    return Growing(store.create(DatasetAlias.parse("acme/numbers")), model.MergeStrategyAppend(), COLUMNS)


@pytest.fixture
def keyed(store):
    merge = model.MergeStrategySnapshot(primary_key=["id"])
    return Growing(store.create(DatasetAlias.parse("acme/numbers")), merge, COLUMNS)


def test_a_dataset_at_a_glance(open_page, numbers):
    numbers.append(model.SetInfo(description="Numbers <b>&", keywords=["prime", "odd"]))
    numbers.append(model.SetLicense(short_name="CC0", name="Public domain", website_url="https://example.org"))
    numbers.add(("+A", 1, "one"), ("+A", 2, "two"))
    head = numbers.dataset.head()
    report = ContractReport("urn:numbers", "d", "numbers", (CheckResult("/a", "required", "pass", "id"),))
    save_report(numbers.dataset, Candidate("acme/numbers", "base", head, "candidate-x", records=2), report)
    page = shown(open_page(PAGE))
    assert page.after("In OpenLineage") == f"file {numbers.dataset.uri.removeprefix('file://')}"
    assert page.lines[:5] == [
        *[
            "acme/numbers",
            "acme/numbers stale",
            "All datasets Overview Data Columns Blocks Publications Contract Rejected Completeness Trends Lineage",
        ],
        *["The DAG is paused: no run looks for new data.", "Numbers <b>&"],
    ]
    assert page.after("Last publication").startswith("2024-05-02 08:00:00 UTC ")
    assert page.after("Last publication").endswith(" years ago the time of its block: no publication is recorded")
    assert page.after("Watermark: no older rows are expected").startswith("2024-05-02 08:00:00 UTC ")
    assert page.after("Rows now") == "2 of 2 records in the history"
    assert page.after("Contract of the published data") == "passed Report of the last publication"
    assert page.after("Next run") == "the DAG is paused"
    assert page.after("Newest run") == "none"
    start = page.lines.index("Columns")
    assert page.lines[start + 6 : start + 9] == ["id", "BIGINT", "may be null"]
    assert page.lines[start + 9 : start + 12] == ["value", "STRING", "may be null"]
    start = page.lines.index("offset", start)
    assert page.lines[start : start + 5] == ["offset", "BIGINT", "never", "number of the record", "system"]
    assert page.after("Keywords") == "prime, odd"
    assert page.after("License") == "Public domain"
    assert page.after("Source") == "file:///x.csv → Csv"
    assert page.after("Derivatives") == "acme.sums"
    assert page.after("Other DAGs") == "daily_report start when this dataset changes"
    assert page.links["daily_report"] == "/dags/daily_report"
    assert page.links["6 blocks"] == f"/odf{PAGE}/blocks"
    assert page.links[head[:13]] == f"/odf{PAGE}/blocks/{head}"


def test_what_the_contract_says_of_columns(open_page, numbers):
    numbers.append(model.SetInfo(description="Odd numbers", keywords=["maths"]))
    head = publish(numbers, ("+A", 1, "one"))
    record = load_record(numbers.dataset, head)
    columns = {
        "id": ColumnTerms("Number", "Which <b>number</b> it is.", is_required=True, is_unique=True, tags=("ident",)),
        "value": ColumnTerms(description="Its name.", classification="restricted, pii"),
    }
    save_record(numbers.dataset, head, replace(record, columns=columns))
    page = shown(open_page(PAGE))
    start = page.lines.index("id", page.lines.index("Meaning"))
    assert page.lines[start : start + 5] == [
        "id",
        "BIGINT",
        "never",
        "Number Which <b>number</b> it is.",
        "unique ident",
    ]
    assert page.lines[start + 5 : start + 10] == ["value", "STRING", "may be null", "Its name.", "restricted, pii"]
    assert page.after("Owner") == "Ann <b>"
    assert page.after("Usage") == "Reports"
    listed = shown(open_page("/datasets"))
    start = listed.lines.index("acme/numbers")
    assert listed.lines[start + 1 : start + 3] == ["Odd numbers Owner: Ann <b>", "stale"]
    for words in ("numb", "ODD maths", "ident", "restricted", "ann", "value", "acme which"):
        assert "acme/numbers" in shown(open_page(f"/datasets?q={words}")).lines, words
    for words in ("nothing", "odd nothing"):
        assert "No dataset matches the search." in shown(open_page(f"/datasets?q={words}")).lines, words


def test_rows_now_and_records(open_page, keyed):
    keyed.add(("+A", 1, "one"), ("+A", 2, "two"), ("-C", 1, "one"), ("+C", 1, "uno"), ("-R", 2, "two"))
    assert shown(open_page(PAGE)).after("Rows now") == "1 of 5 records in the history"


def test_rows_of_a_changelog_are_not_counted_by_operations(open_page, store):
    merge = model.MergeStrategyChangelogStream(primary_key=["id"])
    growing = Growing(store.create(DatasetAlias.parse("acme/numbers")), merge, COLUMNS)
    growing.add(("+A", 1, "one"), ("+A", 1, "one"))
    assert shown(open_page(PAGE)).after("Rows now") == "2 records in the history"


def test_columns_that_changed(open_page, numbers):
    from airflow_provider_odf.chain import schema

    numbers.add(("+A", 1, "one"))
    changed = numbers.append(schema.set_data_schema(numbers.schema.append(pa.field("note", pa.string()))))
    page = shown(open_page(PAGE))
    assert f"added note STRING (block {changed[:13]})" in page.after("Changes of the columns")


def test_a_rejected_candidate(open_page, numbers):
    numbers.add(("+A", 1, "one"))
    base = numbers.dataset.head()
    candidate = numbers.draft.append(model.SetInfo(description="x"), numbers.draft.state.system_time)
    numbers.dataset.storage.compare_and_set_ref("rejected-x", None, candidate)
    failed = CheckResult("/a", "required", "fail", "id is never null", failed_rows=3, rows=5)
    save_record(numbers.dataset, candidate, Record(base, 5, report=ContractReport("urn:c", "d", "m", (failed,))))
    page = shown(open_page(PAGE))
    assert "acme/numbers rejected" in page.lines
    assert "New data was not published: 1 candidate waiting for a decision." in page.lines
    start = page.lines.index(candidate[:13])
    assert page.lines[start : start + 3] == [candidate[:13], "5", "id is never null: 3 rows"]
    assert page.links[candidate[:13]] == f"/odf{PAGE}/rejected/{candidate}"


def test_the_chain_a_page_at_a_time(open_page, numbers):
    """A page reads its own blocks: one that is lost shows on no other page."""
    for n in range(60):
        numbers.append(model.SetInfo(description=f"<script>{n}\x00\u202e"))
    numbers.add(("+A", 1, "one"), ("+A", 2, "two"), ("-C", 1, "one"), ("+C", 1, "1"), ("-R", 2, "two"))
    head = numbers.dataset.head()
    assert shown(open_page(f"{PAGE}/blocks")).links["Older blocks"]
    lost = next(h for h, block in numbers.dataset.walk() if block.sequence_number == 5)
    Path(numbers.dataset.storage.location(f"blocks/{lost}")).unlink()
    first = shown(open_page(f"{PAGE}/blocks"))
    assert "Blocks 14 to 63, newest first. The chain has 64 blocks." in first.lines
    start = first.lines.index("63")
    assert first.lines[start + 3 : start + 7] == [
        "AddData",
        "+A 2 -R 1 -C 1 +C 1",
        "5 records (offsets 0..4), watermark 2024-05-02T08:00:00Z",
        f"{head[:13]} what it changed",
    ]
    assert first.chosen == [("until", "63"), ("since", "62")]
    assert "<script>59\\x00\\u202e" in first.lines
    older = shown(open_page(first.links["Older blocks"].removeprefix("/odf")), 500)
    assert older.lines[:2] == ["The dataset cannot be read", "The dataset cannot be read"]
    assert older.lines[2].startswith(f"…/{lost}: the block is missing;")


def test_a_block_without_data(open_page, numbers):
    block_hash = numbers.append(model.SetInfo(description="a </pre><script>alert(1)</script>"))
    page = shown(open_page(f"{PAGE}/blocks/{block_hash}"))
    assert "Block 3: SetInfo" in page.lines
    assert f"Hash {block_hash}" in page.lines
    assert "description: a </pre><script>alert(1)</script>" in page.lines[-1]
    before = numbers.dataset.block(block_hash).prev_block_hash
    assert page.links[before[:13]] == f"/odf{PAGE}/blocks/{before}"
    assert "What it changed" not in page.lines


def test_what_a_block_changed_and_why(open_page, keyed):
    keyed.add(("+A", 1, "one"), ("+A", 2, "two"), event_times=[datetime(2024, 4, 30, 23, tzinfo=UTC), MOMENT])
    keyed.add(("-C", 1, "one"), ("+C", 1, "uno"), ("-R", 2, "two"), ("+A", 3, None))
    head = keyed.dataset.head()
    report = ContractReport("urn:numbers", "d", "numbers", (CheckResult("/a", "required", "pass", "id"),))
    save_report(keyed.dataset, Candidate("acme/numbers", "base", head, "candidate-x", records=4), report)
    answer = open_page(f"{PAGE}/blocks/{head}")
    page = shown(answer)
    assert "+A 1 added, -R 1 retracted, -C 1 corrected from, +C 1 corrected to" in page.lines
    assert page.after("Event times") == "2024-05-02: 4 records"
    assert page.after("Contract") == "passed 1 passed"
    assert page.after("Size").endswith("offsets 2 to 5")
    assert answer.text.count('class="changed"') == 2
    assert '<td class="changed"><bdi>uno</bdi></td>' in answer.text
    start = page.lines.index("What it changed")
    assert page.lines[start + 7 : start + 13] == ["2", "-C", *["2024-05-02T08:00:00Z"] * 2, "1", "one"]
    first = keyed.dataset.block(keyed.dataset.block(head).prev_block_hash)
    assert first.event.kind == "AddData"
    before = shown(open_page(f"{PAGE}/blocks/{keyed.dataset.block(head).prev_block_hash}"))
    assert before.after("Event times") == "2024-04-30: 1 record; 2024-05-02: 1 record"
    difference = page.links["Search and download all of its changes"].removeprefix("/odf")
    assert open_page(difference).text.count('class="changed"') == 2


def test_a_correction_of_one_key_beside_that_of_another(open_page, keyed):
    """Only the two rows of one correction are compared."""
    keyed.add(("+A", 1, "one"), ("-C", 1, "one"), ("+C", 2, "two"))
    answer = open_page(f"{PAGE}/blocks/{keyed.dataset.head()}")
    assert 'class="changed"' not in answer.text


def test_the_file_and_the_author_of_a_block(open_page, numbers):
    glob = model.FetchStepFilesGlob(path="data/*.csv")
    numbers.append(model.SetPollingSource(fetch=glob, read=model.ReadStepCsv(), merge=model.MergeStrategyAppend()))
    numbers.add(("+A", 1, "one"))
    state = model.SourceState(source_name="default", kind="odf/etag", value="2024-05-02.csv")
    head = numbers.append(model.AddData(prev_offset=0, new_watermark=TIME, new_source_state=state))
    author = Author("ann <b>", "refunds are fine", {"dagId": "acme.numbers", "runId": "decision_1"})
    publications.record(numbers.dataset, Publication(head, Instant.now(), publications.ANYWAY, author))
    page = shown(open_page(f"{PAGE}/blocks/{head}"))
    assert "The run found nothing new: no records changed." in page.lines
    assert page.after("Source file") == "2024-05-02.csv"
    assert page.after("Decision") == "published anyway by ann <b>: refunds are fine"
    assert page.after("Published by") == "run decision_1"
    assert page.links["decision_1"] == "/dags/acme.numbers/runs/decision_1"


def test_a_block_of_a_candidate(open_page, numbers):
    numbers.add(("+A", 1, "one"))
    candidate = reject(numbers, ("+A", 3, "secret")).block_hash
    answer = open_page(f"{PAGE}/blocks/{candidate}")
    page = shown(answer)
    assert page.after("Published") == "not published Its candidate"
    assert page.links["Its candidate"] == f"/odf{PAGE}/rejected/{candidate}"
    assert "failed id: <= 2" in page.lines
    assert "secret" not in answer.text


@contextmanager
def events_of(numbers, **blocks):
    """Events of the dataset's asset, of runs that published blocks."""
    from airflow.models.asset import AssetEvent, AssetModel
    from airflow.utils.session import create_session
    from sqlalchemy import delete, select

    source = {"source_task_id": "publish", "source_dag_id": "acme.numbers", "source_map_index": -1}
    with create_session() as session:
        asset = session.scalar(select(AssetModel.id).where(AssetModel.uri == numbers.dataset.uri))
        for run, block_hash in blocks.items():
            session.add(AssetEvent(asset_id=asset, extra={"blockHash": block_hash}, source_run_id=run, **source))
    try:
        yield
    finally:
        with create_session() as session:
            session.execute(delete(AssetEvent))


def test_the_run_that_published_a_block(open_page, numbers):
    numbers.add(("+A", 1, "one"))
    head = numbers.dataset.head()
    assert "Published by" not in shown(open_page(f"{PAGE}/blocks/{head}")).lines
    with events_of(numbers, manual__1=head, manual__2="f1620" + 64 * "0"):
        page = shown(open_page(f"{PAGE}/blocks/{head}"))
        of_run = open_page(f"{PAGE}/runs/manual__1", follow_redirects=False)
        assert (of_run.status_code, of_run.headers["Location"]) == (303, f"/odf{PAGE}/blocks/{head}")
    assert page.after("Published by") == "run manual__1"
    assert page.links["manual__1"] == "/dags/acme.numbers/runs/manual__1"
    nothing = shown(open_page(f"{PAGE}/runs/scheduled__2026-05-01T00:00:00+00:00"))
    assert nothing.lines[-2] == "This run published no block."
    assert nothing.links["See the dataset"] == f"/odf{PAGE}"


@pytest.mark.parametrize("page", ["", "/blocks", "/blocks/f1620" + 64 * "0"])
def test_users_without_the_right_see_nothing(open_page, airflow_server, numbers, page):
    numbers.append(model.SetInfo(description="secret numbers"))
    refused = shown(open_page(PAGE + page, role=None), 403)
    assert refused.lines == [
        *["You may not see this page"] * 2,
        "Ask an administrator of Airflow for the right to read this DAG and its assets.",
        "All datasets",
    ]
    assert airflow_server.get(f"/odf{PAGE}{page}").status_code == 401


def test_a_browser_without_a_login_is_led_to_it_and_back(airflow_server, numbers):
    address = f"/odf{PAGE}/data?view=history&sort=id"
    answer = airflow_server.get(address, headers={"Accept": "text/html"}, follow_redirects=False)
    back = "http%3A%2F%2Ftestserver%2Fodf%2Fdatasets%2Facme.numbers%2Fdata%3Fview%3Dhistory%26sort%3Did"
    login = f"/api/v2/auth/login?next={back}"
    assert (answer.status_code, answer.headers["Location"]) == (307, login)
    onward = airflow_server.get(login, follow_redirects=False)
    assert onward.status_code in (302, 307)
    assert "next=" in onward.headers["Location"]
    form = airflow_server.post(f"/odf{PAGE}/verification", headers={"Accept": "text/html"}, follow_redirects=False)
    assert form.status_code == 401


def lose(dataset):
    shutil.rmtree(dataset.location)


def lose_the_store(dataset):
    shutil.rmtree(Path(dataset.location).parent.parent)


def damage(dataset):
    Path(dataset.storage.location(f"blocks/{dataset.head()}")).write_bytes(b"damaged")


def remember(store, numbers):
    store.registry.remember(numbers.dataset.alias, numbers.draft.state.dataset_id)


@pytest.mark.parametrize(
    ("accident", "status", "title", "message"),
    [
        (lose, 410, "The dataset is gone", "…/numbers: the dataset did:odf:"),
        (
            lose_the_store,
            503,
            "The store cannot be read",
            "The store of dataset acme/numbers does not exist on",
        ),
        (damage, 500, "The dataset cannot be read", "checksum mismatch"),
    ],
)
def test_accidents_are_explained_without_paths(open_page, store, numbers, accident, status, title, message):
    remember(store, numbers)
    accident(numbers.dataset)
    with events_of(numbers, manual__1="f1620" + 64 * "0"):
        for page in ("", "/blocks"):
            problem = shown(open_page(PAGE + page), status)
            assert problem.lines[0] == title
            assert message in problem.lines[2]
            assert store.location not in str(problem.lines)
    os.makedirs(store.location, exist_ok=True)


def test_what_is_not_there(open_page, store, numbers):
    page = shown(open_page("/datasets/empty"))
    assert "no data The dataset does not exist yet." in page.lines
    assert shown(open_page(f"{PAGE}/blocks/nothing"), 404).lines[2] == "dataset acme/numbers has no block nothing"
    foreign = "f1620" + 64 * "0"
    elsewhere = shown(open_page(f"{PAGE}/blocks?from={foreign}"), 404)
    assert elsewhere.lines[2] == f"dataset acme/numbers has no block {foreign}"
    assert shown(open_page(f"{PAGE}/blocks?from=../x"), 400).lines[2] == "'../x' is not the hash of a block"
    assert "does not know this DAG" in shown(open_page("/datasets/other"), 404).lines[2]


def test_addresses_that_lead_nowhere_are_pages(open_page, airflow_server, as_user):
    words = ["This page does not exist"] * 2
    words += ["The address leads to no page. The catalog of datasets has links to all pages.", "All datasets"]
    assert shown(open_page("/nothing"), 404).lines == words
    wrong_method = airflow_server.put("/odf/datasets", headers=as_user("viewer"))
    assert shown(wrong_method, 405).lines == words


def test_data(open_page, numbers):
    hostile = "\x00<script>alert(1)</script>\u202e"
    numbers.add(("+A", 1, hostile), ("+A", 2, "x" * 1_000_000), ("+A", 3, None))
    block = numbers.dataset.head()
    numbers.add(("-R", 1, hostile))
    page = shown(open_page(f"{PAGE}/data"))
    assert page.lines[page.lines.index("Current rows") + 1].startswith("The rows that hold now.")
    assert [line for line in page.lines if line.startswith("xxx")] == ["x" * 300 + "… (1,000,000 characters)"]
    assert "null" in page.lines
    history = shown(open_page(f"{PAGE}/data?view=history&column=id&contains=1"))
    assert history.lines.count("\\x00<script>alert(1)</script>\\u202e") == 2
    assert [line for line in history.lines if line in ("+A", "-R")] == ["+A", "-R", "-R", "+A"]
    then = shown(open_page(f"{PAGE}/data?as_of={block}&column=id&contains=1"))
    assert then.lines.count("\\x00<script>alert(1)</script>\\u202e") == 1
    assert "No rows match the search." in shown(open_page(f"{PAGE}/data?column=id&contains=7")).lines
    wrong = shown(open_page(f"{PAGE}/data?as_of=yesterday"), 400)
    assert wrong.lines[0] == "This cannot be shown"
    assert shown(open_page(f"{PAGE}/data?page=no"), 422).lines[0] == "This cannot be shown"


def test_sensitive_values_are_masked(open_page, numbers):
    publish(numbers, ("+A", 1, "secret"), ("+A", 2, None))
    page = shown(open_page(f"{PAGE}/data"))
    assert [line for line in page.lines if line in ("***", "null")] == ["***", "null"]
    assert "value" not in page.links
    numbers.add(("+A", 3, "secret"))  # without a report
    for view in ("current", "history"):
        page = shown(open_page(f"{PAGE}/data?view={view}"))
        assert ("secret" in str(page.lines), page.lines.count("***")) == (False, 2)
        assert "*** stands for values of columns that the contract classifies as sensitive." in page.lines
    for search in ("column=VALUE&contains=s", "sort=value"):
        problem = shown(open_page(f"{PAGE}/data?{search}"), 400)
        assert "is sensitive: pages neither show nor search nor sort its values" in problem.lines[2]
