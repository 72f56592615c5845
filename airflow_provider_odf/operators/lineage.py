"""Lineage of the operators for Airflow's OpenLineage provider. OpenLineage is imported only when the provider asks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from airflow_provider_odf import settings

if TYPE_CHECKING:
    from airflow.providers.openlineage.extractors import OperatorLineage

    from airflow_provider_odf.chain.state import InputPosition
    from airflow_provider_odf.chain.store import Store
    from airflow_provider_odf.cycle.messages import Candidate
    from airflow_provider_odf.lineage.events import Input, OutputCounts, Subject, TaskLineage
    from airflow_provider_odf.lineage.naming import EditionNames
    from airflow_provider_odf.manifest.fragments import TransformInput
    from airflow_provider_odf.manifest.manifest import Manifest
    from airflow_provider_odf.protocol import Transform


class LineageMixin:
    """Reports `task_lineage` when a task starts, succeeds and fails."""

    def task_lineage(self) -> TaskLineage | None:
        """Return the lineage of what the task has done so far, or None."""
        return None

    def get_openlineage_facets_on_start(self) -> OperatorLineage[Any, Any]:
        return self._operator_lineage()

    def get_openlineage_facets_on_complete(self, task_instance: Any) -> OperatorLineage[Any, Any]:
        return self._operator_lineage()

    def get_openlineage_facets_on_failure(self, task_instance: Any) -> OperatorLineage[Any, Any]:
        return self._operator_lineage()

    def _operator_lineage(self) -> OperatorLineage[Any, Any]:
        from airflow.providers.openlineage.extractors import OperatorLineage

        lineage = self.task_lineage()
        if lineage is None:
            return OperatorLineage()
        return OperatorLineage(
            inputs=list(lineage.inputs),
            outputs=list(lineage.outputs),
            run_facets=dict(lineage.run_facets),
            job_facets=dict(lineage.job_facets),
        )


def source_of(manifest: Manifest) -> EditionNames | None:
    """Return the polling source of a manifest, or None if lineage has no name for it."""
    from airflow_provider_odf.lineage.subject import of_source
    from airflow_provider_odf.manifest.model import SetPollingSource

    polling = manifest.snapshot.last(SetPollingSource)
    if polling is None:
        return None
    return of_source(polling.fetch, base=str(manifest.file.parent), edition=settings.read().naming_spec)


def names_of(uris: Sequence[str]) -> list[EditionNames]:
    """Return the names of pushed files and URIs, without the queries of URIs: these may hold keys."""
    from airflow_provider_odf.lineage.uri import from_uri

    edition = settings.read().naming_spec
    return [from_uri(uri.removesuffix("?***")).in_edition(edition) for uri in uris]


def subject_of(store: Store, candidate: Candidate) -> Subject:
    """Return the dataset as of a candidate."""
    return subject_at(store, candidate.dataset, candidate.candidate)


def subject_at(store: Store, alias: str, block_hash: str) -> Subject:
    """Return a dataset as of a block."""
    from airflow_provider_odf.chain.replay import replay
    from airflow_provider_odf.lineage.subject import of_dataset

    dataset = store.dataset(alias)
    return of_dataset(store, dataset, replay(dataset, block_hash), edition=settings.read().naming_spec)


def transform_of(store: Store, candidate: Candidate) -> tuple[Transform, tuple[Input, ...]] | None:
    """Return the transform of a derivative's candidate, and those of its inputs that are in the store, as of the blocks
    that were read."""
    from airflow_provider_odf import protocol
    from airflow_provider_odf.chain.replay import replay

    state = replay(store.dataset(candidate.dataset), candidate.candidate)
    if state.transform is None:
        return None
    inputs = (_input(store, declared, state.query_inputs) for declared in state.transform.inputs)
    sql = state.transform.transform
    steps = tuple(protocol.SqlQueryStep(step.query, step.alias) for step in sql.steps)
    return protocol.Transform(sql.engine, steps), tuple(filter(None, inputs))


def _input(store: Store, declared: TransformInput, positions: Mapping[str, InputPosition]) -> Input | None:
    """Return an input as of the block that was read; None if none was, or if the store does not have the dataset."""
    from airflow_provider_odf.lineage.events import Input

    position, dataset = positions.get(declared.dataset_ref), store.find(declared.dataset_ref)
    if dataset is None or position is None or position.block_hash is None:
        return None
    subject = subject_at(store, str(dataset.alias), position.block_hash)
    return Input(declared.alias or str(dataset.alias), subject, position.block_hash)


def written_by(candidate: Candidate) -> OutputCounts:
    """Return the size of a candidate's new data."""
    from airflow_provider_odf.lineage.events import OutputCounts

    return OutputCounts(records=candidate.records, size=candidate.size)
