"""The manifests that DAGs and tasks are made of: those of the manifest loader that this Airflow also allows."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from itertools import groupby
from pathlib import Path

from airflow_provider_odf.dag import settings
from airflow_provider_odf.errors import InvalidInput, ManifestInvalid, Problem
from airflow_provider_odf.manifest import declared
from airflow_provider_odf.manifest.airflow_rules import LONGEST_NAME
from airflow_provider_odf.manifest.files import discover
from airflow_provider_odf.manifest.load import Loaded, Manifest, load


def dag_id(dataset: str) -> str:
    """The DAG of a dataset: its alias, with ``.`` for ``/``."""
    return dataset.replace("/", ".")


def load_folder(folder: Path, only: str | None = None) -> Loaded:
    """The manifests in a folder and below, with what is wrong in the others.

    With ``only``, a dag_id, no more files are parsed than may declare that dataset, among them a second one that does:
    Airflow builds one DAG per task that way.
    """
    files = [file for file in discover(folder) if declared.may_declare(file, only)] if only is not None else []
    return allowed(load(files or [folder]))


def unbuilt(problems: Iterable[Problem], built: Collection[str], *, with_files: bool) -> dict[str, list[Problem]]:
    """The problems by the dag_ids of the datasets that their files declare, without those that have a DAG.

    ``with_files``: problems of files whose datasets cannot be named stand under ``FILE.invalid``, else they are left
    out.
    """
    found: dict[str, list[Problem]] = {}
    for name, group in groupby(sorted(problems), key=lambda problem: problem.place.file):
        file, of_file = Path(name), list(group)
        ids = [dag_id(name) for name in declared.names(file) if dag_id(name) not in built]
        if not ids and with_files:
            ids = [re.sub(r"[^A-Za-z0-9.-]", "_", f"{file.stem}.invalid")]
        for id_ in ids:
            found.setdefault(id_[:LONGEST_NAME], []).extend(of_file)
    return found


def load_one(file: str, dataset: str | None) -> Manifest:
    """The manifest of a dataset in a file; of its only one where ``dataset`` is None.

    :raises ManifestInvalid: the file is not valid, or uses steps that are switched off.
    :raises InvalidInput: the file has no such dataset, or several and none was named.
    """
    loaded = allowed(load([Path(file)]))
    if loaded.problems:
        raise ManifestInvalid(loaded.problems)
    names = [str(m.snapshot.name) for m in loaded.manifests]
    if dataset is None and len(names) == 1:
        return loaded.manifests[0]
    for manifest, name in zip(loaded.manifests, names, strict=True):
        if dataset is not None and name.lower() == dataset.lower():
            return manifest
    raise InvalidInput(f"{file}: no dataset {dataset or 'was named'}; the file has {', '.join(names) or 'none'}")


def allowed(loaded: Loaded) -> Loaded:
    """The same, without the manifests that use steps which ``[odf] forbid_steps`` switches off; they become
    problems."""
    forbidden = settings.read().options.forbidden_steps
    if not forbidden:
        return loaded
    refused = {m.file: list(_forbidden(m, forbidden)) for m in loaded.manifests}
    return Loaded(
        manifests=tuple(m for m in loaded.manifests if not refused[m.file]),
        problems=tuple(sorted([*loaded.problems, *(p for problems in refused.values() for p in problems)])),
        warnings=loaded.warnings,
    )


def _forbidden(manifest: Manifest, kinds: Collection[str]) -> Iterator[Problem]:
    for index, event in enumerate(manifest.snapshot.metadata):
        steps = [("fetch", getattr(event, "fetch", None))]
        steps += [("prepare", step) for step in getattr(event, "prepare", None) or ()]
        for name, step in steps:
            if step is not None and step.kind in kinds:
                place = manifest.place("content", "metadata", index, name)
                yield Problem(place, f"{step.kind} steps are switched off here", "airflow.cfg, [odf] forbid_steps")
