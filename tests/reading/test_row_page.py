from dataclasses import replace

import pytest

from airflow_provider_odf.chain.replay import replay
from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.manifest import model
from airflow_provider_odf.reading import row_page as pages
from airflow_provider_odf.reading.row_page import Question, row_page
from tests.chain.conftest import Growing


@pytest.fixture
def rows(tmp_path, monkeypatch):
    """Seven records in two slices, in pages of two rows."""
    import pyarrow as pa

    from airflow_provider_odf.chain.store import Store
    from airflow_provider_odf.manifest.names import DatasetAlias

    monkeypatch.setattr(pages, "SIZE", 2)
    monkeypatch.setattr(pages, "_SPARE", 1)
    columns = (pa.field("id", pa.int64()), pa.field("value", pa.string()))
    merge = model.MergeStrategySnapshot(primary_key=["id"])
    numbers = Growing(Store.open(tmp_path).create(DatasetAlias.parse("numbers")), merge, columns)
    numbers.add(("+A", 1, "one"), ("+A", 2, "Two"), ("+A", 3, None), ("+A", 4, "<i>"))
    numbers.add(("-R", 1, "one"), ("-C", 2, "Two"), ("+C", 2, "second"))

    def ask(*columns, **question):
        page = row_page(replace(numbers.dataset, cache=tmp_path), replay(numbers.dataset), Question(**question))
        return [tuple(row[c] for c in columns) for row in page.rows], page.has_more

    return ask


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ({}, ([(6, "+C"), (5, "-C")], True)),
        ({"page": 2}, ([(2, "+A"), (1, "+A")], True)),
        ({"page": 3}, ([(0, "+A")], False)),
        ({"page": 4}, ([], False)),
        ({"operation": "+A"}, ([(3, "+A"), (2, "+A")], True)),
        ({"operation": "+A", "page": 1}, ([(1, "+A"), (0, "+A")], False)),
        ({"column": "value", "contains": "TWO"}, ([(5, "-C"), (1, "+A")], False)),
        ({"column": "id", "contains": "2", "operation": "+C"}, ([(6, "+C")], False)),
        ({"sort": "value"}, ([(3, "+A"), (1, "+A")], True)),
        ({"sort": "offset", "is_descending": True, "page": 3}, ([(0, "+A")], False)),
    ],
)
def test_the_history(rows, question, expected):
    assert rows("offset", "op", is_history=True, **question) == expected


def test_current_rows(rows):
    assert rows("id", "value") == ([(2, "second"), (3, None)], True)
    assert rows("id", "value", page=1) == ([(4, "<i>")], False)
    assert rows("id", sort="id", is_descending=True) == ([(4,), (3,)], True)
    assert rows("id", column="value", contains="<I") == ([(4,)], False)


@pytest.mark.parametrize(
    ("question", "message"),
    [
        ({"sort": "price"}, "no column 'price'"),
        ({"column": "offset", "contains": "1"}, "no column 'offset'"),
        ({"operation": "+B"}, "'\\+B' is not an operation"),
        ({"page": -1}, "there is no page 0"),
        ({"page": 100_000}, "there is no page 100001"),
    ],
)
def test_questions_without_an_answer(rows, question, message):
    with pytest.raises(InvalidInput, match=message):
        rows(**question)
