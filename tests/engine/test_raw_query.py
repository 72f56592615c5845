"""RawQueryRequest: read, preprocess, write typed Parquet; and which errors become which responses."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from airflow_provider_odf.protocol import (
    Column,
    InternalError,
    InvalidQuery,
    PositionalHeader,
    RawQueryRequest,
    RawQuerySuccess,
    ReadStep,
    SqlQueryStep,
    Transform,
)

pytestmark = pytest.mark.spark


@pytest.fixture
def request_(tmp_path: Path) -> RawQueryRequest:
    (tmp_path / "rows.csv").write_text("A,b\n1,x\n2,y\n")
    return RawQueryRequest(
        (str(tmp_path / "rows.csv"),),
        str(tmp_path / "out"),
        read=ReadStep("Csv", (Column("a", "BIGINT"),), header=True),
        label="rows",
    )


def answer(spark, request: RawQueryRequest, progress: list[str] | None = None) -> object:
    from airflow_provider_odf.engine.request import answer

    messages = [] if progress is None else progress
    return answer(spark, request, lambda response: response.message and messages.append(response.message))


def test_reads_and_writes_and_tells_notices(spark, request_: RawQueryRequest, tmp_path: Path) -> None:
    progress: list[str] = []
    assert answer(spark, request_, progress) == RawQuerySuccess(2, (PositionalHeader("rows", ("a",), ("a",)),))
    assert pq.read_table(tmp_path / "out").to_pydict() == {"a": [1, 2]}
    assert progress == ["rows: ignored columns that are not in the schema: b"]
    # Hadoop sets the modes of files itself.
    assert {path.stat().st_mode & 0o007 for path in (tmp_path / "out").iterdir()} == {0}


def test_inputs_are_parquet_without_a_read_step(spark, request_: RawQueryRequest, tmp_path: Path) -> None:
    answer(spark, request_)
    query = Transform("spark", (SqlQueryStep("SELECT a + 1 AS a FROM input WHERE a > 1"),))
    again = RawQueryRequest((request_.output_data_path,), str(tmp_path / "again"), query)
    assert answer(spark, again) == RawQuerySuccess(1)
    assert pq.read_table(tmp_path / "again").to_pydict() == {"a": [3]}


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT\n 1 / (a - 1) FROM input", "query 1, line 2: [DIVIDE_BY_ZERO] Division by zero."),
        ("SELECT a + 9223372036854775807 FROM input", "query 1, line 1: [ARITHMETIC_OVERFLOW]"),
        ("SELECT CAST(a * 100 AS TINYINT) FROM input", "[CAST_OVERFLOW] The value 200L"),
        ("SELECT raise_error('no such thing') FROM input", "no such thing"),
        ("SELECT (SELECT a FROM input) FROM input", "query 1, line 1: [SCALAR_SUBQUERY_TOO_MANY_ROWS]"),
    ],
)
def test_faults_of_data_and_query_are_invalid(spark, request_: RawQueryRequest, query: str, message: str) -> None:
    response = answer(spark, replace(request_, transform=Transform("spark", (SqlQueryStep(query),))))
    assert isinstance(response, InvalidQuery)
    assert response.message.startswith(message)


def test_a_step_that_fails_on_rows_is_named(spark, request_: RawQueryRequest) -> None:
    steps = (
        SqlQueryStep("SELECT a FROM input", "all_rows"),
        SqlQueryStep("SELECT a,\n  1 / (a - 1) AS b FROM all_rows", "halves"),
        SqlQueryStep("SELECT b FROM halves"),
    )
    response = answer(spark, replace(request_, transform=Transform("spark", steps)))
    assert isinstance(response, InvalidQuery)
    assert response.message.startswith("query 2 (halves), line 2: [DIVIDE_BY_ZERO] Division by zero.")


def test_bad_data_are_invalid_with_their_place(spark, request_: RawQueryRequest) -> None:
    bad = replace(request_, read=ReadStep("Csv", (Column("a", "INT"), Column("b", "INT")), header=True))
    assert answer(spark, bad) == InvalidQuery("rows: line 2, column b: 'x' is not an INT")


def test_everything_else_is_internal_with_its_backtrace(spark, request_: RawQueryRequest) -> None:
    response = answer(spark, replace(request_, input_data_paths=("/no/such/file",)))
    assert isinstance(response, InternalError)
    assert response.message.startswith("FileNotFoundError: ")
    assert response.backtrace is not None
    assert "raw_query.py" in response.backtrace


def test_a_place_that_cannot_be_written_is_internal(spark, request_: RawQueryRequest, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    response = answer(spark, replace(request_, output_data_path=str(tmp_path / "file" / "below")))
    assert isinstance(response, InternalError)
