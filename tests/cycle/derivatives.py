"""Chains of a root and its derivative, written block by block without an engine. Slices are files of a few bytes."""

from __future__ import annotations

from pathlib import Path

from airflow_provider_odf import multiformats
from airflow_provider_odf.chain.commit import Draft
from airflow_provider_odf.chain.dataset import Dataset
from airflow_provider_odf.chain.replay import replay
from airflow_provider_odf.chain.state import ChainState
from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.evolution.apply import not_before
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest import model
from airflow_provider_odf.manifest.names import DatasetAlias, DatasetId

TIME = Instant.parse("2024-05-02T08:00:00Z")
QUERY = "SELECT id FROM orders"
SCHEMA = model.SetDataSchema(
    schema=model.DataSchema(
        fields=tuple(
            model.DataField(name=name, type=type_)
            for name, type_ in (
                ("offset", model.DataTypeInt64()),
                ("op", model.DataTypeInt32()),
                ("system_time", model.DataTypeTimestamp(unit="Millisecond", timezone="UTC")),
                ("event_time", model.DataTypeTimestamp(unit="Millisecond", timezone="UTC")),
                ("id", model.DataTypeInt64()),
            )
        )
    )
)


def commit(dataset: Dataset, base: ChainState | None, *events: model.MetadataEvent, time: Instant = TIME) -> str:
    """Append events to a dataset of which ``base`` is the state, not before its newest block, and return its head."""
    draft = Draft(dataset, base)
    for event in events:
        draft.append(event, not_before(base, time))
    dataset.storage.compare_and_set_ref("head", base.head if base else None, draft.state.head)
    return draft.state.head


def root(store: Store, name: str = "orders") -> Dataset:
    """A root without data."""
    dataset = store.create(DatasetAlias.parse(name))
    commit(dataset, None, model.Seed(dataset_id=str(DatasetId.create()), dataset_kind="Root"), SCHEMA)
    store.registry.remember(dataset.alias, replay(dataset).dataset_id)
    return dataset


def ingest(dataset: Dataset, time: Instant = TIME) -> str:
    """Append a slice of one record to a root and return the new head."""
    state = replay(dataset)
    return commit(
        dataset,
        state,
        model.AddData(prev_offset=state.last_offset, new_data=data_slice(dataset, state), new_watermark=TIME),
        time=time,
    )


def derivative(store: Store, *sources: Dataset, name: str = "report") -> Dataset:
    """A derivative of all metadata and without data."""
    dataset = store.create(DatasetAlias.parse(name))
    inputs = tuple(
        model.TransformInput(dataset_ref=replay(source).dataset_id, alias=str(source.alias)) for source in sources
    )
    sql = model.TransformSql(engine="spark", query=QUERY)
    commit(
        dataset,
        None,
        model.Seed(dataset_id=str(DatasetId.create()), dataset_kind="Derivative"),
        model.SetInfo(description="first"),
        model.SetTransform(inputs=inputs, transform=sql),
        model.SetInfo(description="orders by id"),
        model.SetLicense(short_name="CC0", name="Zero", website_url="https://example.org/cc0"),
        model.SetVocab(event_time_column="event_time"),
        model.SetAttachments(
            attachments=model.AttachmentsEmbedded(items=(model.AttachmentEmbedded(path="README.md", content="hi"),))
        ),
    )
    store.registry.remember(dataset.alias, replay(dataset).dataset_id)
    return dataset


def transform_event(dataset: Dataset, state: ChainState, *sources: Dataset) -> model.ExecuteTransform:
    """The event of a run that reads inputs up to their heads and writes one record."""
    positions = state.query_inputs
    inputs = []
    for source in sources:
        at, last = replay(source), positions.get(replay(source).dataset_id)
        inputs.append(
            model.ExecuteTransformInput(
                dataset_id=at.dataset_id,
                prev_block_hash=last.block_hash if last else None,
                new_block_hash=at.head,
                prev_offset=last.offset if last else None,
                new_offset=at.last_offset,
            )
        )
    new_data = data_slice(dataset, state)
    return model.ExecuteTransform(
        query_inputs=tuple(inputs), prev_offset=state.last_offset, new_data=new_data, new_watermark=TIME
    )


def transform(dataset: Dataset, *sources: Dataset, time: Instant = TIME) -> str:
    """Compute a derivative from all that is new in its inputs, and return its new head."""
    state = replay(dataset)
    event = transform_event(dataset, state, *sources)
    return commit(dataset, state, *([] if state.schema else [SCHEMA]), event, time=time)


def data_slice(dataset: Dataset, state: ChainState) -> model.DataSlice:
    offset = 0 if state.last_offset is None else state.last_offset + 1
    content = f"{state.head} {offset}".encode()
    physical = multiformats.sha3_256(content)
    file = Path(dataset.storage.location(f"data/{physical}"))
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(content)
    return model.DataSlice(
        logical_hash="f9680c00120" + "ab" * 32,
        physical_hash=physical,
        offset_interval=model.OffsetInterval(start=offset, end=offset),
        size=len(content),
    )
