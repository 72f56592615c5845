"""A request that needs little, and its parts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from airflow_provider_odf.protocol import Column, RawQueryRequest, ReadStep, SqlQueryStep, Transform

MakeRequest = Callable[..., RawQueryRequest]


@pytest.fixture
def raw_query(tmp_path: Path) -> MakeRequest:
    """Makes the request that reads ``a,b / 1,x / 2,y`` and runs a query on it."""
    source = tmp_path / "source.csv"
    source.write_text("a,b\n1,x\n2,y\n")

    def make(query: str = "SELECT a + 1 AS a, upper(b) AS b FROM input", name: str = "out") -> RawQueryRequest:
        return RawQueryRequest(
            input_data_paths=(str(source),),
            output_data_path=str(tmp_path / name),
            transform=Transform("spark", (SqlQueryStep(query),)),
            read=ReadStep("Csv", (Column("a", "BIGINT"), Column("b", "STRING")), header=True),
            label="https://example.com/source.csv",
            dataset_alias="readings",
        )

    return make
