"""Many small inputs of one request: the same history as one request for each, without a plan for each."""

from __future__ import annotations

import random

import pytest

from airflow_provider_odf.engine.columnar import state
from airflow_provider_odf.errors import InvalidQuery
from airflow_provider_odf.protocol import SqlQueryStep, Transform

pytestmark = pytest.mark.spark

COLUMNS = "event_time TIMESTAMP; id INT; k STRING; v DOUBLE; n STRUCT<a: INT>"
KEYS = ("id", "k")
VALUES = (None, 0.0, -0.0, float("nan"), 1.5, 2.5)


def rows(rng: random.Random, *, ops: bool, doubled: bool) -> list[dict]:
    """Rows of few keys, so that they meet; some of them twice."""
    made = []
    for id_ in rng.sample(range(6), rng.randint(0, 5)):
        row = {
            "event_time": rng.choice((None, "2024-03-01T00:00:00Z", "2024-03-02T00:00:00Z")),
            "id": id_,
            "k": rng.choice("ab"),
            "v": rng.choice(VALUES),
            "n": rng.choice((None, {"a": None}, {"a": 1})),
        }
        made.append({"op": rng.choice((0, 0, 0, 1)), **row} if ops else row)
    made += made[:1] if doubled and rng.random() < 0.3 else []
    rng.shuffle(made)
    return [{k: "NaN" if v != v else v for k, v in row.items()} for row in made]


def shown(polled) -> list[tuple]:
    return [
        tuple(repr(v).replace("-0.0", "0.0") for v in record) for record in polled.records("id", "k", "v", "n", "op")
    ]


@pytest.mark.parametrize("kind", ["Append", "Ledger", "Snapshot", "UpsertStream", "ChangelogStream"])
def test_several_inputs_give_what_one_after_the_other_gives(polled, tmp_path, kind) -> None:
    rng = random.Random(kind)
    has_ops = kind in ("UpsertStream", "ChangelogStream")
    columns = f"op INT; {COLUMNS}" if has_ops else COLUMNS
    keys = () if kind == "Append" else KEYS
    inputs = [rows(rng, ops=has_ops, doubled=kind in ("Ledger", "Snapshot")) for _ in range(12)]
    together, apart = (polled(columns, kind, *keys, work=tmp_path / name) for name in ("together", "apart"))
    for part in (inputs[:5], inputs[5:]):
        together.poll(*part)
        for one in part:
            apart.poll(one)
    assert shown(together) == shown(apart)
    assert len(together.history) == len(apart.history)
    assert together.history[-1].offset_interval == apart.history[-1].offset_interval


def test_event_times_that_a_source_does_not_have_are_those_of_each_input(polled) -> None:
    dataset = polled("id INT", "Append")
    dataset.poll([{"id": 1}], [{"id": 2}])
    assert dataset.records("id", "event_time") == [
        ("+A", 1, "2024-04-01T00:00:00+00:00"),
        ("+A", 2, "2024-04-01T00:00:00+00:00"),
    ]


def test_only_columns_of_compare_columns_are_a_change(polled) -> None:
    dataset = polled("id INT; a INT; b INT", "Snapshot", "id", compare=["a"])
    dataset.poll(
        [{"id": 1, "a": 1, "b": 1}],
        [{"id": 1, "a": 1, "b": 2}],
        [{"id": 1, "a": 2, "b": 3}],
    )
    assert dataset.records("a", "b") == [("+A", 1, 1), ("-C", 1, 1), ("+C", 2, 3)]


def test_preprocess_of_rows_is_applied_to_all_inputs_at_once(polled) -> None:
    query = "WITH good AS (SELECT * FROM input WHERE id > 0) SELECT id, explode(split(v, ' ')) AS v FROM good"
    dataset = polled("id INT; v STRING", "Append", preprocess=Transform("spark", (SqlQueryStep(query),)))
    success = dataset.poll(
        [{"id": 1, "v": "a b"}, {"id": -1, "v": "x"}], [{"id": -2, "v": "x"}], [], [{"id": 3, "v": "c"}]
    )
    assert [sum(s.offset_interval.count for s in new) for new in success.slices] == [2, 0, 0, 1]
    assert dataset.records("id", "v") == [("+A", 1, "a"), ("+A", 1, "b"), ("+A", 3, "c")]
    assert [line for line in dataset.progress if line.startswith("merging")] == [
        "merging 4 inputs, poll-1-0.json to poll-1-3.json"
    ]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT max(id) AS id FROM input",
        "SELECT id FROM input ORDER BY id LIMIT 1",
        "SELECT id, row_number() OVER (ORDER BY id) AS v FROM input",
        "SELECT id FROM input WHERE id = (SELECT max(id) FROM input)",
        "SELECT id + CAST(monotonically_increasing_id() AS INT) AS id FROM input",
    ],
)
def test_a_query_over_several_rows_sees_one_input_at_a_time(polled, query) -> None:
    dataset = polled("id INT", "Append", preprocess=Transform("spark", (SqlQueryStep(query),)))
    success = dataset.poll([{"id": 1}], [{"id": 2}])
    assert [sum(s.offset_interval.count for s in new) for new in success.slices] == [1, 1]
    assert [row[1] for row in dataset.records("id")] == [1, 2]


def test_messages_name_the_input(polled) -> None:
    dataset = polled("id INT; v INT", "Ledger", "id")
    good = [{"id": 1, "v": 1}]
    for bad, message in (
        ([{"id": 2, "v": 1}, {"id": 2, "v": 2}], r"poll-\d-1.json: rows with the same primary key differ: \(id=2\)"),
        ([{"id": None, "v": 1}], r"poll-\d-1.json: the primary key column id is null in 1 row"),
    ):
        with pytest.raises(InvalidQuery, match=message):
            dataset.poll(good, bad)
    dataset.history = ()
    with pytest.raises(Exception, match=r"poll-\d-1.json: line 1, column v: 'x' is not an INT"):
        dataset.poll(good, [{"id": 2, "v": "x"}])


def test_rows_that_are_the_same_count_once(polled) -> None:
    dataset = polled("id INT; v INT", "Snapshot", "id")
    success = dataset.poll([{"id": 1, "v": 1}], [{"id": 1, "v": 1}, {"id": 2, "v": 2}, {"id": 2, "v": 2}])
    assert dataset.records("id") == [("+A", 1), ("+A", 2)]
    assert success.notices == ("poll-1-1.json: dropped 1 duplicate row",)


def test_a_long_history_is_asked_only_for_the_keys_that_come(polled, monkeypatch) -> None:
    dataset = polled("id INT; v INT", "Ledger", "id")
    dataset.poll([{"id": i, "v": i} for i in range(100)])
    monkeypatch.setattr("airflow_provider_odf.records.files.SMALL", 1000)
    dataset.poll([{"id": 5, "v": 0}, {"id": 100, "v": 1}], [{"id": 100, "v": 2}, {"id": 101, "v": 3}])
    assert dataset.records("id", "v", last=2) == [("+A", 100, 1), ("+A", 101, 3)]


def test_a_large_state_is_replaced_by_small_snapshots(polled, monkeypatch) -> None:
    dataset = polled("id INT; v INT", "Snapshot", "id")
    dataset.poll([{"id": i, "v": i} for i in range(3)])
    monkeypatch.setattr("airflow_provider_odf.records.files.SMALL", 1000)
    dataset.poll([{"id": 1, "v": 0}], [{"id": 1, "v": 0}, {"id": 7, "v": 1}])
    assert dataset.records("id", "v", last=5) == [("-R", 0, 0), ("-C", 1, 1), ("+C", 1, 0), ("-R", 2, 2), ("+A", 7, 1)]


def test_each_slice_of_many_inputs_is_read_once(polled, monkeypatch) -> None:
    read = []
    has_types = state._has_types
    monkeypatch.setattr(state, "_has_types", lambda path, layout: read.append(path) or has_types(path, layout))
    dataset = polled("id INT; v INT", "Snapshot", "id")
    dataset.poll(*([{"id": 1, "v": number}] for number in range(20)))
    assert len(dataset.history) == 20
    assert len(read) == len(set(read)) == 20
