"""Lineage of the operators for Airflow's OpenLineage provider. OpenLineage is imported only when the provider asks."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow_provider_odf import settings

if TYPE_CHECKING:
    from airflow.providers.openlineage.extractors import OperatorLineage
    from openlineage.client.facet_v2 import RunFacet

    from airflow_provider_odf.cycle.messages import Candidate, Input
    from airflow_provider_odf.lineage.dataset import Counts
    from airflow_provider_odf.lineage.events import TaskLineage
    from airflow_provider_odf.lineage.naming import EditionNames
    from airflow_provider_odf.manifest.manifest import Manifest

log = logging.getLogger(__name__)


class LineageMixin:
    """Reports the datasets of a task when it starts, succeeds, fails and is skipped."""

    def task_lineage(self) -> TaskLineage | None:
        """Return the lineage of what the task has done so far, or None if it has done nothing."""
        return None

    def planned_lineage(self) -> TaskLineage | None:
        """Return the datasets that the task reads and writes, as they are known without its work."""
        return None

    def task_facets(self) -> Mapping[str, RunFacet]:
        """Return facets of the task's run, beside those of its lineage."""
        return {}

    def get_openlineage_facets_on_start(self) -> OperatorLineage[Any, Any]:
        return operator_lineage(self.planned_lineage())

    def get_openlineage_facets_on_complete(self, task_instance: Any) -> OperatorLineage[Any, Any]:
        return operator_lineage(self.task_lineage() or self.planned_lineage(), self.task_facets())

    def get_openlineage_facets_on_failure(self, task_instance: Any) -> OperatorLineage[Any, Any]:
        return operator_lineage(self.task_lineage() or self.planned_lineage(), self.task_facets())


def operator_lineage(
    lineage: TaskLineage | None, task_facets: Mapping[str, RunFacet] | None = None
) -> OperatorLineage[Any, Any]:
    """Return lineage in the form of Airflow's provider, without datasets for None. ``task_facets`` are further facets
    of the run."""
    from airflow.providers.openlineage.extractors import OperatorLineage

    from airflow_provider_odf.lineage.events import TaskLineage

    lineage = lineage or TaskLineage()
    return OperatorLineage(
        inputs=list(lineage.inputs),
        outputs=list(lineage.outputs),
        run_facets={**lineage.run_facets, **(task_facets or {})},
        job_facets=dict(lineage.job_facets),
    )


def sources_of(manifest: Manifest | None) -> list[EditionNames]:
    """Return the polling source of a manifest; none if it has none, or if lineage has no name for it."""
    from airflow_provider_odf.lineage.dataset import of_source
    from airflow_provider_odf.manifest.model import SetPollingSource

    polling = manifest.snapshot.last(SetPollingSource) if manifest is not None else None
    if manifest is None or polling is None:
        return []
    source = of_source(polling.fetch, base=str(manifest.file.parent), edition=settings.read().naming_spec)
    return [source] if source else []


def names_of(uris: Iterable[str]) -> list[EditionNames]:
    """Return the names of pushed files and URIs, without the queries of URIs: these may hold keys. URIs without a
    naming rule have none."""
    from airflow_provider_odf.lineage.naming.uri import from_uri

    edition, names = settings.read().naming_spec, []
    for uri in uris:
        try:
            names.append(from_uri(uri.removesuffix("?***")).in_edition(edition))
        except ValueError as e:
            log.info("no lineage of an input: %s", e)
    return names


def pushed_names(data: Any) -> list[EditionNames]:
    """Return the names of the files and URIs in an operator's ``data``; records and XComs have none."""
    from airflow_provider_odf.source import uris

    texts = [data] if isinstance(data, str) else data if isinstance(data, Sequence) else ()
    return names_of(uris.shown(text) for text in texts if isinstance(text, str))


def alias_of(xcom: Any) -> str | None:
    """Return the dataset that an XCom names, or None."""
    from airflow_provider_odf.manifest.names import DatasetAlias

    try:
        return str(DatasetAlias.parse(xcom["dataset"]))
    except (KeyError, TypeError, ValueError):
        return None


def read_by(new_input: Input | None) -> Counts | None:
    """Return the size of the files of an input, None without one."""
    from airflow_provider_odf.lineage.dataset import Counts

    if new_input is None:
        return None
    paths = [Path(path) for file in new_input.files for path in file.paths]
    try:
        return Counts(size=sum(path.stat().st_size for path in paths), files=len(paths))
    except OSError:  # They may be gone after the merge.
        return Counts(files=len(paths))


def written_by(candidate: Candidate) -> Counts:
    """Return the size of a candidate's new data."""
    from airflow_provider_odf.lineage.dataset import Counts

    return Counts(records=candidate.records, size=candidate.size)
