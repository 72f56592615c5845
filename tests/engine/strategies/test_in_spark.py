"""The strategies' published vectors (`expected` in the order of the slice) and what they leave open, on real Spark."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession

from airflow_provider_odf.engine.column_layout import POSITION, Layout
from airflow_provider_odf.engine.merge_target import SMALL_SETTINGS
from airflow_provider_odf.engine.strategies import STRATEGIES, snapshot
from airflow_provider_odf.merge_strategies import MERGE_STRATEGIES, State
from airflow_provider_odf.records.schema import COPY, OP

pytestmark = pytest.mark.spark

A, R, CF, CT = "+A", "-R", "-C", "+C"
OPS = (A, R, CF, CT)
COLUMNS = ("year", "city", "population")
TYPES = "year INT, city STRING, population BIGINT"

Row = tuple[Any, ...]


@pytest.fixture(scope="module")
def few(spark: SparkSession) -> SparkSession:
    """A session with the settings for few rows."""
    session = spark.newSession()
    for key, value in SMALL_SETTINGS.items():
        session.conf.set(key, value)
    return session


def _new(few: SparkSession, rows: list[Row], ops: list[str] | None = None) -> DataFrame:
    frame = few.createDataFrame([(*row, i) for i, row in enumerate(rows)], f"{TYPES}, `{POSITION}` BIGINT")
    if ops is None:
        return frame.coalesce(1)
    coded = [(*row, i, OPS.index(op)) for i, (row, op) in enumerate(zip(rows, ops, strict=True))]
    return few.createDataFrame(coded, f"{TYPES}, `{POSITION}` BIGINT, `{OP}` INT").coalesce(1)


def _state(few: SparkSession, rows: list[Row]) -> DataFrame | None:
    return few.createDataFrame(rows, TYPES).coalesce(1) if rows else None


def _layout(keys: tuple[str, ...], compared: tuple[str, ...] | None = None) -> Layout:
    compared = tuple(c for c in COLUMNS if c not in keys) if compared is None else compared
    return Layout(pa.schema([]), COLUMNS, keys, compared)


def _run(few: SparkSession, kind: str, state: list[Row], new: DataFrame, layout: Layout) -> list[Row]:
    """The records in the order of the slice: operation, year, city, population."""
    rows = _state(few, state)
    if rows is not None and MERGE_STRATEGIES[kind].state is State.KEYS:
        rows = rows.select(*layout.keys)
    records = STRATEGIES[kind].in_spark(new, rows, layout)
    ordered = records.orderBy(*layout.order(MERGE_STRATEGIES[kind].order))
    return [(OPS[row[OP]], *(row[c] for c in COLUMNS)) for row in ordered.collect()]


THREE = [(2020, "vancouver", 1), (2020, "seattle", 2), (2020, "kyiv", 3)]


@pytest.mark.parametrize(
    ("kind", "keys", "state", "new", "expected"),
    [
        (
            "Append", (), [],
            [(2020, "vancouver", 1), (2021, "seattle", 2), (2022, "kyiv", 3)],
            [(A, 2020, "vancouver", 1), (A, 2021, "seattle", 2), (A, 2022, "kyiv", 3)],
        ),
        (
            "Append", (), [(2020, "vancouver", 1), (2021, "seattle", 2), (2022, "kyiv", 3)],
            [(2023, "vancouver", 1), (2024, "odessa", 4)],
            [(A, 2023, "vancouver", 1), (A, 2024, "odessa", 4)],
        ),
        ("Append", (), [], [(2021, "b", 1), (None, "c", 2), (2020, "d", 3), (2021, "a", 4), (2021, "b", 1)],
         [(A, None, "c", 2), (A, 2020, "d", 3), (A, 2021, "b", 1), (A, 2021, "a", 4), (A, 2021, "b", 1)]),
        (
            "Ledger", ("year", "city"), [], THREE,
            [(A, 2020, "vancouver", 1), (A, 2020, "seattle", 2), (A, 2020, "kyiv", 3)],
        ),
        ("Ledger", ("year", "city"), THREE, [(2020, "odessa", 4)], [(A, 2020, "odessa", 4)]),
        ("Ledger", ("year", "city"), THREE, [(2020, "seattle", 2), (2020, "kyiv", 3)], []),
        ("Ledger", ("city",), THREE, [(2020, "kyiv", 9), (2019, "lviv", 1)], [(A, 2019, "lviv", 1)]),
        (
            "Snapshot", ("city",), [], [(None, "vancouver", 1), (None, "seattle", 2)],
            [(A, None, "seattle", 2), (A, None, "vancouver", 1)],
        ),
        (
            "Snapshot", ("city",), [(2020, "vancouver", 1), (2020, "seattle", 2)],
            [(None, "vancouver", 1), (None, "seattle", 2)], [],
        ),
        (
            "Snapshot", ("city",), [(2020, "vancouver", 1), (2020, "seattle", 2)],
            [(None, "seattle", 2), (None, "vancouver", 1)], [],
        ),
        # Retracted and corrected records have the old event time; a new event time is a change, no event time is none.
        (
            "Snapshot", ("city",), [(2020, "a", 1), (2020, "b", 2), (2020, "c", 3), (2020, "d", 4)],
            [(None, "c", 5), (2020, "b", 2), (2021, "d", 4), (2021, "e", 6)],
            [(R, 2020, "a", 1), (CF, 2020, "c", 3), (CT, None, "c", 5), (CF, 2020, "d", 4), (CT, 2021, "d", 4),
             (A, 2021, "e", 6)],
        ),
        # Null is a value like others, also where all compared columns are null, in both directions.
        (
            "Snapshot", ("city",), [(1, "gone", None), (1, "same", None), (1, "was", None), (1, "turns", 1)],
            [(1, "same", None), (1, "was", 1), (1, "turns", None), (1, "added", None)],
            [(A, 1, "added", None), (R, 1, "gone", None), (CF, 1, "turns", 1), (CT, 1, "turns", None),
             (CF, 1, "was", None), (CT, 1, "was", 1)],
        ),
        ("Snapshot", ("year", "city", "population"), THREE, [*THREE[1:], (2020, "kyiv", 4)],
         [(A, 2020, "kyiv", 4), (R, 2020, "vancouver", 1)]),
        (
            "UpsertStream", ("year", "city"), THREE, [(2020, "seattle", 2), (2020, "kyiv", 3)], [],
        ),
        ("UpsertStream", ("year", "city"), THREE, [(2020, "odessa", 4)], [(A, 2020, "odessa", 4)]),
        ("UpsertStream", ("city",), THREE, [(2020, "kyiv", 4), (2020, "kyiv", 5)],
         [(CF, 2020, "kyiv", 3), (CT, 2020, "kyiv", 5)]),
        # Strings are ordered by their UTF-8 bytes.
        ("Snapshot", ("city",), [], [(1, "é", 1), (1, "漢", 1), (1, "z", 1), (1, "Z", 1), (1, "\U0001f600", 1)],
         [(A, 1, "Z", 1), (A, 1, "z", 1), (A, 1, "é", 1), (A, 1, "漢", 1), (A, 1, "\U0001f600", 1)]),
    ],
)  # fmt: skip
def test_records(
    few: SparkSession, kind: str, keys: tuple[str, ...], state: list[Row], new: list[Row], expected: list[Row]
) -> None:
    assert _run(few, kind, state, _new(few, new), _layout(keys)) == expected


@pytest.mark.parametrize(
    ("kind", "state", "new", "expected"),
    [
        (
            "ChangelogStream", [],
            [(A, 2020, "vancouver", 1), (A, 2020, "seattle", 2), (A, 2020, "kyiv", 3), (CF, 2020, "vancouver", 1),
             (CT, 2020, "vancouver", 2)],
            [(A, 2020, "kyiv", 3), (A, 2020, "seattle", 2), (A, 2020, "vancouver", 1), (CF, 2020, "vancouver", 1),
             (CT, 2020, "vancouver", 2)],
        ),
        # Two corrections of one key are kept apart, whatever the order of their halves.
        (
            "ChangelogStream", [],
            [(CT, 2020, "a", 2), (CF, 2020, "a", 1), (CF, 2020, "a", 2), (CT, 2020, "a", 3)],
            [(CF, 2020, "a", 1), (CT, 2020, "a", 2), (CF, 2020, "a", 2), (CT, 2020, "a", 3)],
        ),
        # The changes of one key follow each other as they came: what is retracted last is gone, what comes back stays.
        (
            "ChangelogStream", [],
            [(A, 2020, "b", 1), (R, 2020, "a", 7), (CF, 2020, "b", 1), (CT, 2020, "b", 2), (A, 2020, "a", 8),
             (R, 2020, "b", 2)],
            [(R, 2020, "a", 7), (A, 2020, "a", 8), (A, 2020, "b", 1), (CF, 2020, "b", 1), (CT, 2020, "b", 2),
             (R, 2020, "b", 2)],
        ),
        (
            "UpsertStream", [], [(A, *row) for row in THREE],
            [(A, 2020, "kyiv", 3), (A, 2020, "seattle", 2), (A, 2020, "vancouver", 1)],
        ),
        (
            "UpsertStream", [],
            [(A, 2020, "vancouver", 1), (A, 2020, "vancouver", 2), (CT, 2020, "vancouver", 3), (A, 2020, "seattle", 2),
             (A, 2020, "kyiv", 3), (R, 2020, "seattle", 2)],
            [(A, 2020, "kyiv", 3), (A, 2020, "vancouver", 3)],
        ),
        # A retraction carries the old values; one of an unknown key is dropped.
        ("UpsertStream", THREE, [(R, 2020, "kyiv", 99), (R, 2020, "odessa", 1)], [(R, 2020, "kyiv", 3)]),
        ("UpsertStream", THREE, [(R, 2020, "kyiv", 3), (A, 2020, "kyiv", 4)],
         [(CF, 2020, "kyiv", 3), (CT, 2020, "kyiv", 4)]),
    ],
)  # fmt: skip
def test_records_of_streams(
    few: SparkSession, kind: str, state: list[Row], new: list[Row], expected: list[Row]
) -> None:
    frame = _new(few, [row[1:] for row in new], [row[0] for row in new])
    assert _run(few, kind, state, frame, _layout(("year", "city"))) == expected


def test_only_compared_columns_make_a_change_and_all_are_recorded(few: SparkSession) -> None:
    state, new = [(1, "a", 1), (1, "b", 2)], [(1, "a", 9), (2, "b", 9)]
    layout = _layout(("city",), ("year",))
    assert _run(few, "Snapshot", state, _new(few, new), layout) == [(CF, 1, "b", 2), (CT, 2, "b", 9)]


def test_nan_and_both_zeros_are_no_change(few: SparkSession) -> None:
    layout = Layout(pa.schema([]), ("t", "k", "v"), ("k",), ("t", "v"))
    state = few.createDataFrame([(1, 1, float("nan")), (1, 2, 0.0)], "t INT, k INT, v DOUBLE")
    new = few.createDataFrame([(1, 1, float("nan")), (1, 2, -0.0)], "t INT, k INT, v DOUBLE")
    assert snapshot.in_spark(new, state, layout).count() == 0


def test_rows_of_one_key_are_marked_also_where_nothing_changes(few: SparkSession) -> None:
    new = _new(few, [(1, "a", 1), (1, "b", 2), (1, "b", 2)])
    records = snapshot.in_spark(new, _state(few, [(1, "a", 1), (1, "b", 2)]), _layout(("city",)))
    assert {(row["city"], row[COPY]) for row in records.collect()} == {("b", 2)}


def test_column_names_need_no_luck(few: SparkSession) -> None:
    columns = ("when", "a.b", "n", "o`p {x}", "op")
    layout = Layout(pa.schema([]), columns, ("a.b", "n"), ("when", "o`p {x}", "op"))
    types = "`when` INT, `a.b` INT, n INT, `o``p {x}` INT, op INT"
    state = few.createDataFrame([(1, 1, 1, 1, 1)], types)
    new = few.createDataFrame([(1, 1, 1, 2, 1)], types)
    records = snapshot.in_spark(new, state, layout).orderBy(f"`{OP}`").collect()
    assert [tuple(row)[:6] for row in records] == [(2, 1, 1, 1, 1, 1), (3, 1, 1, 1, 2, 1)]


def _oracle(state: dict[Row, Row], new: dict[Row, Row]) -> Counter[Row]:
    """Snapshot with keys (year, city), without Spark: by looking up."""
    out: Counter[Row] = Counter()
    for key in state.keys() | new.keys():
        old, now = state.get(key), new.get(key)
        if old is None:
            out[(A, *key, *now)] += 1
        elif now is None:
            out[(R, *key, *old)] += 1
        elif old != now:
            out.update([(CF, *key, *old), (CT, *key, *now)])
    return out


TABLES = st.dictionaries(
    st.tuples(st.integers(0, 2), st.sampled_from(["", "a", "A", "é", "漢"])),
    st.tuples(st.none() | st.integers(0, 2)),
    max_size=8,
)


@settings(max_examples=15, deadline=None)
@given(state=TABLES, new=TABLES)
def test_snapshot_against_looking_up(few: SparkSession, state: dict[Row, Row], new: dict[Row, Row]) -> None:
    rows = [(*key, *value) for key, value in new.items()]
    old = [(*key, *value) for key, value in state.items()]
    got = _run(few, "Snapshot", old, _new(few, rows), _layout(("year", "city")))
    assert Counter(got) == _oracle(state, new)
    assert [row[1:3] for row in got] == sorted((row[1:3] for row in got), key=lambda k: (k[0], k[1].encode()))
    # Applied to the old rows the records give the new ones.
    current = dict(state)
    for op, year, city, population in got:
        if op in (R, CF):
            assert current.pop((year, city)) == (population,)
        else:
            current[(year, city)] = (population,)
    assert current == new
