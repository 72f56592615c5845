from __future__ import annotations

import pyarrow as pa
import pytest

from airflow_provider_odf.chain import record_rows, schema
from airflow_provider_odf.errors import ChainCorrupted, InvalidInput
from airflow_provider_odf.manifest import model

LEDGER = model.MergeStrategyLedger(primary_key=("id",))
SNAPSHOT = model.MergeStrategySnapshot(primary_key=("id",))


def short(rows):
    """Rows as texts: ``0 +A 1 x``."""
    return [" ".join(str(row[name]) for name in ("offset", "op", "id", "value") if name in row) for row in rows]


def test_history_of_another_writer(foreign):
    sensors = foreign("sensors")
    assert record_rows.tail_rows(sensors, 1).columns == (
        "seq",
        "change",
        "recorded",
        "measured",
        "sensor",
        "celsius",
        "fahrenheit",
    )
    assert list(record_rows.tail_rows(sensors, 2)) == [
        {
            "seq": 2,
            "change": "+A",
            "recorded": "2024-05-03T08:00:00Z",
            "measured": "2024-05-01T11:00:00.250Z",
            "sensor": "s1",
            "celsius": 21.0,
            "fahrenheit": 69.80000000000001,
        },
        {
            "seq": 3,
            "change": "+A",
            "recorded": "2024-05-04T08:00:00Z",
            "measured": "2024-05-01T09:00:00Z",
            "sensor": "s9",
            "celsius": -1.5,
            "fahrenheit": 29.3,
        },
    ]


def test_state_of_another_writer(foreign):
    cities = foreign("cities")
    assert record_rows.state_rows(cities).columns == ("system_time", "event_time", "country", "city", "population")
    assert [(r["city"], r["population"]) for r in record_rows.state_rows(cities)] == [
        ("Vancouver", 2606000),
        ("Lyon", 522000),
        ("Seattle", 3433000),
    ]


@pytest.mark.parametrize(
    ("n", "expected"),
    [
        (1, ["4 +A 5 e"]),
        (2, ["3 +A 4 d", "4 +A 5 e"]),
        (3, ["2 +A 3 c", "3 +A 4 d", "4 +A 5 e"]),
        (100, ["0 +A 1 a", "1 +A 2 b", "2 +A 3 c", "3 +A 4 d", "4 +A 5 e"]),
    ],
)
def test_tail_is_in_offset_order_across_slices(grow, n, expected):
    growing = grow()
    growing.add(("+A", 1, "a"), ("+A", 2, "b"), ("+A", 3, "c"), row_group_size=1)
    growing.add(("+A", 4, "d"), ("+A", 5, "e"))
    assert short(record_rows.tail_rows(growing.dataset, n)) == expected


def test_only_the_slices_asked_for_are_read(grow):
    growing = grow()
    oldest = growing.add(("+A", 1, "a"))
    growing.add(("+A", 2, "b"))
    oldest.unlink()
    assert short(record_rows.tail_rows(growing.dataset, 1)) == ["1 +A 2 b"]
    with pytest.raises(ChainCorrupted, match=f"{oldest.name}: the file is missing"):
        record_rows.tail_rows(growing.dataset, 2)


def test_damaged_slice(grow):
    growing = grow()
    growing.add(("+A", 1, "a")).write_text("no parquet")
    with pytest.raises(ChainCorrupted, match="10 bytes, but its block records "):
        record_rows.state_rows(growing.dataset)


def test_damaged_page(grow):
    growing = grow()
    path = growing.add(*(("+A", n, f"text {n}") for n in range(1000)))
    data = bytearray(path.read_bytes())
    data[200:1200] = bytes(1000)
    path.write_bytes(data)
    with pytest.raises(ChainCorrupted, match=f"{path.name}: checksum mismatch: the content has the hash "):
        record_rows.tail_rows(growing.dataset, 1)


def test_a_directory_in_place_of_a_slice(grow):
    growing = grow()
    path = growing.add(("+A", 1, "a"))
    path.unlink()
    path.mkdir()
    with pytest.raises(ChainCorrupted, match=path.name):
        record_rows.tail_rows(growing.dataset, 1)


def test_key_in_another_case(grow):
    growing = grow(merge=model.MergeStrategyLedger(primary_key=("ID",)))
    growing.add(("+A", 1, "a"), ("+A", 2, "b"))
    assert short(record_rows.state_rows(growing.dataset)) == ["1 a", "2 b"]


def test_key_that_is_not_there(grow):
    growing = grow(merge=model.MergeStrategyLedger(primary_key=("nothing",)))
    growing.add(("+A", 1, "a"))
    with pytest.raises(InvalidInput, match=r"the primary key \(nothing\) has columns"):
        record_rows.state_rows(growing.dataset)


def test_before_the_first_data(grow):
    growing = grow()
    assert list(record_rows.tail_rows(growing.dataset, 5)) == []
    assert list(record_rows.state_rows(growing.dataset)) == []
    assert record_rows.tail_rows(growing.dataset, 5).columns == (
        "offset",
        "op",
        "system_time",
        "event_time",
        "id",
        "value",
    )


def test_rows_are_made_as_they_are_asked_for(grow):
    growing = grow()
    growing.add(*(("+A", n, str(n)) for n in range(25_000)))
    rows = record_rows.state_rows(growing.dataset)
    assert (len(rows), len(rows.first(3))) == (25_000, 3)
    assert short(rows.first(3)) == ["0 0", "1 1", "2 2"]
    assert [row["id"] for row in rows] == list(range(25_000))
    assert [row["id"] for row in record_rows.tail_rows(growing.dataset, 20_000)] == list(range(5000, 25_000))


def test_state_by_key(grow):
    growing = grow(merge=SNAPSHOT)
    growing.add(("+A", 1, "a"), ("+A", 2, "b"), ("+A", None, "n"))
    growing.add(("-C", 1, "a"), ("+C", 1, "A"), ("-R", 2, "b"))
    assert short(record_rows.state_rows(growing.dataset)) == ["1 A", "None n"]
    growing.add(("+A", 2, "again"), ("-R", None, "n"))
    assert short(record_rows.state_rows(growing.dataset)) == ["1 A", "2 again"]


@pytest.mark.parametrize("merge", [{"merge": SNAPSHOT}, {}], ids=["key", "no key"])
def test_a_correction_without_its_new_half_leaves_no_row(grow, merge):
    growing = grow(**merge)
    growing.add(("+A", 1, "a"), ("+A", 2, "b"), ("-C", 1, "a"))
    assert short(record_rows.state_rows(growing.dataset)) == ["2 b"]


def test_state_of_a_ledger_has_each_key_once(grow):
    growing = grow(merge=LEDGER)
    growing.add(("+A", 1, "a"), ("+A", 2, None))
    growing.add(("+A", 3, "c"))
    assert short(record_rows.state_rows(growing.dataset)) == ["1 a", "2 None", "3 c"]


def test_state_without_a_key_undoes_row_by_row(grow):
    growing = grow()
    growing.add(("+A", 1, "a"), ("+A", 1, "a"), ("+A", 2, None), ("+A", 3, "c"))
    assert short(record_rows.state_rows(growing.dataset)) == ["1 a", "1 a", "2 None", "3 c"]
    growing.add(("-R", 1, "a"), ("-C", 2, None), ("+C", 2, "b"), ("-R", 9, "never there"))
    assert short(record_rows.state_rows(growing.dataset)) == ["1 a", "3 c", "2 b"]


def test_state_without_a_key_of_nested_columns(grow):
    growing = grow(columns=[pa.field("id", pa.list_(pa.int64())), pa.field("value", pa.struct([("x", pa.int8())]))])
    growing.add(("+A", [1, None], {"x": 1}), ("+A", [2], None))
    growing.add(("-R", [1, None], {"x": 1}))
    assert next(iter(record_rows.state_rows(growing.dataset)))["id"] == [2]


def test_columns_that_came_later_are_null_before(grow):
    growing = grow()
    growing.add(("+A", 1, "a"))
    growing.schema = growing.schema.append(pa.field("more", pa.date32()))
    growing.append(schema.set_data_schema(growing.schema))
    growing.add(("+A", 2, "b", None))
    rows = record_rows.tail_rows(growing.dataset, 10)
    assert [list(row) for row in rows] == [["offset", "op", "system_time", "event_time", "id", "value", "more"]] * 2
    assert next(iter(record_rows.state_rows(growing.dataset)))["more"] is None


def test_slices_in_other_encodings_are_read_together(grow):
    """Views as another writer has them, next to plain texts."""
    growing = grow(columns=[pa.field("id", pa.int64()), pa.field("value", pa.string_view())])
    growing.add(("+A", 1, "a"))
    growing.schema = growing.schema.set(5, pa.field("value", pa.large_string()))
    growing.add(("+A", 2, "b"))
    assert short(record_rows.state_rows(growing.dataset)) == ["1 a", "2 b"]
