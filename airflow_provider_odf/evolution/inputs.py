"""Inputs of a derivative: a manifest names them, a chain has their ids, and the engine gets their columns."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING

from airflow_provider_odf import protocol
from airflow_provider_odf.chain import schema as chain_schema
from airflow_provider_odf.errors import ManifestInvalid, Problem
from airflow_provider_odf.manifest import ddl, model
from airflow_provider_odf.manifest.names import DatasetAlias, parse_ref
from airflow_provider_odf.wording import nearest

if TYPE_CHECKING:
    from airflow_provider_odf.chain.dataset import Dataset
    from airflow_provider_odf.chain.state import ChainState
    from airflow_provider_odf.chain.store import Store
    from airflow_provider_odf.manifest.manifest import Manifest

SPARK = "spark"
"""Engine whose queries are run as they are."""

_NEW = "did:odf:(new "
"""Begins what stands for the id of a dataset that does not exist yet."""


def with_ids(manifest: Manifest, store: Store, new: Collection[DatasetAlias] = ()) -> Manifest:
    """Return the manifest with the ids of its inputs, each with its alias in queries: the name it was given, else the
    dataset's.

    :param new: datasets that will exist; their ids say so, see ``has_new_input``.
    :raises ManifestInvalid: the store has no such dataset, or an input is named twice.
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
    found: list[model.TransformInput] = []
    seen: set[str] = set()
    for number, item in enumerate(event.inputs):
        place = manifest.place("metadata", index, "inputs", number, "dataset_ref")
        dataset = store.find(item.dataset_ref)
        if dataset is None and parse_ref(item.dataset_ref) in new:
            ref = item.dataset_ref
            found.append(item.model_copy(update={"dataset_ref": f"{_NEW}{ref})", "alias": item.alias or ref}))
            continue
        if dataset is None:
            problems.append(Problem(place, *_unknown(item.dataset_ref, store)))
            continue
        dataset_id = store.id_of(dataset)
        if dataset_id in seen:
            problems.append(Problem(place, f"input {item.dataset_ref} is named twice", "remove one of them"))
        seen.add(dataset_id)
        alias = item.alias or _name(item.dataset_ref, dataset)
        found.append(item.model_copy(update={"dataset_ref": dataset_id, "alias": alias}))
    return event.model_copy(update={"inputs": tuple(found)})


def _name(ref: str, dataset: Dataset) -> str:
    return str(dataset.alias) if ref.startswith("did:") else ref


def _unknown(ref: str, store: Store) -> tuple[str, str]:
    near = nearest(ref, [str(dataset.alias) for dataset in store.datasets()])
    fix = f"did you mean `{near}`?" if near else "run the manifest of the input first, with the same store"
    return f"input {ref} is not in the store {store.location}", fix


def has_new_input(transform: model.SetTransform) -> bool:
    """Whether an input of a transform does not exist yet."""
    return any(item.dataset_ref.startswith(_NEW) for item in transform.inputs)


def input_datasets(store: Store, transform: model.SetTransform) -> Iterator[Dataset | None]:
    """Yield the dataset of each input of a transform in a chain, None if the store does not have it."""
    for item in transform.inputs:
        yield store.find(item.dataset_ref)


def merge_of(state: ChainState) -> protocol.MergeStrategy | None:
    """Return the merge strategy of a dataset's records: Append for a root without a source, None for a derivative."""
    if state.merge is not None:
        return ddl.merge_strategy(state.merge)
    return None if state.kind == "Derivative" else protocol.MergeStrategy("Append")


def query_input(dataset: Dataset, state: ChainState, alias: str) -> protocol.TransformRequestInput:
    """Return an input as the engine gets it, without records. ``alias`` is its name in queries."""
    return protocol.TransformRequestInput(
        dataset_id=state.dataset_id,
        dataset_alias=str(dataset.alias),
        query_alias=alias,
        vocab=state.vocab,
        data_paths=(),
        schema_file="",
        explicit_watermarks=(),
        merge=merge_of(state),
        schema=chain_schema.ipc_base64(state.schema) if state.schema else "",
    )


def translated(sql: model.TransformSql, inputs: Mapping[str, ChainState]) -> protocol.Transform:
    """Return the queries of a transform as the engine runs them. ``inputs`` are by their names in queries.

    :raises InvalidInput: a query has no exact translation, or an input has a column without a type in Spark.
    """
    if sql.engine == SPARK and not sql.temporal_tables:
        steps = tuple(protocol.SqlQueryStep(step.query, step.alias) for step in sql.steps)
        return protocol.Transform(sql.engine, steps, version=sql.version)
    from airflow_provider_odf.dialect import derivative  # The import of the SQL parser takes a third of a second.

    columns = {
        name: derivative.Input(
            ddl.odf_columns(chain_schema.data_schema(state.schema)), state.vocab, state.kind == "Derivative"
        )
        for name, state in inputs.items()
        if state.schema is not None
    }
    return derivative.to_spark(sql, columns)
