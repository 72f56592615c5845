"""Badges of a dataset's page for what a log would hide."""

import pyarrow as pa
import pytest

from airflow_provider_odf.cycle import held_back
from airflow_provider_odf.cycle.candidates import Record, save_record, save_report
from airflow_provider_odf.cycle.messages import Candidate
from airflow_provider_odf.manifest import model
from airflow_provider_odf.manifest.names import DatasetAlias
from airflow_provider_odf.protocol import CheckResult, ContractReport, PositionalHeader
from tests.chain.conftest import Growing

from .shown import shown

PAGE = "/datasets/acme.numbers"
COLUMNS = (pa.field("id", pa.int64()), pa.field("value", pa.string()))


@pytest.fixture
def numbers(store):
    numbers = Growing(store.create(DatasetAlias.parse("acme/numbers")), model.MergeStrategyAppend(), COLUMNS)
    numbers.add(("+A", 1, "one"))
    return numbers


@pytest.fixture
def badges(open_page):
    words = ("held back ", "columns by position ", "contract ")
    return lambda: [line for line in shown(open_page(PAGE)).lines if line.startswith(words)]


def test_nothing_to_tell(badges, numbers):
    assert badges() == []


def test_columns_by_position_count_once_their_block_is_published(badges, numbers):
    header = PositionalHeader("x.csv", ("nr", "text"), ("id", "value"))
    candidate = numbers.draft.append(model.SetInfo(description="x"), numbers.draft.state.system_time)
    held_back.keep_header(numbers.dataset, candidate, "default", header)
    assert badges() == []
    numbers.dataset.storage.compare_and_set_ref("head", numbers.dataset.head(), candidate)
    assert badges() == [
        "columns by position Names in files differ: columns were matched by position, the header (nr, text) "
        "to the schema (id, value): if values are in the wrong columns, check whether the header changed."
    ]


@pytest.mark.parametrize(
    ("outcomes", "expected"),
    [
        (("pass", "pass"), []),
        (("pass", "unsupported", "fail"), ["contract in part Clauses of the contract that are not tested: 1 of 3."]),
        (
            ("unsupported", "informational"),
            ["contract not enforced No clause of the contract was tested: its report says why."],
        ),
    ],
)
def test_a_contract_that_is_not_enforced(badges, numbers, outcomes, expected):
    head = numbers.dataset.head()
    results = tuple(CheckResult(f"/{n}", "required", outcome, "id") for n, outcome in enumerate(outcomes))
    report = ContractReport("urn:numbers", "d", "numbers", results)
    save_report(numbers.dataset, Candidate("acme/numbers", "base", head, "candidate-x", records=1), report)
    assert badges() == expected


def test_input_that_is_held_back(badges, numbers):
    base = numbers.dataset.head()
    candidate = numbers.draft.append(model.SetInfo(description="x"), numbers.draft.state.system_time)
    numbers.dataset.storage.compare_and_set_ref("rejected-x", None, candidate)
    save_record(numbers.dataset, candidate, Record(base, 5, held=("x.csv has no rows",)))
    assert badges() == ["held back An input looks like an error of its source. It waits for a decision below."]
