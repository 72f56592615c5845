"""Datasets that gain columns, on real Spark: history of the old and the new schema in every merge strategy."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from airflow_provider_odf.engine import state
from airflow_provider_odf.errors import InvalidQuery
from airflow_provider_odf.protocol import Check, Contract, SqlQueryStep, Transform
from airflow_provider_odf.records import schema
from airflow_provider_odf.records.logical_hash import logical_hash

pytestmark = pytest.mark.spark

Make = Callable[..., Any]
SYSTEM = ["offset", "op", "system_time", "event_time"]
OLD, NEW = "k BIGINT; v STRING", "k BIGINT; n INT; v STRING"
"""The new column stands among the old ones; the dataset has it at its end."""


def _rows(*rows: tuple[Any, ...], **common: Any) -> list[dict[str, Any]]:
    return [dict(zip("kvn", row, strict=False)) | common for row in rows]


CASES = {
    "Append": [("+A", 1, "a", None), ("+A", 2, "b", None), ("+A", 1, "a", 10), ("+A", 3, "c", None)],
    "Ledger": [("+A", 1, "a", None), ("+A", 2, "b", None), ("+A", 3, "c", None)],
    "Snapshot": [
        *[("+A", 1, "a", None), ("+A", 2, "b", None)],
        *[("-C", 1, "a", None), ("+C", 1, "a", 10), ("-R", 2, "b", None), ("+A", 3, "c", None)],
    ],
    "UpsertStream": [
        *[("+A", 1, "a", None), ("+A", 2, "b", None)],
        *[("-C", 1, "a", None), ("+C", 1, "a", 10), ("+A", 3, "c", None)],
    ],
}


@pytest.mark.parametrize("kind", CASES)
def test_an_added_column_is_null_in_what_was_there_before(polled: Make, form: str, kind: str) -> None:
    data = polled(OLD, kind, *(() if kind == "Append" else ("k",)))
    data.poll(_rows((1, "a"), (2, "b")))
    data.columns = NEW
    success = data.poll(_rows((1, "a", 10), (3, "c")))
    assert _history(data) == CASES[kind]
    (written,) = success.new_slices
    assert schema.decode(written.schema).names == [*SYSTEM, "k", "v", "n"] == pq.read_schema(written.path).names
    assert written.schema == success.schema
    assert written.logical_hash == logical_hash(Path(written.path))
    assert success.notices == ("poll-2-0.json: new columns, null in earlier records: n INT",)
    again = data.poll(_rows((1, "a", 10), (3, "c")))
    assert again.notices == ()
    assert kind == "Append" or again.slices == ((),)


def test_a_changelog_gains_a_column(polled: Make, form: str) -> None:
    data = polled("op INT; " + OLD, "ChangelogStream", "k")
    data.poll(_rows((1, "a"), op=0))
    data.columns = "op INT; " + NEW
    data.poll([*_rows((1, "a"), op=2), *_rows((1, "a", 10), op=3)])
    assert _history(data) == [("+A", 1, "a", None), ("-C", 1, "a", None), ("+C", 1, "a", 10)]


@pytest.mark.parametrize("kind", ["Ledger", "Snapshot", "UpsertStream"])
def test_a_cached_state_serves_the_new_columns(polled: Make, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    monkeypatch.setattr(state, "CACHED_SLICES", 1)
    data = polled(OLD, kind, "k")
    data.poll(_rows((1, "a"), (2, "b")))
    (before,) = data.history
    Path(before.path).unlink()  # only the cache can tell
    data.columns = NEW
    success = data.poll(_rows((1, "a", 10), (2, "b", None), (3, "c", None)))
    corrected = [] if kind == "Ledger" else [("-C", 1, "a", None), ("+C", 1, "a", 10)]
    data.history = data.history[1:]
    assert _history(data) == [*corrected, ("+A", 3, "c", None)]
    assert success.new_state is not None


@pytest.mark.parametrize("kind", ["Append", "Ledger", "Snapshot"])
def test_a_later_input_of_one_request_adds_a_column(polled: Make, form: str, kind: str) -> None:
    data = polled("", kind, *(() if kind == "Append" else ("k",)))
    success = data.poll(_rows((1, "a")), _rows((1, "a", 10), (2, "b", None)))
    first, second = success.new_slices
    assert schema.decode(first.schema).names == [*SYSTEM, "k", "v"]
    assert schema.decode(second.schema).names == [*SYSTEM, "k", "v", "n"]
    assert success.schema == second.schema
    expected = {
        "Append": [("+A", 1, "a", 10), ("+A", 2, "b", None)],
        "Ledger": [("+A", 2, "b", None)],
        "Snapshot": [("-C", 1, "a", None), ("+C", 1, "a", 10), ("+A", 2, "b", None)],
    }
    assert _history(data) == [("+A", 1, "a", None), *expected[kind]]


def test_a_column_without_values_is_recorded_where_its_type_is_declared(polled: Make) -> None:
    data = polled(OLD, "Snapshot", "k")
    data.poll(_rows((1, "a")))
    data.columns = NEW
    success = data.poll(_rows((1, "a", None)))
    assert success.slices == ((),)
    assert schema.decode(success.schema).names == [*SYSTEM, "k", "v", "n"]


def test_preprocess_adds_a_column(polled: Make) -> None:
    data = polled(OLD, "Ledger", "k")
    data.poll(_rows((1, "a")))
    data.preprocess = Transform("spark", (SqlQueryStep("select length(v) as n, v, k from input"),))
    data.poll(_rows((1, "a"), (2, "bb")))
    assert _history(data) == [("+A", 1, "a", None), ("+A", 2, "bb", 2)]


@pytest.mark.parametrize("kind", ["Append", "Snapshot"])
def test_a_contract_sees_old_rows_in_the_new_columns(polled: Make, form: str, kind: str) -> None:
    checks = (
        Check("n", "field_present", "there is a column n", field="n", model="m"),
        Check("n/required", "required", "n is there", field="n", model="m"),
        Check("n/unique", "unique", "n is unique", field="n", columns=("n",), model="m"),
    )
    data = polled(OLD, kind, *(() if kind == "Append" else ("k",)))
    data.poll(_rows((1, "a"), (2, "b")))
    data.columns, data.contract = NEW, Contract("c", "m", "0" * 64, checks)
    report = data.poll(_rows((1, "a", 10), (2, "b", None))).report
    results = [(r.outcome, r.failed_rows) for r in report.results]
    assert results == [("pass", None), ("fail", 1), ("pass", 0)]
    assert report.tested_rows == 2


def test_a_break_is_refused_with_the_difference(polled: Make) -> None:
    data = polled("k BIGINT; v STRING; w DOUBLE; x INT NOT NULL", "Append")
    data.poll([{"k": 1, "x": 1}])
    data.columns = "k STRING; w DOUBLE NOT NULL; x INT NOT NULL; y DATE NOT NULL"
    with pytest.raises(InvalidQuery) as caught:
        data.poll([{"k": "1", "w": 1, "x": 1, "y": "2024-01-01"}])
    assert str(caught.value).splitlines()[:5] == [
        "the new data does not match the dataset's schema:",
        "  column v (STRING) is missing",
        "  column k is BIGINT in the dataset and STRING in the new data",
        "  column w is nullable in the dataset and NOT NULL in the new data",
        "  column y (DATE) is new and NOT NULL, but null in earlier records",
    ]


def test_columns_are_matched_by_name_in_any_order_and_case(polled: Make) -> None:
    data = polled("k BIGINT; v STRING; x INT NOT NULL", "Append")
    data.poll(_rows((1, "a"), x=1))
    data.columns = "X INT NOT NULL; K BIGINT; V STRING"
    success = data.poll([{"X": 2, "K": 3, "V": "b"}])
    assert (success.new_slices[0].schema, success.notices) == (None, ())
    assert data.records("k", "v", "x") == [("+A", 1, "a", 1), ("+A", 3, "b", 2)]


def test_a_column_that_is_no_longer_declared_not_null_stays_required(polled: Make) -> None:
    data = polled("k BIGINT NOT NULL; v STRING", "Append")
    data.poll(_rows((1, "a")))
    data.columns = OLD
    data.poll(_rows((2, "b")))
    with pytest.raises(InvalidQuery, match="column k, which is NOT NULL in the dataset, is null in 1 row"):
        data.poll(_rows((None, "c")))


def _history(data: Any) -> list[tuple[Any, ...]]:
    """Records over all slices; columns that came after a slice are null."""
    ops = ["+A", "-R", "-C", "+C"]
    rows = [row for s in data.history for row in pq.read_table(s.path).to_pylist()]
    return [(ops[row["op"]], row["k"], row["v"], row.get("n")) for row in rows]
