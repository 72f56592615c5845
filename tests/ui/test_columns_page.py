"""What are the values of the columns like: profiles of the newest publications."""

import pyarrow as pa
import pytest

from airflow_provider_odf.cycle.candidates import Record, save_record
from airflow_provider_odf.manifest import model
from airflow_provider_odf.manifest.names import DatasetAlias
from airflow_provider_odf.ui import columns_page
from tests.chain.conftest import Growing

from .rejecting import publish, report
from .shown import shown

PAGE = "/datasets/acme.numbers/columns"
COLUMNS = (pa.field("id", pa.int64()), pa.field("value", pa.string()))


@pytest.fixture
def numbers(store):
    return Growing(store.create(DatasetAlias.parse("acme/numbers")), model.MergeStrategyAppend(), COLUMNS)


def cells(page, name):
    start = page.lines.index(name)
    return page.lines[start : start + 8]


def test_the_newest_publication_beside_earlier_ones(open_page, numbers):
    numbers.add(*[("+A", n, "x" if n else None) for n in range(10)])
    numbers.add(*[("+A", n, "<b>x") for n in range(10)])
    numbers.add(("+A", 7, None), ("+A", 7, None), ("+A", 9, "<b>y"), ("+A", 11, "<b>y"))
    page = shown(open_page(PAGE))
    assert (
        "Values of the 4 rows that the newest block with data added or corrected, beside the 2 blocks before."
        in page.lines
    )
    assert cells(page, "id") == ["id", "BIGINT", "0.0 %", "0.0 %", "3", "7", "11", "7 ×2"]
    assert cells(page, "value") == [
        "value",
        "STRING",
        "50.0 % unusual",
        "0.0 % to 10.0 %",
        "1",
        "<b>y",
        "<b>y",
        "<b>y ×2",
    ]


def test_values_of_sensitive_columns_are_masked(open_page, numbers):
    publish(numbers, ("+A", 1, "secret"), ("+A", 2, "secret"))
    save_record(numbers.dataset, numbers.dataset.head(), Record("f00", 2, report=report()))
    answer = open_page(PAGE)
    assert "secret" not in answer.text
    hidden = "not shown: sensitive"
    shown_cells = ["STRING", "0.0 %", "1", "***", "***", hidden, page_end(shown(answer))]
    assert cells(shown(answer), "value")[1:] == shown_cells


def page_end(page):
    return next(line for line in page.lines if line.startswith("Nulls are a share"))


def test_profiles_are_computed_once(open_page, numbers, monkeypatch):
    whole, read = columns_page.profile, []

    def counted(dataset, data_slice, state):
        read.append(data_slice.offset_interval.start)
        return whole(dataset, data_slice, state)

    monkeypatch.setattr(columns_page, "profile", counted)
    numbers.add(("+A", 1, "one"))
    shown(open_page(PAGE))
    numbers.add(("+A", 2, "two"))
    assert cells(shown(open_page(PAGE)), "id")[5:7] == ["2", "2"]
    assert read == [0, 1]


def test_no_data(open_page, numbers):
    assert "No data was published yet." in shown(open_page(PAGE)).lines
