"""Rows of one input with the same key: equal rows count once, others are an error."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from airflow_provider_odf.errors import InvalidQuery
from airflow_provider_odf.records import files

from .cities import CITIES, SEATTLE, VANCOUVER

pytestmark = pytest.mark.spark

Make = Callable[..., Any]


@pytest.mark.parametrize("kind", ["Snapshot", "Ledger"])
def test_equal_rows_count_once(polled: Make, form: str, kind: str) -> None:
    data = polled(CITIES, kind, "city")
    first = data.poll([SEATTLE, VANCOUVER, SEATTLE, SEATTLE])
    assert sorted(data.records("city")) == [("+A", "Seattle"), ("+A", "Vancouver")]
    assert first.notices == ("poll-1-0.json: dropped 2 duplicate rows",)
    assert data.poll([SEATTLE, SEATTLE, VANCOUVER]).slices == ((),)
    assert len(list((data.work / "data").iterdir())) == 1


@pytest.mark.parametrize("kind", ["Snapshot", "Ledger"])
def test_different_rows_of_one_key_are_refused(polled: Make, form: str, kind: str) -> None:
    data = polled(CITIES, kind, "country", "city")
    with pytest.raises(
        InvalidQuery, match=r"poll-1-0\.json: rows with the same primary key differ: \(country=US, city=Se"
    ):
        data.poll([SEATTLE, VANCOUVER, {**SEATTLE, "population": 1}])
    assert list((data.work / "data").glob("*")) == []


@pytest.mark.parametrize("kind", ["Ledger", "Snapshot"])
def test_zero_is_one_key_whatever_its_sign(polled: Make, form: str, kind: str) -> None:
    data = polled("k DOUBLE; v STRING", kind, "k")
    with pytest.raises(InvalidQuery, match=r"rows with the same primary key differ: \(k=-?0\.0"):
        data.poll([{"k": 0.0, "v": "a"}, {"k": -0.0, "v": "b"}])
    with pytest.raises(InvalidQuery, match=r"poll-2-1\.json: rows with the same primary key differ: .k=-?0.0"):
        data.poll([{"k": 1.0, "v": "a"}], [{"k": 0.0, "v": "a"}, {"k": -0.0, "v": "b"}])


def test_different_rows_of_a_known_key_are_refused_also_if_one_is_the_known_row(polled: Make, form: str) -> None:
    data = polled(CITIES, "Snapshot", "city")
    data.poll([SEATTLE])
    with pytest.raises(InvalidQuery, match=r"\(city=Seattle\)"):
        data.poll([SEATTLE, {**SEATTLE, "population": 1}])


def test_copies_among_many_rows_are_found_by_counting(
    polled: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "SMALL", -1)

    def parquet(*rows: tuple[int, int]) -> Path:
        file = tmp_path / "input.parquet"
        pq.write_table(pa.table({"k": [k for k, _ in rows], "v": [v for _, v in rows]}), file)
        return file

    data = polled("", "Snapshot", "k")
    assert data.poll(parquet((1, 1), (2, 2), (2, 2)), kind="Parquet").notices != ()
    assert data.poll(parquet((1, 1), (2, 2), (2, 2)), kind="Parquet").slices == ((),)
    data.poll(parquet((2, 3), (3, 3), (3, 3)), kind="Parquet")
    assert data.records("k", "v") == [
        *[("+A", 1, 1), ("+A", 2, 2)],
        *[("-R", 1, 1), ("-C", 2, 2), ("+C", 2, 3), ("+A", 3, 3)],
    ]
    for rows, key in (([(2, 3), (2, 4), (3, 3)], 2), ([(2, 3), (3, 3), (4, 1), (4, 2)], 4), ([(2, 3), (2, 4)], 2)):
        with pytest.raises(InvalidQuery, match=f"rows with the same primary key differ: .k={key}"):
            data.poll(parquet(*rows), kind="Parquet")
