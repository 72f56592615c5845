"""Rows for a reader, with sensitive values masked."""

import io

import pyarrow.parquet as pq
import pytest

from airflow_provider_odf.chain.replay import replay
from airflow_provider_odf.reading import export as exports
from airflow_provider_odf.reading.export import export, stream
from airflow_provider_odf.reading.row_page import Answer, Question
from airflow_provider_odf.reading.scan import HistoryScan


@pytest.fixture
def answer(grow):
    numbers = grow()
    numbers.add(("+A", 1, "secret"), ("+A", 2, None))
    numbers.add(("+A", 3, "secret"))
    scan = HistoryScan(numbers.dataset, replay(numbers.dataset))
    return Answer(scan.select("id", "value"), Question(is_history=True), frozenset({"value"}), "***")


def test_values_of_sensitive_columns_are_in_no_form(answer):
    assert b"".join(stream(answer, "csv")) == b"id,value\n1,***\n2,\n3,***\n"
    assert list(stream(answer, "ndjson")) == [
        b'{"id": 1, "value": "***"}\n{"id": 2, "value": null}\n',
        b'{"id": 3, "value": "***"}\n',
        b"",
    ]
    content = b"".join(stream(answer, "parquet"))
    assert pq.read_table(io.BytesIO(content)).to_pydict() == {"id": [1, 2, 3], "value": ["***", None, "***"]}
    assert b"secret" not in content
    assert pq.ParquetFile(io.BytesIO(content)).num_row_groups == 1


def test_row_groups_have_many_batches(answer, monkeypatch):
    monkeypatch.setattr(exports, "_ROWS", 2)
    content = b"".join(stream(answer, "parquet"))
    assert pq.ParquetFile(io.BytesIO(content)).num_row_groups == 2
    monkeypatch.setattr(exports, "_BYTES", 1)
    assert pq.read_table(io.BytesIO(b"".join(stream(answer, "parquet")))).num_rows == 3


def test_a_stream_has_the_bytes_of_an_export(answer):
    for form in ("csv", "ndjson", "parquet"):
        target = io.BytesIO()
        assert export(answer, form, target) == 3
        assert b"".join(stream(answer, form)) == target.getvalue()
