"""A dataset with a long history, written slice by slice as the engine would: quicker than fifty merges."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa

from airflow_provider_odf.chain import schema as chain_schema
from airflow_provider_odf.chain.commit import Draft
from airflow_provider_odf.chain.replay import replay
from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.engine import slices
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest import model
from airflow_provider_odf.records.schema import OP
from airflow_provider_odf.records.slice_file import SlicePlan, write_file
from benchmarks import data


def append(store: Path, name: str, rows: int, steps: Iterable[int]) -> None:
    """Commit the change records of steps, a slice for each, to a Snapshot dataset of ``rows`` rows."""
    append_records(store, name, (_change_records(rows, step) for step in steps))


def append_records(store: Path, name: str, records: Iterable[pa.Table]) -> None:
    """Commit change records to a Snapshot dataset with the key ``id``, a slice for each table of them: ``op`` and the
    columns of data, in the order of keys."""
    dataset = Store.open(store).dataset(name)
    base = replay(dataset)
    draft = Draft(dataset, base)
    assert base.schema is not None
    assert base.watermark is not None
    schema = chain_schema.arrow_schema(base.schema)
    for number, table in enumerate(records):
        state = draft.state
        assert state.last_offset is not None
        target = SlicePlan(
            directory=str(store / ".work" / "history"),
            schema=schema,
            system_time=base.system_time,
            event_time=base.watermark,
            next_offset=state.last_offset + 1,
            keys=("id",),
            label=f"slice {number}",
        )
        filled = slices.fill_event_time(_in_engine(table, schema), schema, base.watermark)
        new = write_file(iter([filled.sort_by([("id", "ascending"), (OP, "ascending")])]), target)
        assert new is not None
        dataset.storage.adopt(f"data/{new.physical_hash}", Path(new.path))
        event = model.AddData(
            prev_offset=state.last_offset,
            new_data=model.DataSlice(
                logical_hash=new.logical_hash,
                physical_hash=new.physical_hash,
                offset_interval=model.OffsetInterval(start=new.offset_interval.start, end=new.offset_interval.end),
                size=new.size,
            ),
            new_watermark=Instant.parse(new.newest_event_time) if new.newest_event_time else state.watermark,
            new_source_state=state.polling_state,
        )
        draft.append(event, base.system_time)
    dataset.storage.compare_and_set_ref("head", base.head, draft.state.head)


def _change_records(rows: int, step: int) -> pa.Table:
    with data.connect() as db:
        return db.sql(data.changes(rows, step)).to_arrow_table()


def _in_engine(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return records as the engine has them before it writes them."""
    event_time = schema.names[3]
    table = table.rename_columns([OP if name == "op" else name for name in table.column_names])
    return table.append_column(event_time, pa.nulls(table.num_rows, schema.field(3).type))
