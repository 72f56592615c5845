"""Charts of blocks and runs, and the tables with the same numbers."""

import re
from datetime import UTC, datetime, timedelta
from unittest.mock import ANY

import pyarrow as pa
import pytest

from airflow_provider_odf.author import Author
from airflow_provider_odf.cycle import decisions
from airflow_provider_odf.cycle.candidates import save_report
from airflow_provider_odf.cycle.messages import Candidate
from airflow_provider_odf.manifest import model
from airflow_provider_odf.manifest.names import DatasetAlias
from airflow_provider_odf.protocol import CheckResult, ContractReport
from tests.chain.conftest import Growing

from .rejecting import reject
from .shown import shown

PAGE = "/datasets/acme.numbers/trends"


@pytest.fixture
def numbers(store):
    columns = (pa.field("id", pa.int64()), pa.field("value", pa.string()))
    return Growing(store.create(DatasetAlias.parse("acme/numbers")), model.MergeStrategyAppend(), columns)


@pytest.fixture
def runs(airflow_server):
    """Two runs of the DAG in Airflow's database: one that succeeded in 90 seconds, and a later one for an older
    interval, as of a catch-up, that failed in 3."""
    from airflow.models.dagrun import DagRun
    from airflow.utils.session import create_session
    from airflow.utils.state import DagRunState
    from airflow.utils.types import DagRunTriggeredByType, DagRunType

    start = datetime(2024, 5, 2, 8, tzinfo=UTC)
    with create_session() as session:
        for n, (name, state, seconds) in enumerate(
            [("first", DagRunState.SUCCESS, 90), ("second", DagRunState.FAILED, 3)]
        ):
            begin = start + timedelta(hours=n)
            run = DagRun(
                "acme.numbers",
                run_id=name,
                run_type=DagRunType.MANUAL,
                run_after=start - timedelta(hours=n),
                start_date=begin,
                state=state,
                triggered_by=DagRunTriggeredByType.REST_API,
            )
            run.end_date = begin + timedelta(seconds=seconds)
            session.add(run)
    yield
    with create_session() as session:
        session.query(DagRun).filter(DagRun.dag_id == "acme.numbers").delete()


def test_trends(open_page, numbers, runs):
    file = numbers.add(("+A", 1, "one"), ("+A", 2, "two"), ("+A", 3, "three"))
    numbers.add(("-C", 1, "one"), ("+C", 1, "1"), ("-R", 2, "two"))
    results = (
        CheckResult("/a", "required", "pass", "id"),
        CheckResult("/b", "minimum", "fail", "x", severity="warning"),
    )
    candidate = Candidate("acme/numbers", "base", numbers.dataset.head(), "candidate-x", records=3)
    save_report(numbers.dataset, candidate, ContractReport("urn:c", "d", "m", results))
    response = open_page(PAGE)
    page = shown(response)
    assert "The newest 2 blocks with data and 2 runs of the DAG, from old to new. Times are in UTC." in page.lines
    assert {"svg", "title", "desc", "rect", "circle"} <= page.elements
    assert " style=" not in response.text
    assert re.findall(r'<rect class="([\w-]+)"[^>]*height="([\d.]+)"><title>([^<]*)<', response.text) == [
        ("added", "150.0", "2024-05-02 08:00: +A 3"),
        ("retracted", "50.0", "2024-05-02 08:00: -R 1"),
        ("from", "50.0", "2024-05-02 08:00: -C 1"),
        ("to", "50.0", "2024-05-02 08:00: +C 1"),
        ("calm", ANY, f"2024-05-02 08:00: size {file.stat().st_size:,} bytes"),
        ("calm", ANY, ANY),
        *[("passed", "75.0", "2024-05-02 08:00: passed 1"), ("failed", "75.0", "2024-05-02 08:00: did not pass 1")],
        ("run-success", "135.0", "2024-05-02 08:00: success 90 seconds"),
        ("run-failed", "4.5", "2024-05-02 09:00: failed 3 seconds"),
    ]
    start = page.lines.index("Clauses passed") + 1
    newest = page.lines[start : start + 10]
    assert newest[0] == "4"
    assert newest[2:6] == ["0", "1", "1", "1"]
    assert newest[8:] == ["0.0 s", "1 of 2 (50 %)"]
    older = page.lines[start + 10 : start + 20]
    assert older[2:6] == ["3", "0", "0", "0"]
    assert older[8:] == ["0.0 s", "not tested"]
    start = page.lines.index("Numbers of the runs")
    assert page.lines[start + 5] == "second"
    assert page.lines[start + 7 : start + 9] == ["failed", "3.0 s"]
    assert page.lines[start + 9] == "first"
    assert page.lines[start + 11 : start + 13] == ["success", "1 min 30 s"]


def test_a_released_candidate_stands_at_its_publication(open_page, numbers, store):
    numbers.add(("+A", 1, "one"))
    released = Author("ann", time="2024-05-03T09:30:00Z")
    assert decisions.publish_anyway(store, numbers.dataset, reject(numbers, ("+A", 2, "two")), released)
    response = open_page(PAGE)
    page = shown(response)
    assert "<title>2024-05-03 09:30: +A 1</title>" in response.text
    start = page.lines.index("Clauses passed") + 1
    assert page.lines[start + 1].startswith("2024-05-03 09:30:00 UTC")
    assert page.lines[start + 8] == "1 d 1 h"
    assert page.lines[start + 11].startswith("2024-05-02 08:00:00 UTC")


def test_the_chart_of_a_page_of_blocks(open_page, numbers):
    numbers.add(("+A", 1, "one"), ("-R", 1, "one"))
    page = open_page("/datasets/acme.numbers/blocks")
    assert "<title>block 3: +A 1</title>" in page.text
    assert "<title>block 3: -R 1</title>" in page.text
    assert "svg" in shown(page).elements


def test_without_data_and_runs(open_page, numbers):
    page = shown(open_page(f"{PAGE}?last=7"))
    assert "No data was published yet, and the DAG has no runs." in page.lines
    assert shown(open_page(f"{PAGE}?last=x"), 422).lines[0] == "This cannot be shown"
    assert shown(open_page(PAGE, role=None), 403).lines[0] == "You may not see this page"


def test_a_slice_that_is_lost(open_page, numbers):
    numbers.add(("+A", 1, "one")).unlink()
    page = shown(open_page(PAGE))
    assert page.lines[page.lines.index("Clauses passed") + 3] == "the slice cannot be read"
    assert page.after("Records by operation") == "No numbers are known."
