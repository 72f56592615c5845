"""Transforms on real Flink and as derivatives: the same rows over all input.

The roots of a derivative get the input in three polls, with late records. Flink gets the same rows at once and in the
order of event time, so that none is late for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import yaml

from airflow_provider_odf.chain.record_rows import state_rows
from airflow_provider_odf.chain.replay import replay
from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.runner.local import LocalRunner
from tests.cycle.cut_examples import CURRENCY_CONVERSION, OVERDUE_SHIPMENTS
from tests.cycle.cut_tokens import REWARDS_OF_TOKENS
from tests.cycle.cuts import Folder, Root, Row
from tests.dialect.flink import comparison, oracle

END = "2100-01-01"
"""Time of a last record of each root. The watermark then passes all others, as it does in Flink at the end of input."""
_NOTHING = {"BIGINT": -1, "INT": 0, "STRING": "0", "DOUBLE": 0.0, "DECIMAL(10, 2)": 0}

EXAMPLES = {
    "overdue shipments": OVERDUE_SHIPMENTS,
    "currency conversion": CURRENCY_CONVERSION,
    "rewards of tokens": REWARDS_OF_TOKENS,
}


@pytest.fixture(scope="module")
def engine() -> Iterator[LocalRunner]:
    with LocalRunner("local[2]") as runner:
        yield runner


@pytest.mark.flink
@pytest.mark.spark
@pytest.mark.parametrize("name", EXAMPLES)
def test_derivatives_have_the_rows_of_flink(tmp_path: Path, engine: LocalRunner, name: str) -> None:
    example = EXAMPLES[name]
    folder = Folder(tmp_path, example, engine)
    for piece in (*example.pieces, {root: [_end(of)] for root, of in example.roots.items()}):
        folder.add(piece)
        folder.run()
    (tmp_path / "flink").mkdir()
    transforms = [_transform(folder.store, yaml.safe_load(text)) for text in example.derivatives.values()]
    answers = comparison.answers({"transforms": transforms}, tmp_path / "flink")
    for dataset, theirs in zip(example.derivatives, answers, strict=True):
        assert "error" not in theirs, f"{dataset}: {theirs['error'][-2000:]}"
        ours = _sorted(_rows(folder.store, dataset))
        print(f"{dataset}: {ours.num_rows} rows")
        assert ours.num_rows == len(theirs["rows"]), dataset
        columns = [f"{dataset}.{column}" for column in ours.schema.names]
        comparison.compare(columns, {**theirs, "rows": sorted(theirs["rows"])}, ours)


def _end(root: Root) -> Row:
    time, *others = (column.partition(" ")[2] for column in root.columns)
    assert time == "TIMESTAMP"
    return (END, *(_NOTHING[type_] for type_ in others))


def _transform(store: Store, manifest: Mapping[str, Any]) -> dict[str, Any]:
    (event,) = (e for e in manifest["content"]["metadata"] if e["kind"] == "SetTransform")
    transform = event["transform"]
    keys = {table["name"]: table["primaryKey"] for table in transform.get("temporalTables", ())}
    steps = transform.get("queries") or [{"query": transform["query"]}]
    tables = {}
    for source in event["inputs"]:
        name = source["datasetRef"]
        rows = _rows(store, name)
        time = replay(store.dataset(name)).vocab.event_time_column
        types = [[field.name, comparison.flink_type(field.type)] for field in rows.schema]
        in_order = comparison.json_rows(rows.sort_by(time))
        tables[name] = {"columns": types, "rows": in_order, "time": time, "key": keys.get(name)}
    return {"tables": tables, "queries": [[step.get("alias"), step["query"]] for step in steps]}


def _rows(store: Store, name: str) -> pa.Table:
    """The current rows without those of the last records."""
    dataset = store.dataset(name)
    vocab = replay(dataset).vocab
    rows = state_rows(dataset).arrow().drop_columns(vocab.system_time_column)
    times = rows[vocab.event_time_column].to_pylist()
    return rows.filter(pa.array([time.year < int(END[:4]) for time in times], pa.bool_()))


def _sorted(rows: pa.Table) -> pa.Table:
    texts = [[oracle.as_text(value) for value in row.values()] for row in rows.to_pylist()]
    return rows.take(sorted(range(len(texts)), key=texts.__getitem__))
