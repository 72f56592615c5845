"""Inputs of a derivative: a manifest names them, a chain has their ids and positions, the engine gets their columns."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from airflow_provider_odf import protocol
from airflow_provider_odf.chain import schema as chain_schema
from airflow_provider_odf.chain.replay import replay
from airflow_provider_odf.chain.state import ChainState, InputPosition
from airflow_provider_odf.chain.storages import open_storage
from airflow_provider_odf.errors import DatasetNotFound, InvalidInput, ManifestInvalid, OdfError, Problem, StorageError
from airflow_provider_odf.manifest import ddl, model
from airflow_provider_odf.manifest.names import DatasetAlias, DatasetUri, parse_ref
from airflow_provider_odf.wording import listed, nearest

if TYPE_CHECKING:
    from airflow_provider_odf.chain.dataset import Dataset
    from airflow_provider_odf.chain.store import Store
    from airflow_provider_odf.instant import Instant
    from airflow_provider_odf.manifest.manifest import Manifest

SPARK = "spark"
"""Engine whose queries are run as they are."""

NOWHERE = InputPosition(None, None)
"""Position in an input of which nothing was read."""

_NEW = "did:odf:(new "
"""Begins what stands for the id of a dataset that does not exist yet."""


def linked(store: Store, manifest: Manifest | None) -> Store:
    """Return the store with the datasets of other stores that a manifest names by their locations. Those that cannot be
    read are left out: `with_ids` reports them."""
    event = manifest.snapshot.last(model.SetTransform) if manifest is not None else None
    datasets = []
    for item in event.inputs if event is not None else ():
        with contextlib.suppress(OdfError):
            if isinstance(parse_ref(item.dataset_ref), DatasetUri):
                datasets.append(store.find(item.dataset_ref))
    return store.linked_to(d for d in datasets if d is not None and not store.owns(d)) if datasets else store


def with_ids(manifest: Manifest, store: Store, new: Collection[DatasetAlias] = ()) -> Manifest:
    """Return the manifest with the ids of its inputs, each with its alias in queries: the name it was given, else the
    dataset's.

    :param new: datasets that will exist; their ids say so, see ``has_new_input``.
    :raises ManifestInvalid: the store has no such dataset, or an input is named twice.
    :raises StorageError: an input cannot be read now.
    """
    snapshot = manifest.snapshot
    problems: list[Problem] = []
    events = [
        _resolved(event, manifest, index, store, new, problems) if isinstance(event, model.SetTransform) else event
        for index, event in enumerate(snapshot.metadata)
    ]
    if problems:
        raise ManifestInvalid(sorted(problems))
    return dataclasses.replace(manifest, snapshot=snapshot.model_copy(update={"metadata": tuple(events)}))


def _resolved(
    event: model.SetTransform,
    manifest: Manifest,
    index: int,
    store: Store,
    new: Collection[DatasetAlias],
    problems: list[Problem],
) -> model.SetTransform:
    items: list[model.TransformInput] = []
    seen: set[str] = set()
    for number, item in enumerate(event.inputs):
        place = manifest.place("metadata", index, "inputs", number, "dataset_ref")
        try:
            dataset = store.find(item.dataset_ref)
        except StorageError as e:
            raise StorageError(f"{place}: input {item.dataset_ref} cannot be read: {e}") from e
        if dataset is None and (name := store.alias_of(parse_ref(item.dataset_ref))) in new:
            update = {"dataset_ref": f"{_NEW}{name})", "alias": item.alias or str(name)}
            items.append(item.model_copy(update=update))
            continue
        if dataset is None:
            problems.append(Problem(place, *_unknown(item.dataset_ref, store)))
            continue
        dataset_id = store.id_of(dataset)
        if dataset_id in seen:
            problems.append(Problem(place, f"input {item.dataset_ref} is named twice", "remove one of them"))
        seen.add(dataset_id)
        is_name = isinstance(parse_ref(item.dataset_ref), DatasetAlias)
        alias = item.alias or (item.dataset_ref if is_name else str(dataset.alias))
        items.append(item.model_copy(update={"dataset_ref": dataset_id, "alias": alias}))
    return event.model_copy(update={"inputs": tuple(items)})


def _unknown(ref: str, store: Store) -> tuple[str, str]:
    parsed = parse_ref(ref)
    if isinstance(parsed, DatasetUri) and store.alias_of(parsed) is None:
        folder = open_storage(parsed.text)
        if not folder.exists():
            return f"input {ref}: the folder does not exist", "mount its store, or correct the location"
        return f"input {ref}: the folder has no dataset (refs/head is missing)", "name the folder of a dataset"
    near = nearest(ref, [str(dataset.alias) for dataset in store.datasets()])
    fix = f"did you mean `{near}`?" if near else "run the manifest of the input first, with the same store"
    return f"input {ref} is not in the store {store.location}", fix


def in_positions(manifest: Manifest, state: ChainState) -> Manifest:
    """Return the manifest with its inputs in the order in which the newest query of a chain has read them; new ones
    follow. The reference implementation compares inputs by their places."""
    places = {dataset_id: place for place, dataset_id in enumerate(state.query_inputs)}

    def ordered(event: model.MetadataEvent) -> model.MetadataEvent:
        if not isinstance(event, model.SetTransform):
            return event
        inputs = sorted(event.inputs, key=lambda item: places.get(item.dataset_ref, len(places)))
        return event.model_copy(update={"inputs": tuple(inputs)})

    snapshot = manifest.snapshot
    events = tuple(map(ordered, snapshot.metadata))
    return dataclasses.replace(manifest, snapshot=snapshot.model_copy(update={"metadata": events}))


def has_new_input(transform: model.SetTransform) -> bool:
    """Whether an input of a transform does not exist yet."""
    return any(item.dataset_ref.startswith(_NEW) for item in transform.inputs)


def input_datasets(store: Store, transform: model.SetTransform) -> Iterator[Dataset]:
    """Yield the dataset of each input of a transform in a chain.

    :raises DatasetNotFound: an input is not in the store, nor in those where its inputs are looked for.
    """
    for item in transform.inputs:
        dataset = store.find(item.dataset_ref)
        if dataset is None:
            where = listed([s.location for s in (store, *store.others)])
            raise DatasetNotFound(
                f"the input {item.dataset_ref} as {item.alias} is not in {where}: name the store of the input with "
                "--input-store or `[odf] input_stores`"
            )
        yield dataset


def merge_of(state: ChainState) -> protocol.MergeStrategy | None:
    """Return the merge strategy of a dataset's records: Append for a root without a source, None for a derivative."""
    if state.merge is not None:
        return ddl.merge_strategy(state.merge)
    return None if state.kind == "Derivative" else protocol.MergeStrategy("Append")


def translated(sql: model.TransformSql, inputs: Mapping[str, ChainState]) -> protocol.Transform:
    """Return the queries of a transform as the engine runs them. ``inputs`` are by their names in queries.

    :raises InvalidInput: a query has no exact translation, or an input has a column without a type in Spark.
    """
    if sql.engine == SPARK and not sql.temporal_tables:
        steps = tuple(protocol.SqlQueryStep(step.query, step.alias) for step in sql.steps)
        return protocol.Transform(sql.engine, steps, version=sql.version)
    # The import of the SQL parser takes a third of a second.
    from airflow_provider_odf.dialect.translate import Input, transform_to_spark

    columns = {
        name: Input(ddl.odf_columns(chain_schema.data_schema(state.schema)), state.vocab, state.kind == "Derivative")
        for name, state in inputs.items()
        if state.schema is not None
    }
    return transform_to_spark(sql, columns)


@dataclass(frozen=True)
class InputState:
    """An input at the block up to which it is read now, and the position up to which it was read before. ``alias`` is
    its name in queries."""

    dataset: Dataset
    state: ChainState
    before: InputPosition
    alias: str

    @property
    def has_new_records(self) -> bool:
        return self.state.last_offset is not None and self.state.last_offset != self.before.offset

    @property
    def has_new_blocks(self) -> bool:
        return self.state.head != self.before.block_hash


def watermark_of(inputs: Sequence[InputState], before: Instant | None) -> Instant | None:
    """Return the earliest watermark of the inputs, but never one earlier than before; None if an input has none."""
    watermarks = [i.state.watermark for i in inputs]
    known = [watermark for watermark in watermarks if watermark is not None]
    newest = min(known) if len(known) == len(watermarks) else None
    if newest is None or before is None:
        return newest or before
    return max(newest, before)


def analysis_request(
    derivative: DatasetAlias, state: ChainState, inputs: Sequence[InputState]
) -> protocol.TransformRequest:
    """Return the request to analyze the transform of a state: the inputs have columns and no records.

    :raises InvalidInput: the state has no transform, or a query cannot be translated.
    """
    if state.transform is None:
        raise InvalidInput(f"{derivative} has no transform: add SetTransform to its manifest")
    return protocol.TransformRequest(
        dataset_id=state.dataset_id,
        dataset_alias=str(derivative),
        system_time="1970-01-01T00:00:00Z",
        vocab=state.vocab,
        transform=translated(state.transform.transform, {i.alias: i.state for i in inputs}),
        query_inputs=tuple(map(_without_records, inputs)),
        next_offset=0,
        new_checkpoint_path="",
        new_data_path="",
        schema=chain_schema.ipc_base64(state.schema) if state.schema else None,
    )


def _without_records(source: InputState) -> protocol.TransformRequestInput:
    state = source.state
    return protocol.TransformRequestInput(
        dataset_id=state.dataset_id,
        dataset_alias=str(source.dataset.alias),
        query_alias=source.alias,
        vocab=state.vocab,
        data_paths=(),
        schema_file="",
        explicit_watermarks=(),
        merge=merge_of(state),
        schema=chain_schema.ipc_base64(state.schema) if state.schema else "",
    )


def input_circle(
    store: Store, alias: DatasetAlias, state: ChainState | None, inputs: Sequence[InputState]
) -> tuple[str, ...] | None:
    """Return the names of a circle of datasets from a derivative with these inputs to itself, inputs first, or None.
    Chains show it: manifests show only the circles among them."""
    if state is None:
        return None
    seen: set[str] = set()
    paths: list[tuple[tuple[str, ...], ChainState]] = [((str(alias), str(i.dataset.alias)), i.state) for i in inputs]
    while paths:
        names, current = paths.pop()
        if current.dataset_id == state.dataset_id:
            return names[::-1]
        if current.transform is None or current.dataset_id in seen:
            continue
        seen.add(current.dataset_id)
        below = [store.find(item.dataset_ref) for item in current.transform.inputs]
        paths += [((*names, str(d.alias)), replay(d)) for d in below if d is not None]
    return None
