"""The page about the publications of a dataset, and health on pages after decisions."""

import pyarrow as pa
import pytest

from airflow_provider_odf.author import Author
from airflow_provider_odf.chain import publications
from airflow_provider_odf.cycle import decisions
from airflow_provider_odf.cycle.publish import publish as publish_candidate
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest import model
from airflow_provider_odf.manifest.names import DatasetAlias
from tests.chain.conftest import Growing

from .rejecting import publish, reject
from .shown import shown

PAGE = "/datasets/acme.numbers"


@pytest.fixture
def numbers(store):
    columns = (pa.field("id", pa.int64()), pa.field("value", pa.string()))
    return Growing(store.create(DatasetAlias.parse("acme/numbers")), model.MergeStrategyAppend(), columns)


def health(open_page):
    return shown(open_page(PAGE)).lines[1].removeprefix("acme/numbers ")


def test_who_published_what_and_why(open_page, numbers, store):
    publish(numbers, ("+A", 1, "one"))
    assert "No publication is recorded. The times of blocks count" in " ".join(
        shown(open_page(f"{PAGE}/publications")).lines
    )
    rejection = reject(numbers, ("+A", 2, "two"))
    assert health(open_page) == "rejected"
    run = {"dagId": "acme.numbers", "runId": "decision_1"}
    author = Author("ann <b>", "refunds <i>are</i> fine", run, "2026-05-01T12:00:00Z")
    decisions.publish_anyway(store, numbers.dataset, rejection, author)
    page = shown(open_page(f"{PAGE}/publications"))
    assert "1 publication recorded, newest first. A block can be read from its publication on, not from its merge." in (
        page.lines
    )
    start = page.lines.index(rejection.block_hash[:13])
    assert page.lines[start + 1 : start + 3] == ["what it changed", "4"]
    assert page.lines[start + 3].startswith("2024-05-02 08:00:00 UTC ")
    assert page.lines[start + 4].startswith("2026-05-01 12:00:00 UTC ")
    assert page.lines[start + 5 : start + 9] == ["published anyway", "ann <b>", "refunds <i>are</i> fine", "decision_1"]
    assert health(open_page) == "exception"
    assert shown(open_page(PAGE)).after("Last publication").startswith("2026-05-01 12:00:00 UTC ")


def test_blocks_that_were_published_at_once(open_page, numbers):
    """Each leads to the others, and to what all of them changed."""
    heads = [publish(numbers, ("+A", n, str(n))) for n in range(3)]
    publications.record(
        numbers.dataset,
        publications.Publication(heads[2], Instant.parse("2026-05-01T12:00:00Z"), "published", Author(), heads[0]),
    )
    page = shown(open_page(f"{PAGE}/blocks/{heads[1]}"))
    at = page.lines.index("Published with it")
    assert page.lines[at + 1] == f"1 block ({heads[2][:13]}); what all 2 changed: 2 records"
    path = page.links["what all 2 changed"]
    assert path.endswith(f"{PAGE}/data?view=difference&since={heads[0]}&until={heads[2]}")
    assert "1" in shown(open_page(path[path.index(PAGE) :])).lines
    assert "Published with it" not in shown(open_page(f"{PAGE}/blocks/{heads[0]}")).lines


@pytest.mark.parametrize(
    ("author", "who", "run"),
    [
        (Author("ann@desk", None, {"command": "odf run"}), ["ann@desk"], ["odf run"]),
        (Author(), ["nobody: by schedule or event"], []),
        (Author(run={"dagId": "numbers"}), ["nobody: by schedule or event"], ["numbers"]),
    ],
)
def test_publications_without_a_run_of_airflow(open_page, numbers, store, author, who, run):
    rejection = reject(numbers, ("+A", 2, "two"))
    publish_candidate(
        store, decisions.carry_out(numbers.dataset, decisions.Decision("publish", rejection.block_hash)), author
    )
    page = shown(open_page(f"{PAGE}/publications"))
    assert page.lines[page.lines.index("published") :][: 1 + len(who) + len(run)] == ["published", *who, *run]


def test_a_rejected_first_load_is_rejected_and_then_discarded(open_page, numbers):
    rejection = reject(numbers, ("+A", 1, "one"))
    assert health(open_page) == "rejected"
    decisions.discard(numbers.dataset, rejection, Author("ann", "wrong file"))
    assert health(open_page) == "discarded"
    candidate = shown(open_page(f"{PAGE}/rejected/{rejection.block_hash}"))
    assert any(line.startswith("Decided by ann ") and line.endswith(": wrong file") for line in candidate.lines)
