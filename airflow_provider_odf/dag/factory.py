"""A folder of manifests as Airflow DAGs.

Airflow ties an import error to the Python file that raised it, and hides every DAG of that file. One loader alone
could thus either show what is wrong in a manifest or keep the DAGs of the others. Hence two loaders of three lines:
``odf.py`` with `build_dags`, which never raises for a bad manifest, and beside it ``odf_errors.py`` with
`raise_manifest_errors`, which has no DAGs to hide. Where the second is missing, a bad manifest is a DAG of its own,
tagged ``invalid manifest``.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

from airflow.sdk import DAG, get_parsing_context

from airflow_provider_odf.contract.binding import bind
from airflow_provider_odf.dag.build import DEFAULT_SCHEDULE, Defaults, build, build_invalid
from airflow_provider_odf.dag.manifests import dag_id, load_folder
from airflow_provider_odf.errors import ManifestInvalid, Problem
from airflow_provider_odf.hooks.odf import OdfHook
from airflow_provider_odf.manifest.events import AddPushSource, SetPollingSource
from airflow_provider_odf.manifest.folder import settings_for
from airflow_provider_odf.manifest.load import Manifest

ERRORS_LOADER = "odf_errors.py"

log = logging.getLogger(__name__)


def build_dags(
    folder: str | Path,
    *,
    schedule: Any = DEFAULT_SCHEDULE,
    store: str | None = None,
    odf_conn_id: str = OdfHook.default_conn_name,
    spark_conn_id: str | None = None,
) -> dict[str, DAG]:
    """The DAGs of the datasets whose manifests lie in a folder and below, by dag_id; for a loader in the dags folder::

        from airflow_provider_odf import build_dags

        globals().update(build_dags(__file__))

    What ``odf.yaml`` says of a dataset counts more than the arguments. Where Airflow wants one DAG, to run a task of
    it, only that dataset's manifest is loaded.

    :param folder: the folder, or a file in it: ``__file__`` means the loader's own folder.
    :param schedule: for datasets without one in ``odf.yaml``.
    :param store: path or URI of the store, in place of the connection's.
    :param odf_conn_id: connection of type ``odf`` that names the store.
    :param spark_conn_id: connection of type ``spark``; without one Spark runs in a child process of the task.
    """
    path = _folder(folder)
    only = get_parsing_context().dag_id
    loaded = load_folder(path, only)
    for warning in loaded.warnings:
        log.warning("%s", warning)
    defaults = Defaults(schedule, store, odf_conn_id, spark_conn_id)
    dags = [dag for manifest in _fed(loaded.manifests, only) for dag in _dags(manifest, defaults)]
    for problem in loaded.problems:
        log.error("%s", problem)
    if not (path / ERRORS_LOADER).exists():
        files = groupby(sorted(loaded.problems), key=lambda problem: problem.place.file)
        dags += [build_invalid(file, list(problems)) for file, problems in files]
    return {dag.dag_id: dag for dag in dags}


def raise_manifest_errors(folder: str | Path) -> None:
    """Make what is wrong in the manifests and data contracts of a folder an Airflow import error; for a second
    loader, named ``odf_errors.py``, beside the one that builds the DAGs::

        from airflow_provider_odf import raise_manifest_errors

        raise_manifest_errors(__file__)

    :param folder: the folder, or a file in it.
    :raises ManifestInvalid: something is wrong; one line for each, with file, line and column.
    """
    loaded = load_folder(_folder(folder))
    problems = [*loaded.problems, *(p for m in loaded.manifests for p in _contract_problems(m))]
    if problems:
        raise ManifestInvalid(sorted(problems))


def _dags(manifest: Manifest, defaults: Defaults) -> list[DAG]:
    """The dataset's DAG; none where its settings file is not valid, which is among the problems already."""
    try:
        return [build(manifest, settings_for(manifest.file, manifest.snapshot.alias), defaults)]
    except ManifestInvalid:
        return []


def _fed(manifests: tuple[Manifest, ...], only: str | None) -> Iterator[Manifest]:
    """Those that a DAG is built for: root datasets with a source."""
    for manifest in manifests:
        name = str(manifest.snapshot.name)
        if manifest.snapshot.kind == "Derivative":
            log.warning("%s: %s has no DAG: derivative datasets are not supported yet", manifest.file, name)
        elif _has_source(manifest) and only in (None, dag_id(name)):
            yield manifest


def _has_source(manifest: Manifest) -> bool:
    return any(isinstance(event, SetPollingSource | AddPushSource) for event in manifest.snapshot.metadata)


def _contract_problems(manifest: Manifest) -> tuple[Problem, ...]:
    try:
        bind(manifest.file, str(manifest.snapshot.name))
    except ManifestInvalid as e:
        return e.problems
    return ()


def _folder(path: str | Path) -> Path:
    given = Path(path).absolute()
    return given.parent if given.is_file() else given
