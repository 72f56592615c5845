"""Have the engine analyze new and edited queries before the manifest is applied.

Only Spark knows the result types of its queries, and whether the dataset can go on with them. It analyzes the queries
of sources whose input columns are declared; other queries wait for data. The coordinator itself plans queries of
DataFusion.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeAlias

from airflow_provider_odf import datafusion, protocol
from airflow_provider_odf.chain import schema as chain_schema
from airflow_provider_odf.chain.replay import replay
from airflow_provider_odf.errors import InvalidInput, InvalidQuery, ManifestInvalid, Place, Problem
from airflow_provider_odf.evolution import columns
from airflow_provider_odf.evolution.inputs import input_datasets, query_input, translated
from airflow_provider_odf.manifest import ddl, model
from airflow_provider_odf.manifest.place_in_text import place_within

if TYPE_CHECKING:
    from airflow_provider_odf.chain.state import ChainState
    from airflow_provider_odf.chain.store import Store
    from airflow_provider_odf.evolution.changes import Change
    from airflow_provider_odf.manifest.manifest import Manifest

Ask: TypeAlias = Callable[[protocol.MergeRequest | protocol.TransformRequest], object]
"""Sends a request to the engine and waits for its success, as `Runner.submit(…).result()` does."""

_PLACE = re.compile(r"(?:preprocess|transform), query (\d+)(?: \([^)]*\))?(?:, line (\d+))?: ")


def analyze(state: ChainState | None, manifest: Manifest, changes: tuple[Change, ...], ask: Ask, store: Store) -> None:
    """Have the engine analyze the queries of sources and transforms that are new or edited, or whose dataset gets
    another schema. ``store`` has the inputs of transforms; one without data is analyzed when it runs.

    :raises ManifestInvalid: Spark refuses a query, or its columns are not those of the dataset.
    :raises InternalError: the engine broke down.
    """
    changed = [change.event for change in changes]
    schema_changes = any(isinstance(event, model.SetDataSchema) for event in changed)
    problems: list[Problem] = []
    for index, event in enumerate(manifest.snapshot.metadata):
        if isinstance(event, columns.Source) and (event in changed or schema_changes):
            problems += _problems(state, manifest, index, event, ask)
        elif isinstance(event, model.SetTransform) and (event in changed or schema_changes):
            try:
                analyzed_transform(state, manifest, event, store, ask)
            except ManifestInvalid as e:
                problems += e.problems
    if problems:
        raise ManifestInvalid(sorted(problems))


def _problems(
    state: ChainState | None, manifest: Manifest, index: int, source: columns.Source, ask: Ask
) -> Iterator[Problem]:
    preprocess = source.preprocess
    if preprocess is None or columns.needs_data(source):
        return
    if preprocess.engine == datafusion.NAME:  # The coordinator plans it, see `evolution.columns`.
        return
    try:
        ask(_request(state, manifest, source))
    except InvalidQuery as e:
        place = _place(manifest, (index, "preprocess"), preprocess, _PLACE.match(str(e)))
        yield Problem(place, str(e))


def analyzed_transform(
    state: ChainState | None, manifest: Manifest, event: model.SetTransform, store: Store, ask: Ask
) -> protocol.Evaluation | None:
    """Have the engine analyze a transform, whose inputs have ids, and return how it evaluates the query; None while an
    input has no columns.

    :raises ManifestInvalid: the query is not valid, or its columns are not those of the dataset.
    :raises InternalError: the engine broke down.
    """
    index = manifest.snapshot.metadata.index(event)
    try:
        request = transform_request(state, manifest, event, store)
        success = ask(request) if request is not None else None
    except (InvalidQuery, InvalidInput) as e:
        place = _place(manifest, (index, "transform"), event.transform, _PLACE.match(str(e)))
        raise ManifestInvalid([Problem(place, str(e))]) from e
    return success.evaluation if isinstance(success, protocol.TransformSuccess) else None


def transform_request(
    state: ChainState | None, manifest: Manifest, event: model.SetTransform, store: Store
) -> protocol.TransformRequest | None:
    """Return the request to analyze a transform, whose inputs have ids; None while an input has no columns.

    :raises InvalidInput: a query has no exact translation.
    """
    snapshot = manifest.snapshot
    inputs, states = [], {}
    for item, dataset in zip(event.inputs, input_datasets(store, event), strict=True):
        source = replay(dataset) if dataset is not None else None
        if dataset is None or source is None or source.schema is None:
            return None
        store.check_identity(dataset, source.dataset_id)  # The id of an input comes from the registry.
        states[str(item.alias)] = source
        inputs.append(query_input(dataset, source, str(item.alias)))
    schema = snapshot.last(model.SetDataSchema) or (state.schema if state else None)
    return protocol.TransformRequest(
        dataset_id=state.dataset_id if state else "",
        dataset_alias=str(snapshot.alias),
        system_time="1970-01-01T00:00:00Z",
        vocab=ddl.vocabulary(snapshot.last(model.SetVocab) or (state.set_vocab if state else None)),
        transform=translated(event.transform, states),
        query_inputs=tuple(inputs),
        next_offset=0,
        new_checkpoint_path="",
        new_data_path="",
        schema=chain_schema.ipc_base64(schema) if schema else None,
    )


def _request(state: ChainState | None, manifest: Manifest, source: columns.Source) -> protocol.MergeRequest:
    """Return a merge without inputs: the engine analyzes the query and the columns, and writes nothing."""
    read = ddl.read_step(source.read)
    snapshot = manifest.snapshot
    schema = snapshot.last(model.SetDataSchema) or (state.schema if state else None)
    return protocol.MergeRequest(
        dataset_id=state.dataset_id if state else "",
        dataset_alias=str(snapshot.alias),
        system_time="1970-01-01T00:00:00Z",
        vocab=ddl.vocabulary(snapshot.last(model.SetVocab) or (state.set_vocab if state else None)),
        read=read,
        merge=ddl.merge_strategy(source.merge),
        inputs=(),
        next_offset=0,
        new_data_path="",
        preprocess=columns.preprocess(source, read),
        schema=chain_schema.ipc_base64(schema) if schema else None,
    )


def _place(manifest: Manifest, path: tuple[int, str], sql: model.TransformSql, named: re.Match[str] | None) -> Place:
    """Return the line of the query that a message of the engine names, else the last query."""
    steps = sql.steps
    number = int(named[1]) if named else len(steps)
    start = manifest.place("metadata", *path, "queries", number - 1, "query")
    line = int(named[2] or 0) if named else 0
    source = manifest.file.read_bytes().decode("utf-8-sig")
    return place_within(source, start, steps[number - 1].query, line, 1)
