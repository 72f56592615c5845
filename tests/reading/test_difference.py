"""The net difference of two positions, against the current rows at both."""

from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from airflow_provider_odf.chain.publications import last_offset_at
from airflow_provider_odf.chain.replay import replay
from airflow_provider_odf.chain.slices import OffsetRange
from airflow_provider_odf.errors import ChainCorrupted, InvalidInput
from airflow_provider_odf.manifest import model
from airflow_provider_odf.merge_strategies import OPERATION_NAMES
from airflow_provider_odf.reading import difference
from airflow_provider_odf.reading.difference import DifferenceScan
from airflow_provider_odf.reading.scan import CurrentScan

SNAPSHOT = model.MergeStrategySnapshot(primary_key=["id"])


def rows_of(numbers, first=0, last=None):
    state = replay(numbers.dataset)
    offsets = OffsetRange("offset", first, state.last_offset if last is None else last)
    table = DifferenceScan(numbers.dataset, state, offsets=offsets).to_table()
    return [(OPERATION_NAMES[r["op"]], r["id"], r["value"]) for r in table.to_pylist()]


@pytest.fixture
def numbers(grow):
    numbers = grow(merge=SNAPSHOT)
    numbers.add(("+A", 1, "one"), ("+A", 2, "two"), ("+A", 3, "three"))
    numbers.add(("-C", 1, "one"), ("+C", 1, "uno"), ("-R", 2, "two"), ("+A", 4, "four"))
    numbers.add(("-C", 1, "uno"), ("+C", 1, "one"), ("-R", 4, "four"), ("-C", 3, "three"), ("+C", 3, "tres"))
    numbers.add(("-C", 3, "tres"), ("+C", 3, "drei"), ("+A", 2, "zwei"))
    return numbers


def test_of_a_key_its_first_and_its_last_record_count(numbers):
    assert rows_of(numbers, 0) == [("+A", 1, "one"), ("+A", 3, "drei"), ("+A", 2, "zwei")]
    # The value of 1 changed and changed back; 4 came and went; 2 has another value after all.
    assert rows_of(numbers, 3) == [
        ("-C", 2, "two"),
        ("-C", 3, "three"),
        ("+C", 3, "drei"),
        ("+C", 2, "zwei"),
    ]
    assert rows_of(numbers, 3, 6) == [("-C", 1, "one"), ("+C", 1, "uno"), ("-R", 2, "two"), ("+A", 4, "four")]
    assert rows_of(numbers, 5, 4) == []


def test_a_row_that_went_and_came_back_is_no_difference(grow):
    numbers = grow(merge=SNAPSHOT)
    numbers.add(("+A", 1, "one"), ("+A", 2, "two"))
    numbers.add(("-R", 1, "one"), ("-R", 2, "two"))
    numbers.add(("+A", 1, "one"), ("+A", 2, "zwei"))
    assert rows_of(numbers, 2) == [("-C", 2, "two"), ("+C", 2, "zwei")]


def test_without_a_key_records_undo_each_other(grow):
    numbers = grow()
    numbers.add(("+A", 1, "a"), ("+A", 1, "a"), ("+A", 2, None))
    assert rows_of(numbers) == [("+A", 1, "a"), ("+A", 1, "a"), ("+A", 2, None)]
    numbers.add(("-R", 1, "a"), ("-R", 2, None), ("+A", 3, "c"), ("-C", 1, "a"), ("+C", 1, "b"), ("-R", 3, "c"))
    assert rows_of(numbers) == [("+A", 1, "b")]
    assert rows_of(numbers, 3) == [("-R", 1, "a"), ("-R", 2, None), ("-R", 1, "a"), ("+A", 1, "b")]


def test_columns_conditions_and_limits(numbers, monkeypatch):
    state = replay(numbers.dataset)
    scan = DifferenceScan(numbers.dataset, state, offsets=OffsetRange("offset", 3, 14))
    assert scan.select("value").to_table().to_pydict() == {"value": ["two", "three", "drei", "zwei"]}
    assert scan.where(pa.compute.field("id") == 2).select("id", "op").to_table().to_pydict() == {
        "id": [2, 2],
        "op": [2, 3],
    }
    with pytest.raises(InvalidInput, match="a difference cannot become a DataFrame"):
        scan.to_spark(None)
    monkeypatch.setattr(difference, "MAX_RECORDS", 11)
    with pytest.raises(InvalidInput, match="12 records are between the two blocks, more than the 11 that can be comp"):
        scan.to_table()


def test_all_rows_are_read_in_parts_by_key(numbers, monkeypatch):
    monkeypatch.setattr(difference, "_AT_ONCE", 3)
    state = replay(numbers.dataset)
    scan = DifferenceScan(numbers.dataset, state, offsets=OffsetRange("offset", 3, 14))
    assert [table.select(["op", "id", "value"]).to_pydict() for table in scan.all_in_order()] == [
        {"op": [2, 3, 2], "id": [2, 2, 3], "value": ["two", "zwei", "three"]},
        {"op": [3], "id": [3], "value": ["drei"]},
    ]
    assert (len(scan), len(scan.where(pa.compute.field("id") == 2))) == (4, 2)
    nothing = DifferenceScan(numbers.dataset, state, offsets=OffsetRange("offset", 15, 14))
    assert (list(nothing.all_in_order()), len(nothing)) == ([], 0)


def test_a_page_reads_what_was_kept_and_its_own_slices(grow, tmp_path):
    numbers = grow(merge=SNAPSHOT)
    numbers.add(("+A", 3, "c"))
    lost = numbers.add(("+A", 1, "a"))
    numbers.add(("+A", 2, "b"))
    scan = DifferenceScan(
        replace(numbers.dataset, cache=tmp_path), replay(numbers.dataset), offsets=OffsetRange("offset", 0, 2)
    )
    assert scan.in_order(range(4), 0, 3)["value"].to_pylist() == ["a", "b", "c"]
    (kept,) = tmp_path.glob("difference-*")
    lost.unlink()
    again = DifferenceScan(replace(numbers.dataset, cache=tmp_path), scan.state, offsets=scan.offsets)
    assert again.in_order([0], 1, 2)["value"].to_pylist() == ["b", "c"]
    assert again.in_order([1], 0, 2).num_rows == 0
    kept.write_bytes(kept.read_bytes()[:-1])
    with pytest.raises(ChainCorrupted, match="missing"):
        DifferenceScan(replace(numbers.dataset, cache=tmp_path), scan.state, offsets=scan.offsets).in_order(
            range(4), 0, 1
        )


@pytest.mark.parametrize("merge", [SNAPSHOT, model.MergeStrategyAppend()])
def test_current_rows_are_kept_and_extended(grow, tmp_path, merge):
    numbers = grow(merge=merge)
    first = numbers.add(("+A", 2, "b"), ("+A", 1, "a"), ("+A", 3, "c"))

    def current():
        state = replay(numbers.dataset)
        table = DifferenceScan(replace(numbers.dataset, cache=tmp_path), state).in_order((0, 3), 0, 9)
        assert table.num_rows == CurrentScan(numbers.dataset, state).to_table().num_rows
        return sorted(zip(table["id"].to_pylist(), table["value"].to_pylist(), strict=True))

    assert current() == [(1, "a"), (2, "b"), (3, "c")]
    numbers.add(("+A", 4, "d"))
    assert current() == [(1, "a"), (2, "b"), (3, "c"), (4, "d")]
    numbers.add(("-C", 2, "b"), ("+C", 2, "B"), ("-R", 3, "c"))
    numbers.add(("-R", 1, "a"), ("+A", 1, "a"))
    assert current() == [(1, "a"), (2, "B"), (4, "d")]
    numbers.add(("-R", 1, "a"), ("-R", 9, "never there"))
    assert current() == [(2, "B"), (4, "d")]
    if merge is SNAPSHOT:  # The first slice is read for its rows, not again for what is current.
        first.unlink()
        numbers.add(("-C", 2, "B"), ("+C", 2, "bee"))
        state = replay(numbers.dataset)
        table = DifferenceScan(replace(numbers.dataset, cache=tmp_path), state).in_order((0, 3), 0, 9)
        assert table["value"].to_pylist() == ["bee", "d"]


def test_only_the_newest_differences_are_kept(grow, tmp_path, monkeypatch):
    monkeypatch.setattr(difference, "CACHED", 2)
    numbers = grow(merge=SNAPSHOT)
    numbers.add(("+A", 1, "a"), ("+A", 2, "b"), ("+A", 3, "c"))
    for last in range(3):
        offsets = OffsetRange("offset", 0, last)
        DifferenceScan(replace(numbers.dataset, cache=tmp_path), replay(numbers.dataset), offsets=offsets).in_order(
            range(4), 0, 1
        )
    assert len(list(tmp_path.glob("difference-*"))) == 2


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_it_is_the_difference_of_the_current_rows(tmp_path_factory, data):
    """Random snapshots: what is only at the end is +A or +C, what is only at the start is -R or -C."""
    from airflow_provider_odf.chain.store import Store
    from airflow_provider_odf.manifest.names import DatasetAlias
    from tests.chain.conftest import Growing

    store = Store.open(tmp_path_factory.mktemp("store"))
    columns = (pa.field("id", pa.int64()), pa.field("value", pa.string()))
    numbers = Growing(store.create(DatasetAlias.parse("numbers")), SNAPSHOT, columns)
    now: dict[int, str] = {}
    heads = []
    for _ in range(4):
        new = data.draw(st.dictionaries(st.integers(0, 4), st.sampled_from("ab"), max_size=5))
        changes = [("-R", k, v) for k, v in now.items() if k not in new]
        changes += [("+A", k, v) for k, v in new.items() if k not in now]
        for key in now.keys() & new.keys():
            changes += [("-C", key, now[key]), ("+C", key, new[key])] if now[key] != new[key] else []
        now = new
        if changes:
            numbers.add(*changes)
            heads.append(numbers.dataset.head())
    if len(heads) > 1:
        start, end = sorted(data.draw(st.lists(st.integers(0, len(heads) - 1), min_size=2, max_size=2)))
        before, after = (
            {
                (r["id"], r["value"])
                for r in CurrentScan(numbers.dataset, replay(numbers.dataset, h)).to_table().to_pylist()
            }
            for h in (heads[start], heads[end])
        )
        first, last = (last_offset_at(numbers.dataset, heads[n]) for n in (start, end))
        found = rows_of(numbers, first + 1, last)
        assert {(k, v) for op, k, v in found if op[0] == "+"} == after - before
        assert {(k, v) for op, k, v in found if op[0] == "-"} == before - after
        assert len(found) == len(after ^ before)
