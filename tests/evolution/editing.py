"""A dataset whose manifest is edited; no engine runs, data blocks are made up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa

from airflow_provider_odf.chain import schema as chain_schema
from airflow_provider_odf.chain.commit import Draft
from airflow_provider_odf.chain.replay import replay
from airflow_provider_odf.chain.state import ChainState
from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.evolution.apply import apply
from airflow_provider_odf.evolution.plan import Plan, plan
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest import model
from airflow_provider_odf.manifest.load import load
from airflow_provider_odf.manifest.manifest import Manifest
from tests.manifests import snapshot

TIME = Instant.parse("2024-01-01T12:00:00Z")
HASH = "f1620" + "ab" * 32
FETCH = "{kind: Url, url: 'https://example.com/a.csv'}"
READ = "{kind: Csv, header: true, schema: [k BIGINT NOT NULL, v STRING]}"
MERGE = "{kind: Snapshot, primaryKey: [k]}"
MILLISECONDS = pa.timestamp("ms", "UTC")


def polling(read: str = READ, merge: str = MERGE, fetch: str = FETCH, preprocess: str = "") -> str:
    query = f", preprocess: {preprocess}" if preprocess else ""
    return f"{{kind: SetPollingSource, fetch: {fetch}, read: {read}{query}, merge: {merge}}}"


def sql(query: str, engine: str = "spark") -> str:
    return f"{{kind: Sql, engine: {engine}, query: '{query}'}}"


def pushing(name: str, read: str = READ, merge: str = MERGE, preprocess: str = "") -> str:
    query = f", preprocess: {preprocess}" if preprocess else ""
    return f"{{kind: AddPushSource, sourceName: {name}, read: {read}{query}, merge: {merge}}}"


class Edited:
    """A dataset whose manifest is edited."""

    def __init__(self, folder: Path) -> None:
        self.file, self.store = folder / "things.yaml", Store.open(folder / "store")

    def manifest(self, *events: str) -> Manifest:
        self.file.write_text(snapshot("things", *(f"    - {event}\n" for event in events)))
        loaded = load([self.file])
        assert loaded.problems == ()
        return loaded.manifests[0]

    def apply(self, *events: str) -> ChainState:
        return apply(self.store, self.manifest(*events), TIME)

    def plan(self, *events: str) -> Plan:
        dataset = self.store.get(self.manifest(*events).snapshot.alias)
        return plan(replay(dataset) if dataset else None, self.manifest(*events))

    def add_data(self, *fields: pa.Field) -> None:
        """The blocks of a first slice with these columns."""
        dataset = self.store.dataset("things")
        base = replay(dataset)
        system = zip(base.vocab.columns, (pa.int64(), pa.int32(), MILLISECONDS, MILLISECONDS), strict=True)
        schema = pa.schema([*(pa.field(n, t, nullable=False) for n, t in system), *fields])
        draft = Draft(dataset, base)
        draft.append(chain_schema.set_data_schema(schema), TIME)
        interval = model.OffsetInterval(start=0, end=0)
        new = model.DataSlice(logical_hash=HASH, physical_hash=HASH, offset_interval=interval, size=1)
        state = model.SourceState(source_name="default", kind="odf/etag", value="1")
        draft.append(model.AddData(new_data=new, new_watermark=TIME, new_source_state=state), TIME)
        dataset.storage.compare_and_set_ref("head", base.head, draft.state.head)


K, V = pa.field("k", pa.int64(), nullable=False), pa.field("v", pa.string())


def read(*columns: str, kind: str = "Csv") -> str:
    return f"{{kind: {kind}, schema: [{', '.join(columns)}]}}"


def schema(*columns: str, system: str = "") -> str:
    names = system or "offset Int64, op Int32, system_time Timestamp, event_time Timestamp"
    fields = [column.split(" ", 1) for column in (*names.split(", "), *columns)]
    inside = ", ".join(f"{{name: {n}, type: {t}}}" for n, t in fields)
    return f"{{kind: SetDataSchema, schema: {{fields: [{inside}]}}}}"


def shown(planned: Plan) -> list[tuple[str, list[tuple[str, Any, Any]]]]:
    return [(c.event.kind, [(d.path, d.before, d.after) for d in c.differences]) for c in planned.changes]


def refused(planned: Plan) -> list[str]:
    return [f"{p.place.line}: {p.message}" for p in planned.problems]
