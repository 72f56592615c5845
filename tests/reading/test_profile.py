"""Profiles of columns: nulls, distinct values, ends and the most frequent values of a slice."""

from datetime import date, datetime, time
from decimal import Decimal

import pyarrow as pa
import pytest

from airflow_provider_odf.chain.replay import replay
from airflow_provider_odf.errors import ChainCorrupted
from airflow_provider_odf.reading.event_hours import Part, records_by_hour
from airflow_provider_odf.reading.profile import ColumnProfile, profile

NANOSECONDS = pa.scalar(1_704_067_200_000_000_001, pa.timestamp("ns", "UTC"))


def profiles(growing):
    """Profiles of the newest slice by column."""
    state = replay(growing.dataset)
    return {column.name: column for column in profile(growing.dataset, state.slices[-1], state)}


def test_rows_that_a_slice_added_or_corrected(grow):
    growing = grow()
    growing.add(
        ("+A", 1, "a"), ("+A", 2, "b"), ("+A", 3, "b"), ("+A", 4, None), ("-R", 1, "a"), ("-C", 2, "b"), ("+C", 2, "b")
    )
    found = profiles(growing)
    assert list(found) == ["event_time", "id", "value"]
    assert found["id"] == ColumnProfile("id", 5, 0, 4, 1, 4, ((2, 2),))
    assert found["value"] == ColumnProfile("value", 5, 1, 2, "a", "b", (("b", 3),))
    assert found["value"].null_share == 0.2


def test_an_exchanged_slice_is_no_profile_and_has_no_hours(grow):
    growing = grow()
    first, second = growing.add(("+A", 1, "a")), growing.add(("+A", 2, "b"))
    second.write_bytes(first.read_bytes())
    with pytest.raises(ChainCorrupted, match=f"{second.name}: checksum mismatch"):
        profiles(growing)
    state = replay(growing.dataset)
    with pytest.raises(ChainCorrupted, match=f"{second.name}: checksum mismatch"):
        list(records_by_hour(growing.dataset, map(Part, state.slices), state))


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (pa.array([Decimal("1.50"), Decimal("2.50")]), (2, "1.50", "2.50")),
        (pa.array([date(2024, 1, 1), None]), (1, "2024-01-01", "2024-01-01")),
        (pa.array([True, False]), (2, False, True)),
        (
            pa.array([datetime(2024, 1, 1)], pa.timestamp("ms", "UTC")),
            (1, "2024-01-01T00:00:00Z", "2024-01-01T00:00:00Z"),
        ),
        (pa.repeat(NANOSECONDS, 1), (1, "2024-01-01T00:00:00.000000001Z", "2024-01-01T00:00:00.000000001Z")),
        (pa.array([time(1, 2)]), (1, "01:02:00", "01:02:00")),
        (pa.array([b"x"]), (1, "eA==", "eA==")),
        (pa.array(["x", "y"], pa.string_view()), (2, "x", "y")),
        (pa.array([1.5, float("nan")]), (2, 1.5, 1.5)),
        (pa.array([None, None], pa.int64()), (0, None, None)),
        (pa.array([{"a": 1}]), (None, None, None)),
        (pa.array([[1, 2]]), (None, None, None)),
    ],
    ids=lambda value: str(value.type) if isinstance(value, pa.Array) else "",
)
def test_types(grow, values, expected):
    growing = grow(columns=(pa.field("x", values.type),))
    growing.add(*[("+A", value) for value in values])
    found = profiles(growing)["x"]
    assert (found.distinct, found.least, found.greatest) == expected
    assert (found.rows, found.nulls) == (len(values), values.null_count)


def test_a_column_that_the_slice_does_not_have(grow):
    from airflow_provider_odf.chain import schema

    growing = grow()
    growing.add(("+A", 1, "a"))
    growing.append(schema.set_data_schema(growing.schema.append(pa.field("note", pa.string()))))
    assert profiles(growing)["note"] == ColumnProfile("note", 1, 1, 0)


def test_the_first_part_of_a_large_slice(grow, monkeypatch):
    from airflow_provider_odf.chain import slices

    monkeypatch.setattr("airflow_provider_odf.reading.profile.MOST_ROWS", 4)
    monkeypatch.setattr(slices, "_BATCH", 3)
    growing = grow()
    growing.add(*[("+A", number, "x") for number in range(10)])
    assert profiles(growing)["id"] == ColumnProfile("id", 6, 0, 6, 0, 5)
