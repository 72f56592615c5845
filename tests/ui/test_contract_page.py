"""The contract of a dataset by publication, and the report of one."""

import pyarrow as pa
import pytest

from airflow_provider_odf.author import Author
from airflow_provider_odf.cycle import decisions
from airflow_provider_odf.manifest import model
from airflow_provider_odf.manifest.names import DatasetAlias
from tests.chain.conftest import Growing

from .rejecting import publish, reject
from .shown import shown

PAGE = "/datasets/acme.numbers"
COLUMNS = (pa.field("id", pa.int64()), pa.field("value", pa.string()))


@pytest.fixture
def numbers(store):
    return Growing(store.create(DatasetAlias.parse("acme/numbers")), model.MergeStrategyAppend(), COLUMNS)


def test_clauses_by_publication(open_page, numbers):
    published = publish(numbers, ("+A", 1, "one"))
    errors = publish(numbers, ("+A", 2, "two"), result="error")
    rejection = reject(numbers, ("+A", 3, "three"))
    page = shown(open_page(f"{PAGE}/contract"))
    assert page.after("Contract", 2) == "urn:numbers , model numbers"
    assert (page.after("Owner"), page.after("Usage")) == ("Ann <b>", "Reports")
    newest = page.after("Newest test")
    assert newest.startswith("failed 1 failed, 1 passed, 1 not enforced 2024-05-02 08:00:00 UTC")
    start = page.lines.index("Enforced")
    assert page.lines[start + 1 : start + 4] == [
        "May 02 08:00rejected",
        "May 02 08:00published",
        "May 02 08:00published",
    ]
    assert page.lines[start + 4 : start + 9] == ["id: <= 2", "yes", "✗", "?", "✓"]
    assert page.lines[start + 9 : start + 14] == ["column id exists", "yes", "✓", "✓", "✓"]
    assert page.lines[start + 14 : start + 19] == ["ids are plausible", "no a text", "–", "–", "–"]
    assert page.labels[:4] == ["failed", "could not be evaluated", "passed", "passed"]
    assert page.labels[-1] == "not enforced"
    start = page.lines.index("What the newest test found")
    assert page.lines[start + 1] == "failed id: <= 2"
    assert page.lines[-3:] == ["2", "3", "***"]
    assert {f"/odf{PAGE}/contract/{published}", f"/odf{PAGE}/contract/{errors}"} <= page.targets
    assert f"/odf{PAGE}/rejected/{rejection.block_hash}" in page.targets


def test_a_released_candidate_stands_at_its_publication(open_page, numbers, store):
    publish(numbers, ("+A", 1, "one"))
    late, waiting = reject(numbers, ("+A", 3, "three")), reject(numbers, ("+A", 4, "four"), ref="8")
    author = Author("ann", time="2024-05-03T09:30:00Z")
    assert decisions.publish_anyway(store, numbers.dataset, late, author)
    page = shown(open_page(f"{PAGE}/contract"))
    start = page.lines.index("Enforced")
    assert page.lines[start + 1 : start + 4] == [
        "May 03 09:30published anyway",
        "May 02 08:00superseded",
        "May 02 08:00published",
    ]
    assert page.after("Newest test").startswith(
        "failed 1 failed, 1 passed, 1 not enforced published 2024-05-03 09:30:00 UTC"
    )
    assert {f"/odf{PAGE}/contract/{late.block_hash}", f"/odf{PAGE}/rejected/{waiting.block_hash}"} <= page.targets
    report = shown(open_page(f"{PAGE}/contract/{late.block_hash}"))
    start = report.lines.index("Contract report")
    assert " Published 2024-05-03 09:30:00 UTC" in report.lines[start + 1]


def test_the_report_of_a_publication(open_page, numbers):
    published = publish(numbers, ("+A", 1, "one"))
    page = shown(open_page(f"{PAGE}/contract/{published}"))
    start = page.lines.index("Contract report")
    assert page.lines[start + 1].startswith("passed All enforced clauses passed. Published 2024-05-02 08:00:00 UTC")
    assert page.after("New records") == "1"
    assert page.after("Not enforced") == "These clauses were not tested, and the data may violate them."
    assert page.after("Passed: 2 clauses") == "Clause"
    rejection = reject(numbers, ("+A", 3, "three"))
    moved = open_page(f"{PAGE}/contract/{rejection.block_hash}", follow_redirects=False)
    assert moved.headers["location"] == f"/odf{PAGE}/rejected/{rejection.block_hash}"
    missing = "f1620" + 64 * "0"
    assert "has no contract report" in shown(open_page(f"{PAGE}/contract/{missing}"), 404).lines[2]
    assert "is not the hash of a block" in shown(open_page(f"{PAGE}/contract/nothing"), 400).lines[2]


def test_a_dataset_without_a_contract(open_page, numbers):
    numbers.add(("+A", 1, "one"))
    page = shown(open_page(f"{PAGE}/contract"))
    assert "No contract was tested on the newest publications." in page.lines
    assert any("numbers.datacontract.yaml beside the manifest" in line for line in page.lines)


@pytest.mark.parametrize("page", ["/contract", "/rejected"])
def test_users_without_the_right_see_nothing(open_page, numbers, page):
    publish(numbers, ("+A", 1, "one"))
    assert shown(open_page(PAGE + page, role=None), 403).lines[0] == "You may not see this page"
    assert open_page(PAGE + page, role="nobody").status_code == 401
