"""The strategies' published vectors (`expected` in the order of the slice) and what they leave open, by the kernels."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_provider_odf.engine.column_layout import POSITION, Layout
from airflow_provider_odf.engine.columnar.state import RowsInMemory, rows_in_memory
from airflow_provider_odf.engine.strategies import kernel_of
from airflow_provider_odf.engine.strategies.strategy import Input
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.records import keys as key_order
from airflow_provider_odf.records.schema import MILLISECONDS, OP

A, R, CF, CT = "+A", "-R", "-C", "+C"
OPS = (A, R, CF, CT)
COLUMNS = ("year", "city", "population")
TYPES = {"year": pa.date32(), "city": pa.string(), "population": pa.int64()}
SYSTEM = [("offset", pa.int64()), ("op", pa.int32()), ("system_time", MILLISECONDS)]

Row = tuple[Any, ...]


def _table(rows: list[Row], ops: list[int] | None = None, columns: dict[str, pa.DataType] = TYPES) -> pa.Table:
    """Rows as a table. A number for a date is its year."""
    values = [
        [dt.date(v, 1, 1) if pa.types.is_date(kind) and v is not None else v for v in (row[i] for row in rows)]
        for i, kind in enumerate(columns.values())
    ]
    made = pa.table([pa.array(v, kind) for v, kind in zip(values, columns.values(), strict=True)], names=list(columns))
    return made if ops is None else made.append_column(OP, pa.array(ops, pa.int32()))


def _layout(
    keys: tuple[str, ...], compared: tuple[str, ...] | None = None, columns: dict[str, pa.DataType] = TYPES
) -> Layout:
    compared = tuple(c for c in columns if c not in keys) if compared is None else compared
    return Layout(pa.schema([*SYSTEM, *columns.items()]), tuple(columns), keys, compared)


@dataclass(frozen=True)
class _History:
    """A history whose current rows are in a cache."""

    layout: Layout
    table: pa.Table

    def rows(self) -> RowsInMemory | None:
        if not self.table.num_rows:
            return None
        cached = self.table.append_column(OP, pa.repeat(pa.scalar(0, pa.int32()), self.table.num_rows))
        cached = cached.append_column(POSITION, pa.repeat(pa.scalar(-1, pa.int64()), self.table.num_rows))
        return rows_in_memory(cached, self.layout, POSITION)

    def unknown(self, new: pa.Table) -> pa.Array:
        known = key_order.are_in(new, self.table.select(new.column_names), new.column_names)
        return pc.indices_nonzero(pc.invert(known)).cast(pa.int64())


def _run(kind: str, state: pa.Table, new: pa.Table, layout: Layout) -> list[Row]:
    """The records in the order of the slice: the operation and the columns, a date as its year."""
    rows = Input(new, Instant.parse("2019-01-01T00:00:00Z"), "new rows")
    (records,) = kernel_of(kind)([rows], _History(layout, state))
    assert records.dropped == 0
    return [
        (OPS[row[OP]], *(v.year if isinstance(v := row[c], dt.date) else v for c in layout.columns))
        for table in records.tables
        for row in table.to_pylist()
    ]


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
         [(A, 2019, "c", 2), (A, 2020, "d", 3), (A, 2021, "b", 1), (A, 2021, "a", 4), (A, 2021, "b", 1)]),
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
def test_records(kind: str, keys: tuple[str, ...], state: list[Row], new: list[Row], expected: list[Row]) -> None:
    assert _run(kind, _table(state), _table(new), _layout(keys)) == expected


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
def test_records_of_streams(kind: str, state: list[Row], new: list[Row], expected: list[Row]) -> None:
    rows = _table([row[1:] for row in new], [OPS.index(row[0]) for row in new])
    assert _run(kind, _table(state), rows, _layout(("year", "city"))) == expected


def test_only_compared_columns_make_a_change_and_all_are_recorded() -> None:
    state, new = [(1, "a", 1), (1, "b", 2)], [(1, "a", 9), (2, "b", 9)]
    layout = _layout(("city",), ("year",))
    assert _run("Snapshot", _table(state), _table(new), layout) == [(CF, 1, "b", 2), (CT, 2, "b", 9)]


def test_nan_and_both_zeros_are_no_change() -> None:
    columns = {"t": pa.date32(), "k": pa.int64(), "v": pa.float64()}
    state, new = ([(2020, 1, float("nan")), (2020, 2, zero)] for zero in (0.0, -0.0))
    assert (
        _run("Snapshot", *(_table(rows, columns=columns) for rows in (state, new)), _layout(("k",), None, columns))
        == []
    )


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
    st.tuples(st.integers(2000, 2002), st.sampled_from(["", "a", "A", "é", "漢"])),
    st.tuples(st.none() | st.integers(0, 2)),
    max_size=8,
)


@settings(max_examples=100, deadline=None)
@given(state=TABLES, new=TABLES)
def test_snapshot_against_looking_up(state: dict[Row, Row], new: dict[Row, Row]) -> None:
    rows = [(*key, *value) for key, value in new.items()]
    old = [(*key, *value) for key, value in state.items()]
    got = _run("Snapshot", _table(old), _table(rows), _layout(("year", "city")))
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
