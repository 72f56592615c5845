"""A dataset `orders` with sources to push to."""

from airflow_provider_odf.chain.commit import Draft
from airflow_provider_odf.chain.replay import replay
from airflow_provider_odf.cycle.push import Push, push
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest import model

from .conftest import cycle_of

SOURCE = """\
    - kind: AddPushSource
      sourceName: {name}
      read: {{kind: {read}}}
      merge: {{kind: {merge}}}
"""
POLLED = """\
    - kind: SetPollingSource
      fetch: {kind: FilesGlob, path: "in/*.csv.gz", eventTime: {kind: FromPath, pattern: '(\\d{4}-\\d\\d-\\d\\d)'}}
      prepare: [{kind: Decompress, format: Gzip}]
      read: {kind: Csv}
      merge: {kind: Append}
"""
TIME = Instant.parse("2026-05-01T00:00:00Z")
UPSERT = "UpsertStream, primaryKey: [id]"


def source(name="export", read="NdJson", merge="Append"):
    return SOURCE.format(name=name, read=read, merge=merge)


def push_to(store, *uris, time=TIME, copies=False, **data):
    return push(cycle_of(store, "orders", time=time), Push(tuple(map(str, uris)), **data), copies=copies)


def publish(store, polled):
    """Publish a push without records: the chain records its source state alone."""
    dataset, state = store.dataset("orders"), polled.files[0].state
    draft = Draft(dataset, replay(dataset))
    recorded = model.SourceState(source_name=polled.source_name, kind=state.kind, value=state.value) if state else None
    event = model.AddData(new_source_state=recorded, new_watermark=None if recorded else TIME)
    head = draft.append(event, TIME)
    dataset.storage.compare_and_set_ref("head", dataset.head(), head)
