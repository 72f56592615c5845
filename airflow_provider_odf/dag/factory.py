"""A folder of manifests as Airflow DAGs.

Airflow ties an import error to the Python file that raised it, and hides every DAG of that file. So one loader can
either show the errors of a manifest or keep the DAGs of the others. Hence two loaders of three lines: ``odf.py`` calls
`build_dags`, which never raises for an invalid manifest. ``odf_errors.py`` beside it calls `raise_manifest_errors` and
has no DAGs to hide.

A dataset whose DAG cannot be built gets a DAG with the tag ``invalid manifest``, which shows the error and fails with
it. The second loader shows a file whose datasets cannot be named; without that loader the file gets a DAG
``FILE.invalid``, and so does a second loader that Airflow skips.
"""

from __future__ import annotations

import gc
import logging
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import Any

from airflow.sdk import DAG, get_parsing_context

from airflow_provider_odf.contract.binding import contract_location, of_dataset
from airflow_provider_odf.dag.build import DEFAULT_SCHEDULE, Defaults, build, build_invalid, dag_id
from airflow_provider_odf.dag.inputs import Declared
from airflow_provider_odf.errors import ManifestInvalid, Place, Problem
from airflow_provider_odf.hooks.odf import OdfHook
from airflow_provider_odf.manifest.files import declared_names, discover, is_beside_manifests, may_declare
from airflow_provider_odf.manifest.folder_settings import LONGEST_NAME, settings_for
from airflow_provider_odf.manifest.load import load
from airflow_provider_odf.manifest.manifest import Loaded, Manifest
from airflow_provider_odf.manifest.model import AddPushSource, SetPollingSource, SetTransform
from airflow_provider_odf.settings.manifests import without_forbidden_steps

ERRORS_LOADER = "odf_errors.py"

_SKIPPED = 'Airflow skips this file, because it does not contain the word "dag"', "add a comment with this word"

log = logging.getLogger(__name__)


@contextmanager
def _without_collection() -> Iterator[None]:
    """Nothing that a loader makes is garbage before it ends: looking for some among thousands of manifests again and
    again takes a third of its time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@_without_collection()
def build_dags(
    folder: str | Path,
    *,
    schedule: Any = DEFAULT_SCHEDULE,
    store: str | None = None,
    odf_conn_id: str = OdfHook.default_conn_name,
    spark_conn_id: str | None = None,
) -> dict[str, DAG]:
    """Return the DAGs of the datasets whose manifests lie in a folder and below, by dag_id.

    For a loader in the dags folder::

        from airflow_provider_odf import build_dags

        globals().update(build_dags(__file__))

    Settings in ``odf.yaml`` override the arguments. A dataset that is not valid keeps its DAG, with the tag ``invalid
    manifest``. The DAG shows the error and fails when it runs. To run a task, Airflow loads only the manifest of that
    task's dataset.

    :param folder: the folder, or a file in it: ``__file__`` refers to the loader's own folder.
    :param schedule: for datasets without one in ``odf.yaml``.
    :param store: path or URI of the store, in place of the connection's.
    :param odf_conn_id: connection of type ``odf`` that names the store.
    :param spark_conn_id: connection of type ``spark`` or ``spark_connect``; without one Spark runs in a child process.
    """
    path = _folder(folder)
    only = get_parsing_context().dag_id
    loaded = _load_folder(path, only)
    for warning in loaded.warnings:
        log.warning("%s", warning)
    for problem in loaded.problems:
        log.error("%s", problem)
    defaults = Defaults(schedule, store, odf_conn_id, spark_conn_id)
    files = {Path(problem.place.file) for problem in loaded.problems}
    declared = Declared.of(loaded.manifests, files, is_whole=only is None)
    names = {dag_id(str(manifest.snapshot.name)): manifest for manifest in loaded.manifests}
    origins = (SetPollingSource, AddPushSource, SetTransform)  # without one, a dataset gets no data
    manifests = [manifest for name, manifest in names.items() if only in (None, name)]
    asked = [m for m in manifests if any(isinstance(event, origins) for event in m.snapshot.metadata)]
    warnings = _warnings_by_place(loaded.warnings)
    dags = [_dag(manifest, defaults, warnings, declared) for manifest in asked]
    errors_loader = path / ERRORS_LOADER
    # In its safe mode Airflow skips files without the word.
    is_skipped = errors_loader.is_file() and b"dag" not in errors_loader.read_bytes().lower()
    found = [*loaded.problems, *([Problem(Place(str(errors_loader)), *_SKIPPED)] if is_skipped else [])]
    problems = _problems_by_dag(found, names, with_files=is_skipped or not errors_loader.is_file())
    dags += [build_invalid(name, group) for name, group in problems.items()]
    return {dag.dag_id: dag for dag in dags if only in (None, dag.dag_id)}


@_without_collection()
def raise_manifest_errors(folder: str | Path) -> None:
    """Raise the problems in the manifests, settings and data contracts of a folder as an Airflow import error.

    For a second loader, named ``odf_errors.py``, beside the one that builds the DAGs::

        # Airflow parses only files that contain the words "airflow" and "dag".
        from airflow_provider_odf import raise_manifest_errors

        raise_manifest_errors(__file__)

    :param folder: the folder, or a file in it.
    :raises ManifestInvalid: there are problems; the message has one line for each, with file, line and column.
    """
    loaded = _load_folder(_folder(folder))
    unused = (warning for warning in loaded.warnings if is_beside_manifests(Path(warning.place.file).name))
    problems = [*loaded.problems, *(p for m in loaded.manifests for p in _contract_problems(m)), *unused]
    if problems:
        raise ManifestInvalid(sorted(problems))


def _load_folder(folder: Path, only: str | None = None) -> Loaded:
    """Return the valid manifests in a folder and below, and the problems of the others.

    :param only: a dag_id. Only files that may declare this dataset are parsed, duplicates included: Airflow builds one
        DAG per task that way.
    """
    files = [file for file in discover(folder) if may_declare(file, only)] if only is not None else []
    # Inputs of derivatives are compared with the store of each DAG, see `inputs.unknown`.
    return without_forbidden_steps(load(files or [folder], known=lambda ref: True))


def _problems_by_dag(
    problems: Iterable[Problem], built: Collection[str], *, with_files: bool
) -> dict[str, list[Problem]]:
    """Return problems by the dag_ids of the datasets that their files declare, without those that have a DAG.

    :param with_files: put the problems of files that name no dataset under ``FILE.invalid``; otherwise omit them.
    """
    by_dag: dict[str, list[Problem]] = {}
    for name, group in groupby(sorted(problems), key=lambda problem: problem.place.file):
        file, of_file = Path(name), list(group)
        ids = [dag_id(name) for name in declared_names(file) if dag_id(name) not in built]
        if not ids and with_files:
            ids = [re.sub(r"[^A-Za-z0-9.-]", "_", f"{file.stem}.invalid")]
        for id_ in ids:
            by_dag.setdefault(id_[:LONGEST_NAME], []).extend(of_file)
    return by_dag


def _dag(manifest: Manifest, defaults: Defaults, warnings: Mapping[Path, Sequence[Problem]], declared: Declared) -> DAG:
    """Return the dataset's DAG, or one that shows its error; no error of one dataset affects others."""
    name, file = manifest.snapshot.alias, manifest.file
    own = sorted(warning for place in (file, *file.parents) for warning in warnings.get(place, ()))
    try:
        return build(manifest, settings_for(file, name), defaults, own, declared)
    except ManifestInvalid as e:
        return build_invalid(dag_id(str(name)), e.problems)
    except Exception as e:
        log.exception("%s: cannot build the DAG of dataset %s", file, name)
        problem = Problem(Place(str(file)), f"cannot build the DAG of dataset {name}: {e}")
        return build_invalid(dag_id(str(name)), [problem])


def _warnings_by_place(warnings: Iterable[Problem]) -> Mapping[Path, Sequence[Problem]]:
    """Return warnings by the manifest, or the folder of manifests, that they concern."""
    by_place: dict[Path, list[Problem]] = {}
    for warning in warnings:
        file = Path(warning.place.file)
        by_place.setdefault(file.parent if is_beside_manifests(file.name) else file, []).append(warning)
    return by_place


def _contract_problems(manifest: Manifest) -> tuple[Problem, ...]:
    try:
        if (location := contract_location(manifest)) is None:
            return ()
        file = location.load(is_offline=True)
        of_dataset(file, str(manifest.snapshot.name))
    except ManifestInvalid as e:
        return e.problems
    return file.problems


def _folder(folder_or_file: str | Path) -> Path:
    path = Path(folder_or_file).absolute()
    return path.parent if path.is_file() else path
