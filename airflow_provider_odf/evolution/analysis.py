"""Have the engine analyze new and edited queries before the manifest is applied.

Only Spark knows the result types of its queries, and whether the dataset can go on with them. It analyzes the queries
of sources whose input columns are declared; other queries wait for data. The coordinator itself plans queries of
DataFusion.

How the engine evaluates the query of a derivative is kept as ``info/evaluation.json``, for plans, documentation and the
engine itself. The file counts only for the query that it was written for.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from airflow_provider_odf import datafusion, protocol
from airflow_provider_odf.chain import schema as chain_schema
from airflow_provider_odf.chain.replay import replay
from airflow_provider_odf.chain.state import ChainState
from airflow_provider_odf.errors import InvalidInput, InvalidQuery, ManifestInvalid, Place, Problem
from airflow_provider_odf.evolution import columns
from airflow_provider_odf.evolution.inputs import NOWHERE, InputState, analysis_request, input_circle, input_datasets
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest import ddl, graph, model
from airflow_provider_odf.seal import open_json, sealed_json

if TYPE_CHECKING:
    from airflow_provider_odf.chain.dataset import Dataset
    from airflow_provider_odf.chain.store import Store
    from airflow_provider_odf.evolution.difference import Change
    from airflow_provider_odf.manifest.manifest import Manifest

Ask: TypeAlias = Callable[[protocol.MergeRequest | protocol.TransformRequest], object]
"""Sends a request to the engine and waits for its success, as `Runner.submit(…).result()` does."""

_PLACE = re.compile(r"(?:preprocess|transform), query (\d+)(?: \([^)]*\))?(?:, line (\d+))?: ")


def analyze(
    state: ChainState | None,
    manifest: Manifest,
    changes: tuple[Change, ...],
    ask: Ask,
    store: Store,
    states: Callable[[Dataset], ChainState] = replay,
) -> None:
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
                analyzed_transform(state, manifest, event, store, ask, states)
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
    state: ChainState | None,
    manifest: Manifest,
    event: model.SetTransform,
    store: Store,
    ask: Ask,
    states: Callable[[Dataset], ChainState] = replay,
) -> protocol.Evaluation | None:
    """Have the engine analyze a transform, whose inputs have ids, and return how it evaluates the query; None while an
    input has no columns.

    :raises ManifestInvalid: the query is not valid, its columns are not those of the dataset, or an input is computed
        from the dataset.
    :raises InternalError: the engine broke down.
    """
    index = manifest.snapshot.metadata.index(event)
    inputs = _input_states(store, event, states)
    alias = manifest.snapshot.alias
    if (names := input_circle(store, alias, state, inputs)) is not None:
        number = next(n for n, i in enumerate(inputs) if str(i.dataset.alias) == names[-2])
        place = manifest.place("metadata", index, "inputs", number, "dataset_ref")
        raise ManifestInvalid([graph.circle(place, alias, names)])
    if any(i.state.schema is None for i in inputs):
        return None
    try:
        success = ask(analysis_request(alias, _planned(state, manifest, event), inputs))
    except (InvalidQuery, InvalidInput) as e:
        place = _place(manifest, (index, "transform"), event.transform, _PLACE.match(str(e)))
        raise ManifestInvalid([Problem(place, str(e))]) from e
    return success.evaluation if isinstance(success, protocol.TransformSuccess) else None


def _input_states(store: Store, event: model.SetTransform, states: Callable[[Dataset], ChainState]) -> list[InputState]:
    inputs = []
    for item, dataset in zip(event.inputs, input_datasets(store, event), strict=True):
        state = states(dataset)
        store.check_identity(dataset, state.dataset_id)  # The id of an input comes from the registry.
        inputs.append(InputState(dataset, state, NOWHERE, str(item.alias)))
    return inputs


def _planned(state: ChainState | None, manifest: Manifest, event: model.SetTransform) -> ChainState:
    snapshot = manifest.snapshot
    before = state or ChainState("", 0, Instant(0), "", snapshot.kind)
    vocab = snapshot.last(model.SetVocab) or before.set_vocab
    schema = snapshot.last(model.SetDataSchema) or before.schema
    return replace(before, transform=event, set_vocab=vocab, schema=schema)


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
    number, line = (int(named[1]), int(named[2] or 0)) if named else (len(sql.steps), 0)
    return manifest.query_place(path, sql, number, line, 1)


_FILE = "info/evaluation.json"


def keep_evaluation(dataset: Dataset, sql: model.TransformSql, evaluation: protocol.Evaluation) -> None:
    """Store the evaluation of a query, in place of an earlier one."""
    content = {"query": _digest(sql), **protocol.to_json(evaluation)}
    if open_json(dataset.storage.get(_FILE)) != content:
        dataset.storage.put(_FILE, sealed_json(content))


def recorded_evaluation(dataset: Dataset, sql: model.TransformSql) -> protocol.Evaluation | None:
    """Return the evaluation of a query, or None if it is not known yet."""
    content = open_json(dataset.storage.get(_FILE))
    if content is None or content.pop("query", None) != _digest(sql):
        return None
    return protocol.from_json(protocol.Evaluation, content)


def _digest(sql: model.TransformSql) -> str:
    text = json.dumps([sql.engine, *([step.alias, step.query] for step in sql.steps)])
    return hashlib.sha256(text.encode()).hexdigest()
