"""The state cache: when it is written, that it says what the history says, and that a broken one does no harm."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from airflow_provider_odf.engine import state
from airflow_provider_odf.protocol import HistorySlice, OffsetInterval

pytestmark = pytest.mark.spark

Make = Callable[..., Any]


@pytest.fixture
def early(monkeypatch: pytest.MonkeyPatch) -> None:
    """A state is kept from three slices on."""
    monkeypatch.setattr(state, "CACHED_SLICES", 3)


def _rows(*values: int) -> list[dict[str, int]]:
    return [{"k": k, "v": v} for k, v in enumerate(values)]


def _cached(data: Any) -> list[dict[str, Any]]:
    rows = pq.read_table(next(Path(data.state.path).glob("f1620*"))).to_pylist()
    return sorted(rows, key=lambda r: r["k"])


@pytest.mark.parametrize("kind", ["Snapshot", "UpsertStream", "Ledger"])
def test_merging_onto_a_cache_is_merging_onto_the_history(polled: Make, tmp_path: Path, early: None, kind: str) -> None:
    cached, plain = (polled("k BIGINT; v BIGINT", kind, "k", work=tmp_path / name) for name in ("cached", "plain"))
    polls = [
        _rows(1, 2, 3),
        _rows(1, 5),
        _rows(1, 5, 6, 7),
        _rows(2, 5, 6),
        _rows(2, 5, 9, 9),
        _rows(2),
        _rows(2, 2, 3, 4, 5),
        _rows(2, 2, 3, 4, 5, 6),
    ]
    for rows in polls:
        cached.poll(rows)
        plain.state = None
        plain.poll(rows)
        assert cached.records("k", "v") == plain.records("k", "v")
    assert cached.state is not None


def test_a_state_is_kept_when_enough_slices_follow(polled: Make, early: None) -> None:
    data = polled("k BIGINT; v BIGINT", "Snapshot", "k")
    kept = [data.poll(rows).new_state for rows in (_rows(1), _rows(2), _rows(2), _rows(3, 1), _rows(4, 1), _rows(4))]
    assert [k and k.last_offset for k in kept] == [None, None, None, 5, None, None]
    assert [(r["k"], r["v"], r["event_time"].day) for r in _cached(data)] == [(0, 3, 4), (1, 1, 4)]
    about = json.loads((Path(data.state.path) / "state.json").read_text())
    assert (about["kind"], about["keys"], about["lastOffset"]) == ("Snapshot", ["k"], 5)


def test_of_a_ledger_only_the_keys_are_kept(polled: Make, early: None) -> None:
    data = polled("k BIGINT; v BIGINT", "Ledger", "k")
    for rows in (_rows(1), _rows(1, 2), _rows(1, 2, 3)):
        data.poll(rows)
    assert _cached(data) == [{"k": 0}, {"k": 1}, {"k": 2}]


def test_the_first_large_slice_is_its_own_state(polled: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "CACHED_BYTES", -1)
    data = polled("k BIGINT; v BIGINT", "Snapshot", "k")
    (first,) = data.poll(_rows(1, 2, 3, 4, 5, 6)).new_slices
    assert Path(first.path).samefile(Path(data.state.path) / Path(first.path).name)
    assert data.poll(_rows(1, 2, 3, 4, 5)).new_state is None
    # Two of six rows are more than a fifth.
    assert data.poll(_rows(1, 2, 3, 4)).new_state.last_offset == 7
    assert [r["v"] for r in _cached(data)] == [1, 2, 3, 4]


def test_a_correction_without_its_new_half_leaves_no_row(polled: Make) -> None:
    """Another writer may cut a history there: the key is added again."""
    data = polled("k BIGINT; v BIGINT", "UpsertStream", "k")
    data.poll(_rows(1, 2))
    table = pq.read_table(data.history[0].path)
    half = table.slice(1).set_column(0, "offset", pa.array([2])).set_column(1, "op", pa.array([2], pa.int32()))
    pq.write_table(half.cast(table.schema), data.work / "half")
    data.history += (HistorySlice(str(data.work / "half"), OffsetInterval(2, 2)),)
    data.poll(_rows(1, 3))
    assert data.records("k", "v", last=2) == [("-C", 1, 2), ("+A", 1, 3)]


def _remove(path: Path) -> None:
    shutil.rmtree(path)


def _cut(path: Path) -> None:
    file = next(path.glob("f1620*"))
    file.write_bytes(file.read_bytes()[:-20])


def _garble(path: Path) -> None:
    """Same size, same footer, other pages."""
    file = next(path.glob("f1620*"))
    raw = file.read_bytes()
    file.write_bytes(raw[:4] + bytes(80) + raw[84:])


def _forget(path: Path) -> None:
    (path / "state.json").write_text("{")


def _rename_column(path: Path) -> None:
    about = json.loads((path / "state.json").read_text())
    (path / "state.json").write_text(json.dumps(about | {"columns": "struct<k:bigint>"}))


@pytest.mark.parametrize("damage", [_remove, _cut, _garble, _forget, _rename_column])
def test_a_broken_cache_is_not_used(polled: Make, early: None, damage: Callable[[Path], None]) -> None:
    data = polled("k BIGINT; v BIGINT", "Snapshot", "k")
    for rows in (_rows(1), _rows(2), _rows(3, 1)):
        data.poll(rows)
    damage(Path(data.state.path))
    data.poll(_rows(3, 2))
    assert data.records("k", "v", last=2) == [("-C", 1, 1), ("+C", 1, 2)]
    assert any("without the cached state" in p for p in data.progress) == (damage is _garble)


def test_a_cache_that_is_not_of_this_history_is_not_used(polled: Make, early: None) -> None:
    data = polled("k BIGINT; v BIGINT", "Snapshot", "k")
    for rows in (_rows(1), _rows(2), _rows(3, 1)):
        data.poll(rows)
    last = data.history[-1]
    data.history = (*data.history[:-1], type(last)(last.path, OffsetInterval(last.offset_interval.start, 99)))
    data.poll(_rows(3, 1))
    assert data.history[-1].offset_interval.end == 99
